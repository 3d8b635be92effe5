"""The command `penstock`: run programs, talk SQL. Thin: it only calls what a program could call itself."""

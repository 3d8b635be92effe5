"""Tables of a SQLite file, read in the order in which rows were inserted and written exactly once."""

"""Files as source and as sink: local, and wherever pyarrow or fsspec can reach."""

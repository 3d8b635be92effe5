"""Apache Iceberg: tables of a catalog, read at a snapshot or as they grow, written in one commit per epoch.

lake.py        a catalog and a table of it, errors that name them
types.py       columns as Iceberg has them
writer.py      what tasks leave: files, or changes by key
committer.py   one commit for each epoch, with the epoch in it
source.py      a split for each data file
table.py       tables of SQL; options.py has their options
"""

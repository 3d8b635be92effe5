"""Tables that are folders of files.

table.py        `'connector' = 'filesystem'`: what SQL asks, and the source and sink of a table
options.py      its options
listing.py      which files make a table
source.py       splits of files, and reading them from any row on
reader.py       what a task does to turn files into rows
blocks.py       the same for many records at once, from any place on
columnar_reader.py    Parquet and ORC files as such blocks
columnar_types.py     what is stored in them, in the table's types
sink.py         staging and moving files, when partitions are complete
writer.py       what a task does to turn rows into files
rolling.py      files that end when they are large enough
columnar_writers.py   Parquet and ORC files
compaction.py   which files wait for those of later epochs; merging.py makes one of them
spreading.py    which task writes which rows
partitions.py   `day=mon/hour=3` to values and back
partition_time.py     the time in a partition's values
partition_commit.py   when a partition is complete
files.py        one way to list, open, move and delete, locally and remotely
"""

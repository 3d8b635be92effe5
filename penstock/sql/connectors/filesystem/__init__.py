"""The filesystem connector: tables that are folders of files.

files.py        one way to list, open, move and delete, locally and remotely
partitions.py   `day=mon/hour=3` to values and back
reader.py       what a task does to turn files into rows
blocks.py       the same for many records at once, from any place on
parquet.py      Parquet files as such blocks
spreading.py    which task writes which rows
rolling.py      files that end when they are large enough
writer.py       what a task does to turn rows into files, and how the driver makes them visible
partition_time.py     the time in a partition's values
partition_commit.py   when a partition is complete
columnar.py     Parquet and ORC through Spark's own readers and writers
columnar_sizes.py   the same limit on size for those
connector.py    the options, and the relation that SQL sees
"""

from penstock.sql.connectors.filesystem.connector import FileSystemConnector

__all__ = ["FileSystemConnector"]

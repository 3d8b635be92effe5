"""Delta Lake: tables of Parquet files and a log, written in one commit per epoch.

    lake.py       a table of a lake: where it is, its log, errors that name it
    types.py      columns as Delta has them
    writer.py     what tasks leave: Parquet files, or changes that are kept with the checkpoint
    committer.py  one commit for each epoch, with the epoch in it
    sink.py       `DeltaSink`
    source.py     reading a version of a table; growing.py follows those that come
    table.py      `'connector' = 'delta'`; options.py has its options

The library is deltalake (delta-rs, `penstock[delta]`): no JVM and no Spark package takes part.
"""

"""Tables of relational databases: `'connector' = 'jdbc'` with Flink's options and Python's drivers.

    table.py       what SQL asks, and the source and sink of a table
    options.py     the options, and what must hold between them
    url.py         jdbc:… texts taken apart, and shown without their secrets
    dialect.py     what databases differ in; `postgresql.py`, `mysql.py` and `sqlite.py` are the ones there are
    types.py       what a driver gives, as values of the declared Flink types
    database_table.py   one table: how to connect to it, what its columns are really called, errors that name it
    source.py      reading, in parallel ranges if the table asks for them
    lookup.py      asking for the rows of keys
    transaction.py rows that are committed together, over as many connections as it takes
    epochs.py      exactly once: an epoch and its mark in one transaction; `marks.py` is the table of marks
    sink.py        writing a table: inserts, or upserts and deletes by primary key
    statement.py   writing with a statement that a program gives: `JdbcSink`
    catalog.py     the tables of a server as a catalog; `catalog_postgresql.py` and `catalog_mysql.py` know where each
                   server keeps what it has, `catalog_metadata.py` what is asked

No Java driver is involved: tasks connect with psycopg, pymysql or the sqlite3 of Python itself.
"""

"""Tables of relational databases: `'connector' = 'jdbc'` with Flink's options and Python's drivers.

    url.py         jdbc:… texts taken apart, and shown without their secrets
    dialect.py     what databases differ in; `postgresql.py`, `mysql.py` and `sqlite.py` are the ones there are
    types.py       what a driver gives, as values of the declared Flink types
    table.py       one table: how to connect to it, what its columns are really called, errors that name it
    source.py      reading, in parallel ranges if the table asks for them
    lookup.py      asking for the rows of keys
    sink.py        writing: inserts, or upserts and deletes by primary key
    connector.py   all of that behind `SqlConnector`

No Java driver is involved: tasks connect with psycopg, pymysql or the sqlite3 of Python itself.
"""

from penstock.sql.connectors.jdbc.connector import JdbcConnector

__all__ = ["JdbcConnector"]

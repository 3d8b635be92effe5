"""Redis: rows as hashes or texts by key, as items of lists and streams, as messages; lookups by key.

    client.py    a server: how to get there, errors that say what to do
    texts.py     columns as the texts of hashes, and back
    layout.py    which commands a row becomes, and how it is read again
    sink.py      `RedisSink` of programs, and the sink of tables
    lookup.py    asking for the rows of keys
    table.py     `'connector' = 'redis'`; options.py has its options

The client is redis-py (`penstock[redis]`).
"""

"""Services that are spoken to over HTTP: rows are sent to them, and they are asked for the rows of a key.

client.py    a connection that is kept, timeouts, TLS, a login; Elasticsearch uses it too
address.py   addresses in which columns are named
sink.py      `HttpSink` of programs, and the sink of tables
lookup.py    asking for the rows of keys
table.py     `'connector' = 'http'`; options.py has its options
"""

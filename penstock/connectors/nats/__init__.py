"""NATS JetStream: streams of messages with sequence numbers, read exactly once and written at least once.

client.py    how to get there, calls of the asynchronous library, errors that say what to do
cursor.py    the messages of a stream between two sequence numbers, inside a task
source.py    streams as splits, positions that are sequence numbers
sink.py      publishing, a batch at a time
table.py     tables of SQL; options.py has their options
"""

"""Change data capture: a table's rows as they are, then every change that its database's log tells.

What `postgres_cdc` and `mysql_cdc` share. Reading has two phases:

    snapshot   the table in chunks of its key, several tasks at a time, each chunk as the table was at a *mark*
    log        from where the log was when the snapshot began; a change that a chunk's mark already shows is left out

No table is locked. The idea is Netflix's DBLog and Flink CDC's incremental snapshot, with one turn: Flink CDC reads
a chunk and brings it *forward* to wherever the log is afterwards. Here the driver fixes the mark when it plans the
epoch, so a chunk that is read again in the same epoch, by a task that Spark repeats on another machine, has the
same rows. How a chunk comes to look as it did at its mark is the database's matter: PostgreSQL hands the driver's
snapshot to the tasks, and in MySQL the log's images from before a change take the rows back.

    model.py        tables, chunks, marks, changes, positions
    database.py     what a database system must be able to do
    chunks.py       which chunks there are, which are done, and which mark counts for a key
    enumerator.py   the driver's side
    reader.py       the tasks' side
    rows.py         changes to rows of a table
    debezium.py     changes to records of a program
    options.py      the options that both connectors have
    table.py        what both connectors do with a table of SQL
"""

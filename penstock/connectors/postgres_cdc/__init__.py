"""PostgreSQL's tables and their changes, by logical decoding with the plug-in `pgoutput`.

    options.py    the options of `postgres-cdc`
    server.py     connections, tables, publication and slot
    control.py    the driver's side: the end of the log, snapshots for chunks, bounds of chunks
    pgoutput.py   the messages of the plug-in
    wal.py        the replication stream of a slot
    work.py       the tasks' side
    table.py      tables of SQL
    source.py     sources of programs

A chunk is read in the *driver's* snapshot: the driver opens a transaction, exports its snapshot, and tasks take it
over with SET TRANSACTION SNAPSHOT. So all chunks of an epoch, and chunks that are read again, show the same moment.
Which transactions a snapshot shows is known exactly (their numbers, not their places in the log), so nothing can be
lost between a commit that is already in the log and the moment at which others see it.

A slot keeps the log until it is told not to. It is told so by the task that reads it, and only places that were
committed, `scan.lsn-commit.checkpoints-num-delay` epochs later.
"""

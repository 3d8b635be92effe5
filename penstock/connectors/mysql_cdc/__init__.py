"""MySQL's and MariaDB's tables and their changes, from the binary log.

    options.py   the options of `mysql-cdc`
    server.py    connections, tables, and whether the server logs what is needed
    columns.py   types, and values of queries and of the log in one form
    control.py   the driver's side: the end of the log, startup modes, bounds of chunks
    binlog.py    the log between two places
    layouts.py   how tables look at a place of the log
    rewind.py    rows of a chunk as they were at a place of the log
    work.py      the tasks' side
    table.py     tables of SQL
    source.py    sources of programs

The binary log can be read from any transaction on, as often as one likes, so positions are all there is to exactly
once. Every change in it has the whole row before and after (`binlog_row_image = FULL`). That is how a chunk comes
to look as it did at its mark: rows are read as they are, then what the log tells about the time between is undone.
"""

"""Notebooks: `%load_ext penstock` gives a cell of SQL, `%%flink_sql`, and `live` for results of programs.

    magics.py      %%flink_sql: options, statements one after the other
    live.py        a table that changes while a query runs; Ctrl-C (the stop button) cancels the query
    drawing.py     rows → HTML, text, and bars

A statement runs in a thread of its own (`cli/sql/worker.py`), so that an interrupt can end it and keep the session.
"""

from __future__ import annotations

from typing import Any

from penstock.notebook.live import live

__all__ = ["live", "register"]


def register(shell: Any) -> None:
    """What `%load_ext penstock` does: the magic, and `live` in the user's namespace."""
    from penstock.notebook.magics import FlinkSqlMagics

    shell.register_magics(FlinkSqlMagics)
    shell.push({"live": live}, interactive=False)

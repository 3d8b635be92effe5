"""The connectors that SQL tables can name in `WITH ('connector' = '...')`.

`find_connector(options, table_path)` is the way in; what it returns is described in `base`. A further connector
is added with `register_connector`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from penstock.common.errors import ValidationError
from penstock.sql.connectors.base import KIND_COLUMN, POSITION_COLUMN, SqlConnector
from penstock.sql.connectors.blackhole import BlackHoleConnector
from penstock.sql.connectors.datagen import DataGenConnector
from penstock.sql.connectors.errors import penstock_error
from penstock.sql.connectors.filesystem import FileSystemConnector
from penstock.sql.connectors.jdbc import JdbcConnector
from penstock.sql.connectors.print import PrintConnector

CONNECTORS: dict[str, type[SqlConnector]] = {}


def register_connector(connector: type[SqlConnector]) -> type[SqlConnector]:
    """Makes a connector known under its name; usable as decorator."""
    CONNECTORS[connector.name] = connector
    return connector


for _connector in (FileSystemConnector, JdbcConnector, DataGenConnector, PrintConnector, BlackHoleConnector):
    register_connector(_connector)


def find_connector(options: Mapping[str, str], table_path: object) -> SqlConnector:
    """The connector of a table, made from the options of its WITH clause.

    Raises:
        ValidationError: No such connector or format, an option nobody knows, or a required one is missing.
    """
    where = f"table {table_path}"
    name = options.get("connector")
    if name is None:
        raise ValidationError(
            "the table has no 'connector' option",
            where=where,
            do="add 'connector' = '...' to the WITH clause",
        )
    if name not in CONNECTORS:
        close = difflib.get_close_matches(name, CONNECTORS, 1)
        hint = f"did you mean '{close[0]}'?" if close else f"known are {', '.join(sorted(CONNECTORS))}"
        raise ValidationError(f"there is no connector '{name}'", where=where, do=hint)
    return CONNECTORS[name](options, str(table_path))


__all__ = [
    "CONNECTORS",
    "KIND_COLUMN",
    "POSITION_COLUMN",
    "SqlConnector",
    "find_connector",
    "penstock_error",
    "register_connector",
]

"""Tables of both servers for the tests of change data capture, and what reading them comes to."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from penstock.catalog.objects import CatalogTable
from penstock.catalog.schema import Schema, SchemaColumn
from penstock.common.datatype_parser import parse_type
from penstock.common.errors import ExternalSystemError
from penstock.connectors.registry import find_connector
from tests.connectors.epochs import SourceLoop

COLUMNS = "id BIGINT, name STRING, price DECIMAL(10, 2), note STRING"
_numbers = itertools.count(1)


class System:
    """A server, and how its tables are made and declared."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.is_postgres = server.scheme == "postgresql"
        self.connector = "postgres-cdc" if self.is_postgres else "mysql-cdc"

    def create(self, key: str = "BIGINT", name: str = "") -> str:
        """An empty table `(id, name, price, note)` whose log tells everything."""
        table = name or f"captured_{next(_numbers)}"
        text = "TEXT" if self.is_postgres else "LONGTEXT"
        self.server.execute(
            f"CREATE TABLE {table} (id {key} PRIMARY KEY, name VARCHAR(20), price DECIMAL(10, 2), note {text})"
        )
        self.whole_images(table)
        return table

    def whole_images(self, table: str) -> None:
        if self.is_postgres:
            self.server.execute(f"ALTER TABLE {table} REPLICA IDENTITY FULL")

    def insert(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        with self.server.connect() as connection, connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO {table} VALUES (%s, %s, %s, %s)", list(rows))

    def options(self, table: str, **more: str) -> dict[str, str]:
        server = self.server
        where = {"schema-name": "public", "slot.name": f"slot_{table}"} if self.is_postgres else {}
        if self.is_postgres:
            where["debezium.publication.name"] = f"pub_{table}"
        return {
            "connector": self.connector,
            "hostname": "127.0.0.1",
            "port": str(server.port),
            "username": server.user,
            "password": server.password,
            "database-name": server.database,
            "table-name": table,
            **where,
            **{name.replace("__", "-").replace("_", "."): value for name, value in more.items()},
        }

    def drop(self, table: str) -> None:
        if self.is_postgres:
            self.server.execute(
                f"SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = 'slot_{table}'"
            )
            self.server.execute(f"SELECT pg_drop_replication_slot('slot_{table}')")


def source(
    options: Mapping[str, str],
    columns: str = COLUMNS,
    key: tuple[str, ...] = ("id",),
    metadata: tuple[str, ...] = (),
) -> Any:
    """The source of a table with these columns."""
    fields = parse_type(f"ROW<{columns}>").fields
    physical = [SchemaColumn(f.name, f.data_type) for f in fields]
    asked = [SchemaColumn(name, None, metadata_key=name, is_virtual=True) for name in metadata]
    table = CatalogTable(
        Schema((*physical, *asked), primary_key=key), dict(options), requested_metadata=tuple(asked)
    )
    connector = find_connector(options, "cat.db.t")
    connector.validate(table, "source")
    return connector.source(table)


def captured(
    system: System, table: str, columns: str, key: tuple[str, ...] = ("id",), **options: str
) -> SourceLoop:
    return SourceLoop(source(system.options(table, **options), columns, key), parallelism=2)


def fails(loop: SourceLoop, kind: type[Exception] = ExternalSystemError) -> Any:
    """The error with which reading ends."""
    with pytest.raises(kind) as failed:
        for _ in range(6):
            loop.now_ms += 2000
            loop.run_epoch()
    return failed.value


def read_all(loop: SourceLoop, quiet_epochs: int = 2) -> None:
    """Runs epochs until the log has nothing more."""
    still = 0
    while still < quiet_epochs:
        loop.now_ms += 2000
        still = 0 if loop.run_epoch() or not loop.enumerator.no_more_splits else still + 1


def folded(changes: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The table that changes amount to; every row that goes must have been there as it was."""
    rows: Counter[tuple[Any, ...]] = Counter()
    for *values, kind in changes:
        row = tuple(values)
        if kind in (0, 2):
            rows[row] += 1
        else:
            assert rows[row] > 0, f"{row} goes, but it is not there"
            rows[row] -= 1
    assert all(count <= 1 for count in rows.values()), "a row came twice"
    return sorted((row for row, count in rows.items() if count), key=repr)


def in_order(loop: SourceLoop) -> list[tuple[Any, ...]]:
    """What was read: rows of the snapshot, then the log."""
    shares = [v for split, values in loop.collected.items() if split != "log" for v in values]
    return shares + loop.collected.get("log", [])


def stored(system: System, table: str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, system.server.execute(f"SELECT id, name, price, note FROM {table}")), key=repr)

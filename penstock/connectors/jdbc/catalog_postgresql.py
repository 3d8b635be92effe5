"""PostgreSQL's catalog, and its types as Flink's.

A table is `schema.table` within Flink's database; without a schema it is in `public`. A type's length or precision is
in the column's type modifier, of arrays that of the elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.datatypes import DataType, DataTypes
from penstock.connectors.jdbc.catalog_metadata import ColumnInfo, Metadata, ask
from penstock.connectors.jdbc.dialect import PLAIN_NAME

_SYSTEM_DATABASES = ("template0", "template1")
_MAX_DECIMAL_PRECISION = 38
_HEADER = 4
"""Type modifiers of lengths count PostgreSQL's length word, too."""

_TABLES = """
SELECT table_schema, table_name FROM information_schema.tables
WHERE table_type = 'BASE TABLE' AND table_schema <> 'information_schema'
  AND table_schema <> 'pg_catalog' AND table_schema NOT LIKE 'pg\\_toast%%' AND table_schema NOT LIKE 'pg\\_temp%%'
ORDER BY table_schema, table_name
"""

_COLUMNS = """
SELECT a.attname, t.typname, a.atttypmod, a.attnotnull
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""

_PRIMARY_KEY = """
SELECT k.conname, a.attname
FROM pg_catalog.pg_constraint k
JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN LATERAL unnest(k.conkey) WITH ORDINALITY AS part(attnum, place) ON true
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = part.attnum
WHERE k.contype = 'p' AND n.nspname = %s AND c.relname = %s
ORDER BY part.place
"""


class PostgresMetadata(Metadata):
    """Tables of all schemas but the system's own; no views, as in Flink."""

    def databases(self, connection: Any) -> list[str]:
        rows = ask(connection, "SELECT datname FROM pg_catalog.pg_database ORDER BY datname")
        return [name for (name,) in rows if name not in _SYSTEM_DATABASES]

    def tables(self, connection: Any, database: str) -> list[str]:
        return [f"{schema}.{table}" for schema, table in ask(connection, _TABLES)]

    def columns(self, connection: Any, database: str, table: str) -> list[ColumnInfo]:
        rows = ask(connection, _COLUMNS, *_path(table))
        return [
            ColumnInfo(name, kind, flink_type(kind, modifier), not not_null)
            for name, kind, modifier, not_null in rows
        ]

    def primary_key(self, connection: Any, database: str, table: str) -> tuple[str, list[str]]:
        rows = ask(connection, _PRIMARY_KEY, *_path(table))
        return rows[0][0] if rows else "", [column for _, column in rows]

    def full_name(self, table: str) -> str:
        return ".".join(_path(table))

    def table_name(self, table: str) -> str:
        """Quoted where PostgreSQL would read another name than it shows."""
        return ".".join(_quoted(part) for part in _path(table))


def _path(table: str) -> tuple[str, str]:
    schema, dot, name = table.partition(".")
    return (schema, name) if dot else ("public", table)


def _quoted(name: str) -> str:
    plain = PLAIN_NAME.fullmatch(name) is not None and name == name.lower()
    return name if plain else '"' + name.replace('"', '""') + '"'


def flink_type(kind: str, modifier: int) -> DataType | None:
    """Flink's type for a type of PostgreSQL; None where there is none.

    >>> flink_type("_numeric", (10 << 16) + 2 + 4).as_summary()
    'ARRAY<DECIMAL(10, 2)>'
    """
    if kind.startswith("_"):
        element = flink_type(kind[1:], modifier)
        return None if element is None else DataTypes.ARRAY(element)
    make = _TYPES.get(kind)
    return None if make is None else make(modifier)


def _text(modifier: int) -> DataType:
    return DataTypes.STRING() if modifier < 0 else DataTypes.VARCHAR(modifier - _HEADER)


def _char(modifier: int) -> DataType:
    return DataTypes.STRING() if modifier < 0 else DataTypes.CHAR(modifier - _HEADER)


def _numeric(modifier: int) -> DataType | None:
    if modifier < 0:
        return DataTypes.DECIMAL(_MAX_DECIMAL_PRECISION, 18)
    precision, scale = (modifier - _HEADER) >> 16 & 0xFFFF, (modifier - _HEADER) & 0x7FF
    if precision > _MAX_DECIMAL_PRECISION or scale > precision:
        return None
    return DataTypes.DECIMAL(precision, scale)


def _digits(modifier: int) -> int:
    return 6 if modifier < 0 else modifier


_TYPES: dict[str, Callable[[int], DataType | None]] = {
    "bool": lambda m: DataTypes.BOOLEAN(),
    "bytea": lambda m: DataTypes.BYTES(),
    "int2": lambda m: DataTypes.SMALLINT(),
    "int4": lambda m: DataTypes.INT(),
    "int8": lambda m: DataTypes.BIGINT(),
    "float4": lambda m: DataTypes.FLOAT(),
    "float8": lambda m: DataTypes.DOUBLE(),
    "numeric": _numeric,
    "bpchar": _char,
    "varchar": _text,
    "text": lambda m: DataTypes.STRING(),
    "json": lambda m: DataTypes.STRING(),
    "jsonb": lambda m: DataTypes.STRING(),
    "uuid": lambda m: DataTypes.VARCHAR(36),
    "date": lambda m: DataTypes.DATE(),
    "time": lambda m: DataTypes.TIME(_digits(m)),
    "timestamp": lambda m: DataTypes.TIMESTAMP(_digits(m)),
    "timestamptz": lambda m: DataTypes.TIMESTAMP_LTZ(_digits(m)),
}

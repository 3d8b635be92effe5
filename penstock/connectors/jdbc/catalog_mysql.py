"""MySQL's and MariaDB's catalog, and their types as Flink's."""

from __future__ import annotations

from typing import Any

from penstock.common.datatypes import DataType, DataTypes
from penstock.connectors.jdbc.catalog_metadata import ColumnInfo, Metadata, ask

_SYSTEM_DATABASES = ("information_schema", "mysql", "performance_schema", "sys")
_MAX_DECIMAL_PRECISION = 38

_COLUMNS = """
SELECT column_name, data_type, column_type, character_maximum_length, numeric_precision, numeric_scale,
       datetime_precision, is_nullable
FROM information_schema.columns WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position
"""

_PRIMARY_KEY = """
SELECT column_name FROM information_schema.key_column_usage
WHERE constraint_name = 'PRIMARY' AND table_schema = %s AND table_name = %s ORDER BY ordinal_position
"""

_SIMPLE: dict[str, DataType] = {
    "bit": DataTypes.BOOLEAN(),
    "tinyint": DataTypes.TINYINT(),
    "tinyint unsigned": DataTypes.SMALLINT(),
    "smallint": DataTypes.SMALLINT(),
    "smallint unsigned": DataTypes.INT(),
    "mediumint": DataTypes.INT(),
    "mediumint unsigned": DataTypes.INT(),
    "int": DataTypes.INT(),
    "int unsigned": DataTypes.BIGINT(),
    "bigint": DataTypes.BIGINT(),
    "bigint unsigned": DataTypes.DECIMAL(20, 0),
    "float": DataTypes.FLOAT(),
    "float unsigned": DataTypes.FLOAT(),
    "double": DataTypes.DOUBLE(),
    "double unsigned": DataTypes.DOUBLE(),
    "date": DataTypes.DATE(),
    **dict.fromkeys(("tinytext", "text", "mediumtext", "longtext", "json"), DataTypes.STRING()),
    **dict.fromkeys(("tinyblob", "blob", "mediumblob", "longblob", "binary", "varbinary"), DataTypes.BYTES()),
}


class MySqlMetadata(Metadata):
    """Tables and, as in Flink, views: for MySQL both are tables of a database."""

    def databases(self, connection: Any) -> list[str]:
        rows = ask(connection, "SELECT schema_name FROM information_schema.schemata ORDER BY schema_name")
        return [name for (name,) in rows if name.lower() not in _SYSTEM_DATABASES]

    def tables(self, connection: Any, database: str) -> list[str]:
        sql = "SELECT table_name FROM information_schema.tables WHERE table_schema = %s ORDER BY table_name"
        return [name for (name,) in ask(connection, sql, database)]

    def columns(self, connection: Any, database: str, table: str) -> list[ColumnInfo]:
        rows = ask(connection, _COLUMNS, database, table)
        return [
            ColumnInfo(name, full, flink_type(kind, full, *sizes), nullable == "YES")
            for name, kind, full, *sizes, nullable in rows
        ]

    def primary_key(self, connection: Any, database: str, table: str) -> tuple[str, list[str]]:
        return "PRIMARY", [column for (column,) in ask(connection, _PRIMARY_KEY, database, table)]


def flink_type(
    kind: str,
    full: str,
    length: int | None = None,
    precision: int | None = None,
    scale: int | None = None,
    digits: int | None = None,
) -> DataType | None:
    """Flink's type for a type of MySQL; `full` is what the column was declared with.

    >>> flink_type("decimal", "decimal(10,2) unsigned", None, 10, 2).as_summary()
    'DECIMAL(11, 2)'
    """
    kind, full = kind.lower(), full.lower()
    unsigned = "unsigned" in full
    if full.startswith("tinyint(1)") and not unsigned:
        return DataTypes.BOOLEAN()
    if kind == "decimal":
        wanted = (precision or 10) + unsigned  # a sign takes no digit, but Flink leaves room for one
        return DataTypes.DECIMAL(wanted, scale or 0) if wanted <= _MAX_DECIMAL_PRECISION else None
    if kind == "char":
        return DataTypes.CHAR(max(1, length or 1))
    if kind in ("varchar", "enum", "set"):
        return DataTypes.VARCHAR(max(1, length or 1))
    if kind == "time":
        return DataTypes.TIME(digits or 0)
    if kind in ("datetime", "timestamp"):
        return DataTypes.TIMESTAMP(digits or 0)
    return _SIMPLE.get(f"{kind} unsigned" if unsigned else kind)

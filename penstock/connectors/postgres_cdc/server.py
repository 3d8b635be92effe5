"""A PostgreSQL server: how it is reached, what its tables are, and what logical decoding needs there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.common.datatypes import DataType, DataTypes
from penstock.common.errors import MissingDependencyError, NotSupportedError, ValidationError
from penstock.connectors.cdc.columns import captured, some
from penstock.connectors.cdc.database import Database, Login, Selection
from penstock.connectors.cdc.model import CapturedTable, Column, TableName

if TYPE_CHECKING:
    from penstock.connectors.postgres_cdc.control import PostgresControl
    from penstock.connectors.postgres_cdc.work import PostgresWork

_SETTINGS = (
    "-c DateStyle=ISO,YMD -c IntervalStyle=postgres -c TimeZone=UTC -c extra_float_digits=1 "
    "-c bytea_output=hex"
)
"""How values are written as texts: in the log and in chunks alike."""
_ORDERED = frozenset((
    "smallint", "integer", "bigint", "numeric", "real", "double precision", "boolean", "date", "bytea", "uuid",
    "timestamp without time zone", "timestamp with time zone", "time without time zone", "oid",
))  # fmt: skip
"""Types that Python orders as PostgreSQL does."""
_TEXT_TYPES = ("json", "jsonb", "uuid", "interval", "inet", "cidr", "timetz")
_REFUSED = ("point", "line", "lseg", "box", "path", "polygon", "circle", "geometry", "geography")

_SIMPLE: dict[str, Callable[[], DataType]] = {
    "smallint": DataTypes.SMALLINT,
    "integer": DataTypes.INT,
    "bigint": DataTypes.BIGINT,
    "oid": DataTypes.BIGINT,
    "real": DataTypes.FLOAT,
    "double precision": DataTypes.DOUBLE,
    "boolean": DataTypes.BOOLEAN,
    "date": DataTypes.DATE,
    "bytea": DataTypes.BYTES,
}


@dataclass(frozen=True)
class PostgresDatabase(Database):
    """One database of a server, and the slot and publication through which its changes come."""

    login: Login
    name: str
    selection: Selection
    slot: str
    publication: str = "dbz_publication"
    autocreate: str = "filtered"
    drop_slot: bool = False
    partition_roots: bool = False
    ssl: Mapping[str, str] = field(default_factory=dict)

    @property
    def where(self) -> str:
        return f"PostgreSQL database '{self.name}' at {self.login.hostname}:{self.login.port}"

    def control(self, source_id: str) -> PostgresControl:
        from penstock.connectors.postgres_cdc.control import PostgresControl

        return PostgresControl(self, source_id)

    def work(self, source_id: str, subtask: int) -> PostgresWork:
        from penstock.connectors.postgres_cdc.work import PostgresWork

        return PostgresWork(self, source_id)

    @property
    def log_name(self) -> str:
        return f"slot '{self.slot}'"

    def errors(self) -> tuple[type[Exception], ...]:
        return (psycopg().Error, OSError)

    def connect(self, name: str, **more: Any) -> Any:
        """A connection that commits every statement; `name` is what the server shows of it."""
        login = self.login
        arguments: dict[str, Any] = {
            "host": login.hostname,
            "port": login.port,
            "user": login.username,
            "password": login.password,
            "dbname": self.name,
            "connect_timeout": max(1, round(login.timeout_s)),
            "application_name": name,
            "options": _SETTINGS,
            "client_encoding": "UTF8",
            **self.ssl,
            **more,
        }
        return self.tried(lambda: psycopg().connect(**arguments, autocommit=True))

    # --- tables

    def tables(self, connection: Any) -> tuple[CapturedTable, ...]:
        kinds = "'r', 'p'" if self.partition_roots else "'r'"
        found = connection.execute(
            "SELECT c.oid, n.nspname, c.relname, c.relreplident FROM pg_class c "
            f"JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ({kinds}) "
            "AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND NOT n.nspname LIKE 'pg_toast%' "
            "ORDER BY 2, 3"
        ).fetchall()
        tables = [
            self._table(connection, oid, TableName(self.name, schema, name), identity)
            for oid, schema, name, identity in found
            if self.selection.matches(f"{schema}.{name}")
        ]
        if not tables:
            raise ValidationError(
                f"no table is called {self.selection.pattern!r}",
                where=self.where,
                do=f"check 'schema-name' and 'table-name'; there are {some([f'{s}.{n}' for _, s, n, _ in found])}",
            )
        return tuple(tables)

    def _table(self, connection: Any, oid: int, name: TableName, identity: str) -> CapturedTable:
        rows = connection.execute(
            "SELECT attname, format_type(atttypid, NULL), format_type(atttypid, atttypmod), attgenerated <> '', "
            "(SELECT format('%%I.%%I', n.nspname, c.collname) FROM pg_collation c JOIN pg_namespace n "
            "ON n.oid = c.collnamespace WHERE c.oid = attcollation) FROM pg_attribute "
            "WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            (oid,),
        ).fetchall()
        there = {row[0]: Column(row[0], row[1], natural_type(row[1], row[2]), row[2:5]) for row in rows}
        key = [
            row[0]
            for row in connection.execute(
                "SELECT a.attname FROM pg_index i JOIN LATERAL unnest(i.indkey) WITH ORDINALITY k(attnum, place) "
                "ON true JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum "
                "WHERE i.indrelid = %s AND i.indisprimary ORDER BY k.place",
                (oid,),
            ).fetchall()
        ]
        where = f"table {name} of {self.where}"
        for column in there.values():
            _check(column, self.selection.columns, where)
        table = captured(self.selection, name, there, key, _ORDERED, where)
        if table.chunk_key is not None and table.chunk_key not in table.key and identity != "f":
            raise ValidationError(
                f"the chunk key '{table.chunk_column().name}' is no part of the primary key, and the log does not "
                "tell what it was before an update",
                where=where,
                do=f"ALTER TABLE {name} REPLICA IDENTITY FULL, or choose a column of the primary key",
            )
        return table


def _check(column: Column, wanted: Sequence[str] | None, where: str) -> None:
    if wanted is not None and column.name.lower() not in [name.lower() for name in wanted]:
        return
    if column.details[1] and wanted is not None:
        raise ValidationError(
            f"column '{column.name}' is generated, and the log does not have generated columns",
            where=where,
            do="leave it out of the table's declaration and compute it in the query",
        )
    if column.kind.rstrip("[]").split("(")[0] in _REFUSED:
        raise NotSupportedError(
            f"column '{column.name}' of type {column.kind}",
            "there is no type of Flink's for shapes",
            where=where,
        )


def natural_type(kind: str, full: str) -> DataType:
    """The Flink type for a column, as Flink CDC's documentation has it; STRING for what has none of its own.

    >>> [natural_type(*of).as_summary() for of in (("numeric", "numeric(10,2)"), ("integer[]", "integer[]"))]
    ['DECIMAL(10, 2)', 'ARRAY<INT>']
    """
    if kind.endswith("[]"):
        return DataTypes.ARRAY(natural_type(kind[:-2], full.removesuffix("[]")))
    if kind in _SIMPLE:
        return _SIMPLE[kind]()
    numbers = [int(n) for n in full[full.find("(") + 1 : full.find(")")].split(",")] if "(" in full else []
    if kind == "numeric":
        precision, scale = (*numbers, 0)[:2] if numbers else (38, 18)
        fits = precision <= 38 and 0 <= scale <= precision
        return DataTypes.DECIMAL(precision, scale) if fits else DataTypes.STRING()
    digits = numbers[0] if numbers else 6
    if kind == "time without time zone":
        return DataTypes.TIME(digits)
    if kind == "timestamp without time zone":
        return DataTypes.TIMESTAMP(digits)
    if kind == "timestamp with time zone":
        return DataTypes.TIMESTAMP_LTZ(digits)
    return DataTypes.STRING()


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def quoted_table(table: CapturedTable) -> str:
    return f"{quote(table.name.schema)}.{quote(table.name.name)}"


def psycopg() -> Any:
    """The driver, or an error that says what to install."""
    try:
        import psycopg
    except ImportError:
        raise MissingDependencyError(
            "capturing changes of PostgreSQL needs the package psycopg", do="pip install 'penstock[cdc]'"
        ) from None
    return psycopg


def text_types(adapters: Any) -> None:
    """Values of some types stay the texts that the database shows."""
    from psycopg.types.string import TextLoader

    for kind in _TEXT_TYPES:
        adapters.register_loader(kind, TextLoader)

"""Changes as records of a program: what a `DebeziumDeserializationSchema` makes of them.

`JsonDebeziumDeserializationSchema` writes what Flink CDC's does, Debezium's envelope as JSON. Values stand there as
Debezium writes them by default: dates as days, times and timestamps as numbers since 1970, moments as ISO texts,
decimals and bytes in base64 unless `decimal_format` says otherwise.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import NotSupportedError
from penstock.common.typeinfo import RowTypeInfo, TypeInformation, Types
from penstock.common.types import Row, RowKind, make_row
from penstock.connectors.cdc.model import CapturedTable, Change, TableName
from penstock.connectors.cdc.reader import Conversion
from penstock.connectors.cdc.rows import TableRows, column_reader
from penstock.connectors.row_types import row_maker, row_type_of

__all__ = [
    "ChangeRecord",
    "DebeziumDeserializationSchema",
    "JsonDebeziumDeserializationSchema",
    "RowDataDebeziumDeserializeSchema",
]

_EPOCH = dt.datetime(1970, 1, 1)
_DAY = dt.date(1970, 1, 1)


@dataclass(frozen=True)
class ChangeRecord:
    """A change as a schema sees it.

    Attributes:
        op: `r` a row of the snapshot, `c` created, `u` updated, `d` deleted, `t` the table was truncated.
        before, after: The row by column names, None if there is none or the log does not have it.
        ts_ms: When it was committed; 0 for a row of the snapshot.
    """

    table: TableName
    connector: str
    op: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    ts_ms: int
    position: tuple[Any, ...]


class DebeziumDeserializationSchema(ABC):
    """Subclass it for a form of one's own."""

    @abstractmethod
    def deserialize(self, record: ChangeRecord) -> Iterable[Any]:
        """The elements of a change, none or several."""

    def get_produced_type(self) -> TypeInformation | None:
        """The type of the elements; None: they travel as pickled Python objects."""
        return None

    def row_type(self) -> Any:
        """The columns to read, and their types; None: all, as the database has them."""
        return None


class JsonDebeziumDeserializationSchema(DebeziumDeserializationSchema):
    """Debezium's envelope as JSON text.

    Args:
        include_schema: Flink CDC's switch for Kafka Connect's schemas, which there are none of here.
        decimal_format: `base64` as Debezium's default, or `numeric` for plain numbers as texts.
    """

    def __init__(self, include_schema: bool = False, decimal_format: str = "base64") -> None:
        if include_schema:
            raise NotSupportedError(
                "JsonDebeziumDeserializationSchema(include_schema=True)",
                "schemas of Kafka Connect are made by Debezium's engine, which is not used here",
            )
        self._plain_decimals = decimal_format.lower() == "numeric"

    def deserialize(self, record: ChangeRecord) -> Iterable[str]:
        name = record.table
        source = {
            "connector": record.connector,
            "ts_ms": record.ts_ms,
            "snapshot": "true" if record.op == "r" else "false",
            "db": name.database,
            **({"schema": name.schema} if name.schema else {}),
            "table": name.name,
            **_position(record.position),
        }
        envelope = {
            "before": self._image(record.before),
            "after": self._image(record.after),
            "source": source,
            "op": record.op,
            "ts_ms": record.ts_ms,
        }
        yield json.dumps(envelope, ensure_ascii=False, separators=(",", ":"))

    def _image(self, image: dict[str, Any] | None) -> dict[str, Any] | None:
        return None if image is None else {name: self._plain(value) for name, value in image.items()}

    def _plain(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [self._plain(item) for item in value]
        if isinstance(value, decimal.Decimal):
            return format(value, "f") if self._plain_decimals else _unscaled(value)
        return debezium_value(value)

    def get_produced_type(self) -> TypeInformation:
        return Types.STRING()


def debezium_value(value: Any) -> Any:
    """A value in Debezium's default form.

    >>> debezium_value(dt.date(1970, 1, 3)), debezium_value(b"ab")
    (2, 'YWI=')
    """
    if isinstance(value, dt.datetime):
        if value.tzinfo is not None:
            return value.astimezone(dt.timezone.utc).isoformat().replace("+00:00", "Z")
        return (value - _EPOCH) // dt.timedelta(microseconds=1)
    if isinstance(value, dt.date):
        return (value - _DAY).days
    if isinstance(value, dt.time):
        of_day = dt.datetime.combine(_DAY, value) - _EPOCH
        return of_day // dt.timedelta(microseconds=1)
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    return value


def _unscaled(value: decimal.Decimal) -> str:
    """The digits without the point, as Kafka Connect's Decimal has them."""
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int), "only finite numbers come here"
    whole = int(value.scaleb(-exponent))
    size = (whole.bit_length() + 8) // 8
    return base64.b64encode(whole.to_bytes(size, "big", signed=True)).decode()


def _position(position: tuple[Any, ...]) -> dict[str, Any]:
    if len(position) == 1:
        return {"lsn": position[0]}
    return {"file": position[2], "pos": position[1]} if position else {}


class RowDataDebeziumDeserializeSchema(DebeziumDeserializationSchema):
    """Named rows with their kind, as a table has them: `+I`, `-U`, `+U`, `-D`.

    Args:
        type_info: `Types.ROW_NAMED([...], [...])`: the columns and how to read them.
    """

    def __init__(self, type_info: RowTypeInfo) -> None:
        self._type_info = type_info

    def row_type(self) -> Any:
        return row_type_of(self._type_info)

    def deserialize(self, record: ChangeRecord) -> Iterable[Row]:
        raise AssertionError("rows are made of the images themselves")

    def get_produced_type(self) -> TypeInformation:
        return self._type_info


class Records(Conversion):
    """Elements of a stream, by a schema."""

    def __init__(
        self,
        schema: DebeziumDeserializationSchema,
        connector: str,
        zone: dt.tzinfo,
        ask_for_images: str,
    ) -> None:
        self._schema = schema
        self._connector = connector
        self._zone = zone
        self._ask_for_images = ask_for_images

    def open(self, tables: Sequence[CapturedTable], where: str) -> None:
        self._tables = tables
        self._rows: TableRows | None = None
        row_type = self._schema.row_type()
        if row_type is not None:
            wanted = tuple(range(len(row_type.fields)))
            self._rows = TableRows(row_type, wanted, zone=self._zone, ask_for_images=self._ask_for_images)
            self._rows.open(tables, where)
            self._make = row_maker(row_type)
        else:
            self._readers = [
                [(c.name, column_reader(c, c.data_type, self._zone)) for c in table.columns]
                for table in tables
            ]

    def convert(self, changes: Sequence[Change]) -> list[Any]:
        if self._rows is not None:
            return [self._row(values) for values in self._rows.convert(changes)]
        return [element for change in changes for element in self._schema.deserialize(self._record(change))]

    def _row(self, values: tuple[Any, ...]) -> Row:
        row = self._make(values[:-1])
        return make_row(list(row), row._fields, RowKind(values[-1]))

    def _record(self, change: Change) -> ChangeRecord:
        table = self._tables[change.table]
        before, after = (self._image(change.table, i) for i in (change.before, change.after))
        return ChangeRecord(table.name, self._connector, change.op, before, after, change.ts_ms, change.place)

    def _image(self, table: int, image: tuple[Any, ...] | None) -> dict[str, Any] | None:
        if image is None:
            return None
        pairs = zip(self._readers[table], image, strict=True)
        return {name: None if value is None else read(value) for (name, read), value in pairs}

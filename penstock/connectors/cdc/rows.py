"""Changes to rows of a table: the declared columns, metadata, and the kind of the change.

changelog-mode all        +I, -U and +U, -D, with the whole row each time: an update needs its before-image
changelog-mode upsert     +U for the row of a key, -D for a key that is gone: the primary key is enough
append-only               every row of the first form is an insertion
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.datatypes import ArrayType, RowType
from penstock.common.errors import ExternalSystemError, MalformedRecordError
from penstock.connectors.cdc.model import (
    CREATE,
    DELETE,
    READ,
    TRUNCATE,
    CapturedTable,
    Change,
    Column,
    Values,
)
from penstock.connectors.cdc.reader import Conversion
from penstock.connectors.jdbc.types import reader_of
from penstock.formats.base import DELETE as GONE
from penstock.formats.base import INSERT, UPDATE_AFTER, UPDATE_BEFORE

Read = Callable[[Any], Any]
_KINDS = ("+I", "-U", "+U", "-D")
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_SHOWN = 200


@dataclass(frozen=True)
class TableRows(Conversion):
    """Rows of `row_type`; `wanted[i]` is the place of its column i among those that are read, None if nobody asks.

    Attributes:
        metadata: The metadata that are asked for, in order.
        zone: In which zone a moment is shown that is declared TIMESTAMP.
        ask_for_images: What to do where a before-image is missing.
    """

    row_type: RowType
    wanted: tuple[int | None, ...]
    metadata: tuple[str, ...] = ()
    upserts: bool = False
    append_only: bool = False
    zone: dt.tzinfo = dt.timezone.utc
    ask_for_images: str = ""

    def open(self, tables: Sequence[CapturedTable], where: str) -> None:
        makers = [_Maker(self, table, where) for table in tables]
        object.__setattr__(self, "_makers", makers)

    def convert(self, changes: Sequence[Change]) -> list[Any]:
        makers: list[_Maker] = self._makers  # type: ignore[attr-defined]
        rows: list[Any] = []
        for change in changes:
            rows += makers[change.table].rows(change)
        return rows

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_makers"}


class _Maker:
    """Rows of one table."""

    def __init__(self, to: TableRows, table: CapturedTable, where: str) -> None:
        self._to = to
        self._table = table
        self._where = f"table {table.name} of {where}"
        self._columns = [
            None if at is None else (at, column_reader(table.columns[at], f.data_type, to.zone))
            for at, f in zip(to.wanted, to.row_type.fields, strict=True)
        ]

    def rows(self, change: Change) -> Iterator[tuple[Any, ...]]:
        for kind, image in self._images(change):
            values = self._values(image)
            if self._to.metadata:
                values += tuple(self._metadata(change, name, kind) for name in self._to.metadata)
            yield values if self._to.append_only else (*values, kind)

    def _images(self, change: Change) -> Iterator[tuple[int, Values]]:
        op, before, after = change.op, change.before, change.after
        if op == TRUNCATE:
            return
        if self._to.upserts:
            yield from self._upserts(change)
            return
        if op in (CREATE, READ):
            assert after is not None, "a new row has an after-image"
            yield INSERT, after
            return
        if before is None or change.key_only:
            raise self._no_image(change)
        if op == DELETE:
            yield GONE, before
            return
        assert after is not None, "an updated row has an after-image"
        yield UPDATE_BEFORE, before
        yield UPDATE_AFTER, after

    def _upserts(self, change: Change) -> Iterator[tuple[int, Values]]:
        before, after = change.before, change.after
        moved = before is not None and after is not None and self._key(before) != self._key(after)
        if before is not None and (after is None or moved):
            yield GONE, before
        if after is not None:
            yield UPDATE_AFTER, after

    def _key(self, image: Values) -> list[Any]:
        return [image[at] for at in self._table.key]

    def _no_image(self, change: Change) -> ExternalSystemError:
        what = "a deleted" if change.op == DELETE else "an updated"
        error = ExternalSystemError(
            f"the log does not tell what {what} row was before", where=self._where, do=self._to.ask_for_images
        )
        error.retryable = False
        return error

    def _values(self, image: Values) -> tuple[Any, ...]:
        try:
            return tuple(
                [
                    None if c is None or image[c[0]] is None else c[1](image[c[0]])
                    for c in self._columns
                ]
            )  # fmt: skip
        except (ValueError, TypeError, ArithmeticError, OverflowError):
            raise self._unreadable(image) from None

    def _unreadable(self, image: Values) -> MalformedRecordError:
        """The error of the first value that cannot be read."""
        shown, reason, name, declared = "", "it cannot be read", "", ""
        for found, column in zip(self._columns, self._to.row_type.fields, strict=False):
            try:
                if found is not None and image[found[0]] is not None:
                    found[1](image[found[0]])
            except (ValueError, TypeError, ArithmeticError, OverflowError) as error:
                shown, reason = repr(image[found[0]])[:_SHOWN], " ".join(str(error).split())  # type: ignore[index]
                name, declared = column.name, column.data_type.as_summary()
                break
        return MalformedRecordError(
            f"value {shown} of column '{name}' does not fit {declared}: {reason}",
            where=self._where,
            do="declare the column with a type that holds all its values",
        )

    def _metadata(self, change: Change, name: str, kind: int) -> Any:
        if name == "op_ts":
            return _EPOCH + dt.timedelta(milliseconds=change.ts_ms)
        if name == "row_kind":
            return _KINDS[kind]
        names = self._table.name
        return {"table_name": names.name, "schema_name": names.schema, "database_name": names.database}[name]


def column_reader(column: Column, data_type: Any, zone: dt.tzinfo) -> Read:
    """From a database's value to one of the declared type; raises ValueError for what does not fit.

    `zone` is that of a declared TIMESTAMP where the database knows a moment.
    """
    if isinstance(data_type, ArrayType) and column.kind == "set":
        return lambda text: text.split(",") if text else []
    read = reader_of(data_type)

    def read_moment(value: Any) -> Any:
        if isinstance(value, dt.datetime) and value.tzinfo is not None:
            value = value.astimezone(zone)
        return read(value)

    return read_moment if column.kind.startswith("timestamp") else read

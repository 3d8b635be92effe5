"""Between tables and pandas."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.common.datatypes import DataType, LocalZonedTimestampType, RowField, RowType
from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.common.types import Row, RowKind
from penstock.formats.arrow_types import from_arrow_type
from penstock.sql.plan.algebra import LocalRows, Plan
from penstock.sql.session import unique_names
from penstock.table.elements import arrow_rows

if TYPE_CHECKING:
    from penstock.sql.session import SqlSession


def frame_of(session: SqlSession, plan: Plan) -> Any:
    """The rows of a plan as a DataFrame."""
    import pandas as pd

    names = unique_names([f.name for f in plan.fields])
    rows = _final(session.query(plan).rows()) if session.streaming else list(session.query(plan).rows())
    data = {}
    for i, (name, field) in enumerate(zip(names, plan.fields, strict=True)):
        data[name] = _series(pd, [row[i] for row in rows], field.type)
    return pd.DataFrame(data, columns=names)


def _final(changes: Iterable[Row]) -> list[Row]:
    """What is left when changes have been applied."""
    kept: list[Row] = []
    for row in changes:
        if row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER):
            kept.append(row)
            continue
        values = list(row)
        for i in range(len(kept) - 1, -1, -1):
            if list(kept[i]) == values:
                del kept[i]
                break
    return kept


def _series(pd: Any, values: list[Any], data_type: DataType) -> Any:
    from penstock.formats.arrow_rows import arrow_type

    if isinstance(data_type, LocalZonedTimestampType):
        values = [None if v is None else v.to_datetime() if hasattr(v, "to_datetime") else v for v in values]
        return pd.Series(pd.to_datetime([None if v is None else _naive(v) for v in values]))
    made = arrow_type(data_type)
    if pa.types.is_nested(made):
        return pd.Series(values, dtype=object)
    return pa.array(values, made).to_pandas()


def _naive(value: Any) -> Any:
    import datetime as dt

    if hasattr(value, "seconds") and hasattr(value, "nanos"):
        return dt.datetime(1970, 1, 1) + dt.timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    return value.replace(tzinfo=None)


def rows_of_frame(frame: Any, schema: Any) -> LocalRows:
    """A DataFrame as a leaf of a plan, with its own columns or declared ones."""
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise TypeMismatchError(f"from_pandas takes a DataFrame, got {type(frame).__name__}")
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return arrow_rows(table, _row_type(table.schema, schema))


def _row_type(arrow: pa.Schema, schema: Any) -> RowType:
    if isinstance(schema, RowType):
        if len(schema.fields) != len(arrow.names):
            raise ValidationError(
                f"the schema has {len(schema.fields)} columns, the frame {len(arrow.names)}"
            )
        return schema
    own = [from_arrow_type(f.type, f.nullable) for f in arrow]
    if schema is None:
        return _named([str(n) for n in arrow.names], own)
    if isinstance(schema, (list, tuple)) and schema and all(isinstance(s, str) for s in schema):
        return _named(schema, own)
    if isinstance(schema, (list, tuple)) and schema and all(isinstance(s, DataType) for s in schema):
        return _named([str(n) for n in arrow.names], schema)
    raise TypeMismatchError(f"a schema is a ROW type, names or types, got {schema!r}")


def _named(names: Sequence[str], types: Sequence[DataType]) -> RowType:
    repeated = [n for n, count in collections.Counter(names).items() if count > 1]
    if len(names) != len(types) or repeated:
        raise ValidationError(
            f"{len(names)} names for {len(types)} columns", do="give each column its own name"
        )
    return RowType([RowField(n, t) for n, t in zip(names, types, strict=True)])

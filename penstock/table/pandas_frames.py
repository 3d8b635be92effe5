"""Between tables and pandas."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.common.datatypes import (
    ArrayType,
    DataType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowField,
    RowType,
    TimestampType,
)
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
        moments = [None if v is None else _naive(v) for v in values]
        return pa.array(moments, pa.timestamp(_unit(data_type.precision))).to_pandas()
    made = arrow_type(data_type)
    if isinstance(data_type, TimestampType):
        made = pa.timestamp(_unit(data_type.precision))
    if pa.types.is_nested(made):
        return pa.array([_nested(v, data_type) for v in values], made).to_pandas()
    return pa.array(values, made).to_pandas()


def _nested(value: Any, data_type: DataType) -> Any:
    """A value as Arrow takes it: pandas has rows as dicts, arrays as numpy's, maps as lists of pairs."""
    if value is None:
        return None
    if isinstance(data_type, RowType):
        return {f.name: _nested(v, f.data_type) for f, v in zip(data_type, value, strict=True)}
    if isinstance(data_type, ArrayType):
        return [_nested(v, data_type.element_type) for v in value]
    if isinstance(data_type, MapType):
        return [(_nested(k, data_type.key_type), _nested(v, data_type.value_type)) for k, v in value.items()]
    if isinstance(data_type, MultisetType):
        return [(_nested(k, data_type.element_type), n) for k, n in value.items()]
    return _naive(value) if isinstance(data_type, LocalZonedTimestampType) else value


def _unit(precision: int) -> str:
    """The unit of a column of moments in pandas: the coarsest that holds the digits of its type."""
    return "s" if precision == 0 else "ms" if precision <= 3 else "us" if precision <= 6 else "ns"


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

"""Columns as pandas objects, for functions that take them, and what such functions give as columns.

A column is a Series, a column of rows a DataFrame with the fields as its columns, those of rows inside rows too.
Times with a local time zone are naive, in the session's zone. What a function gives is checked here, so that both
modes refuse the same results with the same words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.common.datatypes import DataType, LocalZonedTimestampType, RowType
from penstock.common.errors import UserFunctionError
from penstock.formats.arrow_rows import RowsToArrow, arrow_type, columns_type

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["as_column", "as_pandas", "check_result", "flattened", "plain", "series_of"]


def as_pandas(column: pa.Array | pa.ChunkedArray, data_type: DataType, zone: str) -> Any:
    """A column as a Series, or as a DataFrame if its values are rows."""
    if isinstance(data_type, RowType):
        return _frame(column, data_type, zone)
    if isinstance(data_type, LocalZonedTimestampType):
        shown = column.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us")).to_pandas()
        return shown.dt.tz_localize(zone, ambiguous=[False] * len(shown), nonexistent="shift_forward")
    return column.to_pandas(date_as_object=True)


def _frame(column: pa.Array | pa.ChunkedArray, data_type: RowType, zone: str) -> pd.DataFrame:
    import pandas as pd

    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    fields = [
        found if isinstance(found := as_pandas(c, f.data_type, zone), pd.DataFrame) else found.rename(f.name)
        for c, f in zip(whole.flatten(), data_type, strict=True)
    ]
    return pd.concat(fields, axis=1)


def flattened(frame: Any, data_type: DataType) -> Any:
    """A frame of Spark's, in which rows inside rows are values, with their fields as columns."""
    import pandas as pd

    if not isinstance(data_type, RowType):
        return frame
    parts = []
    for field in data_type:
        column = frame[field.name]
        if isinstance(field.data_type, RowType):
            names = field.data_type.field_names()
            rows = [(None,) * len(names) if row is None else _values(row, names) for row in column]
            parts.append(flattened(pd.DataFrame(rows, columns=names, index=frame.index), field.data_type))
        else:
            parts.append(column)
    return pd.concat(parts, axis=1)


def _values(row: Any, names: list[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names) if isinstance(row, dict) else tuple(row)


def series_of(rows: Sequence[Sequence[Any]], types: Sequence[DataType], zone: str) -> list[Any]:
    """The arguments of many calls, a Series (or DataFrame) for each."""
    writer = RowsToArrow(columns_type(types))
    return [
        as_pandas(writer.column(i, [row[i] for row in rows]), data_type, zone)
        for i, data_type in enumerate(types)
    ]


def check_result(name: str, found: Any, rows: int) -> Any:
    """What a function of Series gave, if it is a Series or a DataFrame with a value for each row."""
    import pandas as pd

    if not isinstance(found, (pd.Series, pd.DataFrame)):
        raise _wrong(
            name,
            f"must give a pandas.Series or pandas.DataFrame, got {type(found).__name__}",
            "give one value for each row, or leave func_type='pandas' out",
        )
    if len(found) != rows:
        raise _wrong(name, f"gave {len(found)} values for {rows} rows", "give one value for each row")
    return found


def as_column(name: str, found: pd.Series | pd.DataFrame, data_type: DataType, zone: str) -> pa.Array:
    """A result as an Arrow column of the declared type.

    Moments with a zone are shown in the session's; the hour that is shown is taken for UTC, as in rows
    (`value_conversion.py`).

    Raises:
        UserFunctionError: Its values do not fit the type.
    """
    try:
        return _column(found, data_type, zone)
    except (pa.ArrowException, TypeError, ValueError) as error:
        given = "a DataFrame" if hasattr(found, "columns") else f"values of type {found.dtype}"
        raise _wrong(
            name,
            f"gave {given}, which do not fit its result type {data_type.as_summary()}: {error}",
            "declare the type that the function gives, or convert with astype(...)",
        ) from error


def _column(found: Any, data_type: DataType, zone: str) -> pa.Array:
    if isinstance(data_type, LocalZonedTimestampType) and getattr(found.dtype, "tz", None) is not None:
        found = found.dt.tz_convert(zone).dt.tz_localize(None)
    if not isinstance(data_type, RowType) or not hasattr(found, "columns"):
        return pa.Array.from_pandas(found, type=arrow_type(data_type))
    if len(found.columns) != len(data_type.field_names()):
        raise ValueError(f"{len(found.columns)} columns for {len(data_type.field_names())} fields")
    parts = [_column(found.iloc[:, i], f.data_type, zone) for i, f in enumerate(data_type)]
    return pa.StructArray.from_arrays(parts, names=data_type.field_names())


def plain(value: Any) -> Any:
    """numpy's numbers as Python's."""
    return value.item() if hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0 else value


def _wrong(name: str, what: str, do: str) -> UserFunctionError:
    return UserFunctionError(
        f"pandas function {name} {what}", user_traceback="", where=f"function {name}", do=do
    )

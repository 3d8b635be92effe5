"""Users' aggregates in batch, a group piece by piece.

Spark sorts the rows by key and hands a group to Python as a sequence of Arrow batches, so an aggregate with
`accumulate` sees a group of any size without having it in memory. Spark takes one such function per GROUP BY: all
calls of an aggregate are put into one, whose value is a ROW with a field for each.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.common.datatypes import DataType, DataTypes
from penstock.formats.arrow_rows import RowsToArrow, columns_type
from penstock.sql.aggregate_calls import PandasAggregate
from penstock.sql.functions.text import spark_type
from penstock.sql.pandas_values import as_pandas
from penstock.sql.plan.rex import AggCall, Rex, UdfCall
from penstock.sql.spark.user_function_calls import AggregateRunner, Settings
from penstock.sql.streaming.user_calls import LocalRows
from penstock.sql.user_functions import UserFunction

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ARROW_GROUPED_ITER = 254  # ArrowUDFType.GROUPED_AGG_ITER


@dataclass(frozen=True)
class Member:
    """One call: its function, which arguments of the whole are its own, and maybe which says whether a row counts."""

    function: UserFunction
    columns: tuple[int, ...]
    condition: int | None


def together(calls: Sequence[AggCall]) -> UdfCall | None:
    """The calls as one; None if one of them is no user's function, or needs to see the rows of a group together."""
    if not calls or any(c.function is None or c.distinct or c.order for c in calls):
        return None
    args: list[Rex] = []
    members = []
    for call in calls:
        columns = tuple(range(len(args), len(args) + len(call.args)))
        args += call.args
        if call.filter is not None:
            args.append(call.filter)
        members.append(Member(call.function, columns, None if call.filter is None else len(args) - 1))
    if not args:
        return None
    row = DataTypes.ROW([DataTypes.FIELD(f"c{i}", c.type.nullable()) for i, c in enumerate(calls)])
    key = f"{zlib.crc32(repr([(m.function.key, m.columns, m.condition) for m in members]).encode()):x}"
    name = "+".join(c.name for c in calls)
    function = UserFunction(name, tuple(members), row, "aggregates", key=f"groups_{key}")
    return UdfCall(row, name, function, tuple(args))


def register_groups(
    spark: SparkSession, name: str, function: UserFunction, types: Sequence[DataType], settings: Settings
) -> None:
    from pyspark.sql.functions import arrow_udf

    runner = GroupRunner(name, function, types, settings.zone, settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        made = arrow_udf(runner, spark_type(function.result), _ARROW_GROUPED_ITER)  # type: ignore[call-overload]
    spark.udf.register(name, made)


class GroupRunner:
    """Called once for a group, with its batches."""

    def __init__(
        self, name: str, function: UserFunction, types: Sequence[DataType], zone: str, settings: Settings
    ) -> None:
        self._members = [
            GroupMember(f"{name}_{i}", member, [types[c] for c in member.columns], zone, settings)
            for i, member in enumerate(function.function)
        ]
        self._results = [m.function.result for m in function.function]

    def __call__(self, batches: Iterator[Any]) -> pa.Scalar:
        running = [(member, *member.begin()) for member in self._members]
        for batch in batches:
            columns = batch if isinstance(batch, tuple) else (batch,)
            for member, function, accumulator in running:
                member.take(function, accumulator, columns)
        values = [[member.end(function, accumulator)] for member, function, accumulator in running]
        writer = RowsToArrow(columns_type(self._results))
        columns_ = [_whole(writer.column(i, v)) for i, v in enumerate(values)]
        return pa.StructArray.from_arrays(columns_, names=[f"c{i}" for i in range(len(columns_))])[0]


class GroupMember:
    """One call of the group."""

    def __init__(
        self, key: str, member: Member, types: Sequence[DataType], zone: str, settings: Settings
    ) -> None:
        self._runner = AggregateRunner(key, member.function, types, settings)
        self._columns = member.columns
        self._condition = member.condition
        self._types = list(types)
        self._zone = zone
        self._rows = LocalRows(types, zone)

    def begin(self) -> tuple[Any, Any]:
        function = self._runner.aggregate(self._zone)
        return function, [] if isinstance(function, PandasAggregate) else self._runner.created(function)

    def take(self, function: Any, accumulator: Any, columns: Sequence[pa.Array]) -> None:
        table = pa.table([columns[c] for c in self._columns], [f"c{i}" for i in range(len(self._columns))])
        rows = len(columns[0])
        if self._condition is not None:
            counts = columns[self._condition]
            table, rows = table.filter(counts), counts.true_count
        if isinstance(function, PandasAggregate):
            accumulator.append(table)
        else:
            self._runner.accumulate(function, accumulator, self._rows.of(table, rows))

    def end(self, function: Any, accumulator: Any) -> Any:
        if not isinstance(function, PandasAggregate):
            return self._runner.value(function, accumulator)
        whole = pa.concat_tables(accumulator) if accumulator else None
        if whole is None or not whole.num_rows:
            return None
        columns = [as_pandas(whole.column(i), t, self._zone) for i, t in enumerate(self._types)]
        return self._runner.value_of(function, columns)


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column

"""Between DataStreams and tables: `from_data_stream` and `to_data_stream`.

A table over a stream is the plan that DDL would give (scan, computed columns, watermark), its scan being the
stream. Turned back into a stream, the plan becomes DataStream steps: a map for the columns, a filter for
conditions, and a watermark strategy for the watermark. As in Flink's SQL, such a watermark follows every row that
advances it by more than `pipeline.auto-watermark-interval`, and the row time becomes the record's timestamp.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.catalog.identifiers import ObjectIdentifier
from penstock.catalog.objects import CatalogTable
from penstock.catalog.schema import Schema
from penstock.common.datatypes import LocalZonedTimestampType, RowField, RowType
from penstock.common.errors import NotSupportedError, PenstockError, ValidationError
from penstock.common.ids import MIN_WATERMARK
from penstock.common.time import Instant
from penstock.common.typeinfo import RowTypeInfo, TypeInformation, Types
from penstock.common.types import Row
from penstock.common.watermark_strategy import (
    Watermark as WatermarkElement,
)
from penstock.common.watermark_strategy import (
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from penstock.connectors.row_types import row_type_of, type_info_of
from penstock.sql.binder.query import QueryBinder
from penstock.sql.binder.tables import bind_table
from penstock.sql.plan.algebra import Filter, Plan, Project, Scan, Watermark
from penstock.sql.python_eval import EPOCH, CompiledRex, Evaluator, compile_rex, epoch_millis

if TYPE_CHECKING:
    from penstock.datastream import DataStream
    from penstock.sql.session import SqlSession

_numbers = itertools.count()


@dataclass(frozen=True)
class StreamTable:
    """A table whose rows come from a DataStream."""

    plan: Plan
    stream: DataStream


def table_from_stream(session: SqlSession, stream: DataStream, schema: Schema | None) -> StreamTable:
    """The stream as a table, with the columns of its type or of a schema that fits it."""
    identifier = ObjectIdentifier("default_catalog", "default_database", f"stream_{next(_numbers)}")
    table = CatalogTable(schema=schema or _schema_of(stream.get_type()), options={"connector": "datastream"})
    context = session.context("")
    return StreamTable(bind_table(table, identifier, QueryBinder(context), context), stream)


def _schema_of(type_info: TypeInformation | None) -> Schema:
    if isinstance(type_info, RowTypeInfo):
        return Schema.new_builder().from_row_data_type(row_type_of(type_info)).build()
    raise ValidationError(
        f"a stream of {type_info!r} has no columns",
        do="declare the stream's type with Types.ROW_NAMED([...], [...])",
    )


def stream_from_table(table: StreamTable, interval_ms: int) -> DataStream:
    """The table's rows as a stream of `Row`; inserts only."""
    return _Translator(interval_ms).translate(table.plan, table.stream)


class _Translator:
    """Plan nodes to DataStream steps, innermost first."""

    def __init__(self, interval_ms: int) -> None:
        self._interval_ms = interval_ms

    def translate(self, plan: Plan, stream: DataStream) -> DataStream:
        if isinstance(plan, Scan):
            return stream.map(_row_reader(len(plan.fields)), Types.PICKLED_BYTE_ARRAY())
        if isinstance(plan, Project):
            columns = [compile_rex(rex) for rex in plan.exprs]
            inner = self.translate(plan.input, stream)
            return inner.map(lambda row: tuple([c(row) for c in columns]), Types.PICKLED_BYTE_ARRAY())
        if isinstance(plan, Filter):
            condition = compile_rex(plan.condition)
            return self.translate(plan.input, stream).filter(lambda row: condition(row) is True)
        if isinstance(plan, Watermark):
            inner = self.translate(plan.input, stream)
            rows = inner.assign_timestamps_and_watermarks(self._strategy(plan))
            return self._as_rows(rows, plan)
        raise NotSupportedError(
            f"{type(plan).__name__} between two streams",
            "only projections, filters and watermarks are linear",
        )

    def _strategy(self, plan: Watermark) -> WatermarkStrategy:
        expression, column, interval_ms = CompiledRex(plan.expression), plan.column, self._interval_ms
        return WatermarkStrategy.for_generator(
            lambda: _TableWatermarks(expression, interval_ms)
        ).with_timestamp_assigner(lambda row, _: _row_time(row[column]))

    def _as_rows(self, rows: DataStream, plan: Plan) -> DataStream:
        names = [f.name for f in plan.fields]
        instants = [i for i, f in enumerate(plan.fields) if isinstance(f.type, LocalZonedTimestampType)]

        def present(values: tuple[Any, ...]) -> Row:
            shown = list(values)
            for i in instants:
                if shown[i] is not None:
                    shown[i] = Instant.of_epoch_milli(epoch_millis(shown[i]))
            row = Row(*shown)
            row.set_field_names(names)
            return row

        return rows.map(present, _type_info(plan))


def _type_info(plan: Plan) -> TypeInformation:
    declared = type_info_of(RowType([RowField(f.name, f.type) for f in plan.fields]))
    assert isinstance(declared, RowTypeInfo)
    types = [
        Types.INSTANT() if isinstance(f.type, LocalZonedTimestampType) else kind
        for f, kind in zip(plan.fields, declared.get_field_types(), strict=True)
    ]
    return Types.ROW_NAMED([f.name for f in plan.fields], types)


def _row_reader(width: int) -> Callable[[Any], tuple[Any, ...]]:
    def read(value: Any) -> tuple[Any, ...]:
        values = tuple(value) if isinstance(value, (Row, tuple, list)) else (value,)
        if len(values) != width:
            raise ValidationError(f"a row of {len(values)} fields where the table has {width}: {value!r}")
        return tuple([_plain_time(v) for v in values])

    return read


def _plain_time(value: Any) -> Any:
    if isinstance(value, Instant):
        return EPOCH + dt.timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    return value


def _row_time(moment: Any) -> int:
    if moment is None:
        raise PenstockError(
            "a row without a time: its row time is NULL",
            do="filter such rows out, or give them a time in the computed column",
        )
    return epoch_millis(moment)


class _TableWatermarks(WatermarkGenerator):
    """Emits when the watermark has moved by more than the interval of event time."""

    def __init__(self, expression: Evaluator, interval_ms: int) -> None:
        self._expression = expression
        self._interval_ms = interval_ms
        self._greatest = MIN_WATERMARK
        self._emitted = MIN_WATERMARK

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        moment = self._expression(event)
        if moment is not None:
            self._greatest = max(self._greatest, epoch_millis(moment))
            if self._greatest - self._emitted > self._interval_ms:
                self._emit(output)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        if self._greatest > self._emitted:
            self._emit(output)

    def _emit(self, output: WatermarkOutput) -> None:
        self._emitted = self._greatest
        output.emit_watermark(WatermarkElement(self._greatest))

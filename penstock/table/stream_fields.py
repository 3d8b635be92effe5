"""Streams and tables in the spelling of Flink 1.x: fields as expressions, elements of a declared type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.catalog.schema import Schema
from penstock.common.typeinfo import RowTypeInfo, Types
from penstock.common.types import Row, RowKind
from penstock.sql.plan.algebra import Field, Plan, Project
from penstock.sql.plan.rex import InputRef, Rex
from penstock.table.border_types import columns_of
from penstock.table.expression_parts.nodes import Apply, Name, Node, Value
from penstock.table.resolving.arguments import nodes_of
from penstock.table.resolving.context import ProgramContext, program_context
from penstock.table.stream_bridge import table_from_stream

if TYPE_CHECKING:
    from penstock.datastream import DataStream
    from penstock.sql.session import SqlSession


@dataclass(frozen=True)
class _Wanted:
    """One expression: the field it names, the column's name, and whether it is a time."""

    field: str
    name: str
    time: str = ""


def table_from_fields(session: SqlSession, stream: DataStream, name: str, given: Sequence[Any]) -> Plan:
    """The columns that expressions choose, by name where they name fields, else by position.

    `col("rt").rowtime` is the timestamp of the elements, `col("pt").proctime` processing time.
    """
    ctx = program_context(session, "from_data_stream")
    wanted = [_wanted(ctx, node) for node in nodes_of(ctx, given)]
    own = columns_of(stream.get_type()).row_type.field_names()  # type: ignore[arg-type]
    chosen = _places(ctx, [w for w in wanted if not w.time], own, wanted)
    builder = Schema.new_builder()
    times = [w for w in wanted if w.time == "rowtime"]
    for time in times:
        if time.field not in own or len(own) != len(chosen):
            builder = builder.column_by_metadata(_hidden(time), "TIMESTAMP_LTZ(3)", "rowtime")
            builder = builder.column_by_expression(time.name, f"CAST(`{_hidden(time)}` AS TIMESTAMP(3))")
            builder = builder.watermark(time.name, "SOURCE_WATERMARK()")
    for time in wanted:
        if time.time == "proctime":
            builder = builder.column_by_expression(time.name, "PROCTIME()")
    plan, _ = table_from_stream(session, stream, name, builder.build())
    return _arranged(plan, wanted, chosen)


def _hidden(time: _Wanted) -> str:
    return f"$rowtime_{time.name}"


def _wanted(ctx: ProgramContext, node: Node) -> _Wanted:
    if isinstance(node, Name):
        return _Wanted(node.name, node.name)
    if isinstance(node, Apply) and node.function == "as" and isinstance(node.args[1], Value):
        inner = _wanted(ctx, node.args[0])
        return _Wanted(inner.field, str(node.args[1].value), inner.time)
    if isinstance(node, Apply) and node.function in ("rowtime", "proctime"):
        inner = _wanted(ctx, node.args[0])
        return _Wanted(inner.field, inner.name, node.function)
    raise ctx.error(
        f"{node} is no field of a stream",
        do="write col('f0'), col('f0').alias('a'), col('rt').rowtime or col('pt').proctime",
    )


def _places(
    ctx: ProgramContext, fields: Sequence[_Wanted], own: Sequence[str], wanted: Sequence[_Wanted]
) -> dict[str, int]:
    """Where each chosen column is in the elements."""
    by_name = any(w.field in own for w in fields) or any(w.field != w.name and not w.time for w in wanted)
    if by_name:
        for w in fields:
            if w.field not in own:
                raise ctx.error(f"the stream has no field '{w.field}'", do=f"its fields are {', '.join(own)}")
        return {w.name: own.index(w.field) for w in fields}
    if len(fields) > len(own):
        raise ctx.error(f"{len(fields)} columns for elements of {len(own)} fields")
    positions = [i for i, w in enumerate(wanted) if not w.time]
    if positions != list(range(len(positions))):  # a time among them stands for a field of its own
        return {w.name: i for i, w in enumerate(fields)}
    return {w.name: i for i, w in zip(positions, fields, strict=True)}


def _arranged(plan: Plan, wanted: Sequence[_Wanted], chosen: dict[str, int]) -> Plan:
    """The columns in the order of the expressions, under their names."""
    names = [f.name for f in plan.fields]
    exprs: list[Rex] = []
    picked: list[Field] = []
    for w in wanted:
        index = chosen[w.name] if not w.time else names.index(w.name)
        field = plan.fields[index]
        # Columns chosen by expressions may be NULL, whatever the stream's type says, as in Flink.
        data_type = field.type if field.time == "proctime" else field.type.nullable()
        exprs.append(InputRef(data_type, index, field.time))
        picked.append(Field(w.name, data_type, field.time))
    return Project(tuple(picked), plan, tuple(exprs))


# -- elements of a declared type -------------------------------------------------------------------------


def typed_stream(stream: DataStream, type_info: Any) -> DataStream:
    """The rows as elements of a type, with the names that the type has."""
    return stream.map(_Renamed(_names(type_info)), type_info)


def flagged_stream(stream: DataStream, type_info: Any) -> DataStream:
    """Changes as (True, row) and (False, row)."""
    return stream.map(_Flagged(_names(type_info)), Types.TUPLE([Types.BOOLEAN(), type_info]))


def _names(type_info: Any) -> list[str] | None:
    return type_info.get_field_names() if isinstance(type_info, RowTypeInfo) else None


class _Renamed:
    """A table's row as a row of another type."""

    def __init__(self, names: list[str] | None) -> None:
        self._names = names

    def __call__(self, row: Row) -> Row:
        made = Row(*row)
        if self._names is not None:
            made.set_field_names(self._names)
        return made


class _Flagged(_Renamed):
    """A change as a pair."""

    def __call__(self, row: Row) -> Any:
        return row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER), super().__call__(row)

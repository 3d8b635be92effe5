"""TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL …)): window table-valued functions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.common.datatypes import DataTypes, DayTimeIntervalType, LocalZonedTimestampType, TimestampType
from penstock.common.near_names import did_you_mean
from penstock.sql.binder.context import BindContext
from penstock.sql.binder.expressions import ExpressionBinder
from penstock.sql.binder.scope import Relation, Scope
from penstock.sql.dialect import nodes
from penstock.sql.plan.algebra import Field, Plan, WindowTvf
from penstock.sql.plan.rex import Const

if TYPE_CHECKING:
    from penstock.sql.binder.relations import RelationBinder

PARAMETERS = {
    "TUMBLE": ("DATA", "TIMECOL", "SIZE", "OFFSET"),
    "HOP": ("DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"),
    "SESSION": ("DATA", "TIMECOL", "GAP"),
}
_REQUIRED = {"TUMBLE": 3, "HOP": 4, "CUMULATE": 4, "SESSION": 3}


def window_fields(time: Field) -> tuple[Field, Field, Field]:
    """window_start, window_end and window_time for a time column."""
    stamp = DataTypes.TIMESTAMP(3, False)
    precision = 3
    ltz = isinstance(time.type, LocalZonedTimestampType)
    moment = DataTypes.TIMESTAMP_LTZ(precision, False) if ltz else DataTypes.TIMESTAMP(precision, False)
    return Field("window_start", stamp), Field("window_end", stamp), Field("window_time", moment, time.time)


def check_sizes(ctx: BindContext, kind: str, size: int, slide: int | None, node: Any) -> None:
    """Sizes must be positive; the size is a multiple of CUMULATE's step and, in streaming, of HOP's slide."""
    if size <= 0 or (slide is not None and slide <= 0):
        raise ctx.error(f"the sizes of {kind} must be positive", node)
    if slide is not None and size % slide and (ctx.streaming or kind != "HOP"):
        names = ("size", "slide") if kind == "HOP" else ("maxSize", "step")
        raise ctx.error(
            f"{kind} requires {names[0]} to be an integral multiple of {names[1]}, "
            f"but got {names[0]} {size} ms and {names[1]} {slide} ms",
            node,
        )


class WindowFunctionBinder:
    """Binds one window table function."""

    def __init__(self, relations: RelationBinder, node: nodes.TableFunction) -> None:
        self._relations = relations
        self._ctx = relations.queries.ctx
        self._node = node
        self._kind = str(node.this).upper()

    def bind(self) -> Plan:
        arguments = self._arguments()
        table = arguments["DATA"]
        plan = self._relations.table_argument(table)
        index = self._time_column(plan, arguments["TIMECOL"])
        sizes = {k: self._millis(v) for k, v in arguments.items() if k not in ("DATA", "TIMECOL")}
        size = sizes.get("SIZE", sizes.get("GAP", 0))
        slide = sizes.get("SLIDE", sizes.get("STEP"))
        if self._kind == "SESSION" and not self._ctx.streaming:
            raise self._ctx.error("session windows are not supported in batch mode", self._node)
        check_sizes(self._ctx, self._kind, size, slide, self._node)
        kept = tuple(replace(f, time="") if i == index else f for i, f in enumerate(plan.fields))
        fields = (*kept, *window_fields(plan.fields[index]))
        partition = self._partition(plan, table)
        kind: Any = self._kind
        return WindowTvf(fields, plan, kind, index, size, slide, sizes.get("OFFSET", 0), partition)

    def _arguments(self) -> dict[str, Any]:
        names = PARAMETERS[self._kind]
        found: dict[str, Any] = {}
        for position, argument in enumerate(self._node.expressions):
            if isinstance(argument, nodes.NamedArgument):
                name = str(argument.this).upper()
                if name not in names:
                    hint = did_you_mean(name, names)
                    raise self._ctx.error(f"{self._kind} has no parameter {name}", argument, do=hint)
                found[name] = argument.expression
            elif position < len(names):
                found[names[position]] = argument
            else:
                raise self._ctx.error(f"{self._kind} has too many arguments", self._node)
        missing = [n for n in names[: _REQUIRED[self._kind]] if n not in found]
        if missing or not isinstance(found.get("DATA"), nodes.TableArgument):
            raise self._ctx.error(
                f"{self._kind} needs {', '.join(missing) or 'a TABLE as its first argument'}",
                self._node,
                do=f"write {self._kind}(TABLE t, DESCRIPTOR(time_column), INTERVAL '1' MINUTE …)",
            )
        return found

    def _time_column(self, plan: Plan, node: Any) -> int:
        if not isinstance(node, nodes.Descriptor) or len(node.expressions) != 1:
            raise self._ctx.error(f"{self._kind} needs DESCRIPTOR(column) as its time column", self._node)
        identifier = node.expressions[0]
        names = [f.name for f in plan.fields]
        if identifier.name not in names:
            hint = did_you_mean(identifier.name, names)
            raise self._ctx.error(f"unknown column '{identifier.name}' in DESCRIPTOR", identifier, do=hint)
        index = names.index(identifier.name)
        column = plan.fields[index]
        if not isinstance(column.type, (TimestampType, LocalZonedTimestampType)):
            raise self._ctx.error(
                f"{self._kind} requires the time column to be TIMESTAMP or TIMESTAMP_LTZ, "
                f"but '{column.name}' is {column.type.as_summary()}",
                identifier,
            )
        if self._ctx.streaming and not column.time:
            raise self._ctx.error(
                f"{self._kind} requires a time attribute, but '{column.name}' is {column.type.as_summary()}",
                identifier,
                do=f"declare WATERMARK FOR {column.name} AS … in the table",
            )
        return index

    def _millis(self, node: Any) -> int:
        binder = ExpressionBinder(self._ctx, Scope(), self._relations.queries, place="a window size")
        rex = binder.bind(node)
        if not isinstance(rex, Const) or not isinstance(rex.type, DayTimeIntervalType):
            raise self._ctx.error(f"the sizes of {self._kind} are day-time interval literals", node)
        return int(rex.value)

    def _partition(self, plan: Plan, table: nodes.TableArgument) -> tuple[int, ...]:
        columns = table.args.get("partition_by") or []
        if columns and self._kind != "SESSION":
            raise self._ctx.error(f"{self._kind} takes no PARTITION BY", table)
        scope = Scope([Relation(None, 0, plan.fields)])
        refs = [scope.resolve(list(c.parts), self._ctx)[0] for c in columns]
        return tuple(r.index for r in refs)  # type: ignore[attr-defined]

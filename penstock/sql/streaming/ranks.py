"""Top-N and deduplication: a filter on ROW_NUMBER.

    SELECT … FROM (SELECT …, ROW_NUMBER() OVER (PARTITION BY p ORDER BY o) AS rn FROM t) WHERE rn <= 3

Ordered by a time attribute with rn = 1 it keeps the first or last row per key; over windows it answers when the
window ends; otherwise it is a Top-N whose rows are replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.common.datatypes import DataTypes
from penstock.common.errors import ValidationError
from penstock.delta.base import Batch, DeltaOperator
from penstock.delta.columnar.top_n import ColumnarDeduplicate, ColumnarTopN
from penstock.delta.columns import can_group, can_order
from penstock.delta.deduplicate import Deduplicate, DeduplicateFirstByTime
from penstock.delta.local.top_n import LocalTopN
from penstock.delta.rank import Rank
from penstock.sql.plan.algebra import Field, Filter, Over, Plan, Project
from penstock.sql.plan.rex import Call, Const, InputRef, OverCall, Rex, conjuncts, transform, walk
from penstock.sql.streaming.aggregates import InputColumns
from penstock.sql.streaming.physical import Stream
from penstock.sql.streaming.sorts import sort_order

if TYPE_CHECKING:
    from penstock.sql.streaming.planner import Planner


class EachChange(Deduplicate):
    """Keeps no change of an epoch to itself: a temporal join needs every version."""

    def process(self, input_index: int, batch: Batch) -> None:
        for row, kind in zip(batch.rows, batch.kinds, strict=True):
            super().process(input_index, Batch([row], [kind]))


_RANKS = ("ROW_NUMBER", "RANK", "DENSE_RANK")
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


@dataclass
class RankFilter:
    """The range of ranks that a filter asks for, and the rest of its condition."""

    start: int
    end: int | None
    end_column: int | None
    rest: list[Rex]


def plan_rank(planner: Planner, plan: Filter) -> Stream | None:
    """The Top-N of a filter, None if it is an ordinary one."""
    found = _rank_below(plan.input)
    if found is None:
        return None
    over, columns = found
    rank_column = len(over.input.fields)
    condition = transform(plan.condition, _through(columns))
    wanted = _range(condition, rank_column)
    if wanted.end is None and wanted.end_column is None:
        return None
    call = over.calls[0]
    if call.name != "ROW_NUMBER":
        raise ValidationError(
            f"{call.name}() on streaming table is not supported currently", do="use ROW_NUMBER()"
        )
    used = planner.wanted.get(id(plan))
    shows_rank = (
        used is None
        or any(_reads(columns[i], rank_column) for i in used)
        or any(_reads(r, rank_column) for r in wanted.rest)
    )
    result = _ranked(planner, over, call, wanted, shows_rank)
    if wanted.rest:
        rest = (
            wanted.rest[0] if len(wanted.rest) == 1 else Call(DataTypes.BOOLEAN(), "AND", tuple(wanted.rest))
        )
        result = result.over(Filter(result.plan.fields, result.plan, rest))
    from penstock.sql.streaming.planner import linear_project

    return linear_project(result, Project(plan.fields, result.plan, tuple(columns)))


def _rank_below(plan: Plan) -> tuple[Over, list[Rex]] | None:
    """The OVER node under projections, and the filter's columns in terms of its output."""
    columns: list[Rex] = [InputRef(f.type, i, f.time) for i, f in enumerate(plan.fields)]
    while isinstance(plan, Project):
        columns = [transform(c, _through(list(plan.exprs))) for c in columns]
        plan = plan.input
    if not isinstance(plan, Over) or len(plan.calls) != 1 or plan.calls[0].name not in _RANKS:
        return None
    return plan, columns


def _through(columns: list[Rex]) -> Callable[[Rex], Rex | None]:
    return lambda rex: columns[rex.index] if isinstance(rex, InputRef) else None


def _reads(rex: Rex, column: int) -> bool:
    return any(isinstance(r, InputRef) and r.index == column for r in walk(rex))


def _range(condition: Rex, rank: int) -> RankFilter:
    wanted = RankFilter(1, None, None, [])
    for item in conjuncts(condition):
        if not _narrow(item, rank, wanted):
            wanted.rest.append(item)
    return wanted


def _narrow(item: Rex, rank: int, wanted: RankFilter) -> bool:
    if not isinstance(item, Call):
        return False
    if item.name == "BETWEEN" and _is_rank(item.args[0], rank):
        low, high = item.args[1], item.args[2]
        return _bound(">=", low, wanted) and _bound("<=", high, wanted)
    if item.name not in _FLIPPED:
        return False
    first, second = item.args
    if _is_rank(first, rank):
        return _bound(item.name, second, wanted)
    if _is_rank(second, rank):
        return _bound(_FLIPPED[item.name], first, wanted)
    return False


def _is_rank(rex: Rex, rank: int) -> bool:
    if isinstance(rex, Call) and rex.name == "CAST":
        return _is_rank(rex.args[0], rank)
    return isinstance(rex, InputRef) and rex.index == rank


def _bound(operator: str, value: Rex, wanted: RankFilter) -> bool:
    while isinstance(value, Call) and value.name == "CAST":
        value = value.args[0]
    if isinstance(value, InputRef) and operator == "<=":
        wanted.end_column = value.index
        return True
    if not isinstance(value, Const) or not isinstance(value.value, int):
        return False
    number = value.value
    if operator in (">", ">=", "="):
        wanted.start = max(wanted.start, number + (operator == ">"))
    if operator in ("<", "<=", "="):
        end = number - (operator == "<")
        wanted.end = end if wanted.end is None else min(wanted.end, end)
    return True


# --- operators --------------------------------------------------------------------------------------------


def _ranked(planner: Planner, over: Over, call: OverCall, wanted: RankFilter, shows_rank: bool) -> Stream:
    """The columns of the OVER node: its input's, then the row number (1 if nobody looks at it)."""
    stream = planner.plan(over.input)
    if not call.order:
        raise ValidationError("ROW_NUMBER() needs ORDER BY", do="add ORDER BY to the OVER clause")
    columns = InputColumns(stream.refs())
    partition = [columns.place(p) for p in call.partition]
    operator, ranked, retracts, name, keys = _operator(
        planner, stream, call, wanted, shows_rank, columns, partition
    )
    wide = columns.of(stream)
    fields = list(wide.fields)
    if ranked:
        fields.append(Field("$rank", DataTypes.BIGINT(False)))
    result = planner.delta(
        name, operator, [wide], fields, local=[_local_top_n(operator, wide, stream.retracts)],
        retracts=retracts, updated_by=name if retracts else "", keys=keys, window=stream.window,
    )  # fmt: skip
    rank: Rex = (
        InputRef(DataTypes.BIGINT(False), len(fields) - 1) if ranked else Const(DataTypes.BIGINT(False), 1)
    )
    exprs = [InputRef(f.type, i, f.time) for i, f in enumerate(stream.fields)]
    kept = frozenset(k for k in keys if all(c < stream.width for c in k))
    return result.project(over.fields, [*exprs, rank], keys=kept)


def _local_top_n(operator: Any, wide: Stream, retracts: bool) -> LocalTopN | None:
    """Leaves out, before the exchange, rows that cannot be in the result; only if rows never go."""
    ranks = isinstance(operator, Rank) or type(operator) is ColumnarTopN
    if not ranks or retracts or not operator.order or (operator.end or 0) < 1:
        return None
    types = [f.type for f in wide.fields]
    partition = operator.key_columns(0)
    if not (can_group([types[i] for i in partition]) and can_order([types[i] for i, _ in operator.order])):
        return None
    assert operator.end is not None
    return LocalTopN(partition, operator.order, operator.end, types)


def _operator(
    planner: Planner,
    stream: Stream,
    call: OverCall,
    wanted: RankFilter,
    shows_rank: bool,
    columns: InputColumns,
    partition: list[int],
) -> tuple[DeltaOperator, bool, bool, str, frozenset[frozenset[int]]]:
    """(operator, whether it appends the rank, whether it retracts, name, upsert keys)."""
    from penstock.sql.streaming.windows import window_rank

    windowed = window_rank(planner, stream, call, wanted, columns, partition)
    if windowed is not None:
        return windowed
    per_key = frozenset({frozenset(partition)})
    time = _time_order(stream, call)
    if time is not None and wanted.start == 1 and wanted.end == 1 and not stream.retracts:
        column, descending = time
        rowtime = column if stream.fields[column].time == "rowtime" else None
        if rowtime is not None and not descending:
            first = DeduplicateFirstByTime(partition, rowtime, state_ttl_ms=planner.state_ttl_ms)
            return first, False, False, "Deduplicate(keep=[FirstRow])", per_key
        operator = _deduplicate(planner, columns.of(stream), partition, descending, rowtime)
        name = f"Deduplicate(keep=[{'LastRow' if descending else 'FirstRow'}])"
        return operator, False, descending, name, per_key
    order = sort_order(call.order, columns)
    if time is not None and stream.fields[time[0]].time == "proctime" and not time[1]:
        order = []
    rank = _rank(planner, columns.of(stream), partition, order, wanted, shows_rank)
    keys = per_key if wanted.start == wanted.end else frozenset()
    return rank, shows_rank, True, f"Rank(rankRange=[{wanted.start}, {wanted.end}])", keys


def _deduplicate(
    planner: Planner, wide: Stream, partition: list[int], keep_last: bool, rowtime: int | None
) -> DeltaOperator:
    types = [f.type for f in wide.fields]
    if not planner.each_change and not planner.state_ttl_ms and can_group([types[i] for i in partition]):
        return ColumnarDeduplicate(types, partition, keep_last=keep_last, rowtime_column=rowtime)
    kind = EachChange if planner.each_change else Deduplicate
    return kind(
        partition, keep_last=keep_last, rowtime_column=rowtime, state_ttl_ms=planner.state_ttl_ms
    )  # fmt: skip


def _rank(
    planner: Planner,
    wide: Stream,
    partition: list[int],
    order: list[tuple[int, bool]],
    wanted: RankFilter,
    shows_rank: bool,
) -> DeltaOperator:
    """On columns if rows only come, and Arrow groups and orders them as SQL does."""
    types = [f.type for f in wide.fields]
    comparable = can_group([types[i] for i in partition]) and can_order([types[i] for i, _ in order])
    growing = not wide.retracts and not planner.state_ttl_ms and wanted.end_column is None
    if comparable and growing and wanted.end is not None and wanted.end >= max(wanted.start, 1):
        return ColumnarTopN(
            types, partition, order, end=wanted.end, start=wanted.start, outputs_rank=shows_rank
        )  # fmt: skip
    return Rank(
        partition,
        order,
        end=wanted.end,
        start=wanted.start,
        end_column=wanted.end_column,
        outputs_rank=shows_rank,
        input_retracts=wide.retracts,
        state_ttl_ms=planner.state_ttl_ms,
    )


def _time_order(stream: Stream, call: OverCall) -> tuple[int, bool] | None:
    """(column, descending) if the order is one time attribute."""
    if len(call.order) != 1 or not isinstance(call.order[0].rex, InputRef):
        return None
    column = call.order[0].rex.index
    return (column, call.order[0].descending) if stream.fields[column].time else None

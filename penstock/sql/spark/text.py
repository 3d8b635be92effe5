"""Plans and expressions as Spark SQL text.

Every relation is a SELECT whose columns are named c0..cN by position, wrapped in parentheses and given a
fresh alias where it is read: `(SELECT t1.c0 AS c0 FROM (…) t1)`. So no name of the user's program can clash
with anything, and a correlated subquery can say `t1.c2` of the query around it. One text is sent to Spark per
query; Catalyst does the rest.

`SparkWriter` is told what is particular to a session: how a table's rows are reached (`relation_of`).
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from penstock.common.datatypes import (
    BigIntType,
    DataType,
    DayTimeIntervalType,
    DoubleType,
    FloatType,
    LocalZonedTimestampType,
    NullType,
    YearMonthIntervalType,
)
from penstock.common.errors import InvariantError, NotSupportedError
from penstock.sql.functions import FUNCTIONS, NO_LITERAL, Arg
from penstock.sql.functions.text import spark_type, string
from penstock.sql.plan.algebra import Aggregate as AggregateNode
from penstock.sql.plan.algebra import (
    Correlate,
    DataFrameScan,
    Filter,
    Join,
    LocalRows,
    MatchRecognize,
    Plan,
    Project,
    Scan,
    SetOp,
    Sort,
    TableFunctionScan,
    TemporalJoin,
    Unnest,
    Values,
    Watermark,
    WindowTvf,
)
from penstock.sql.plan.algebra import Over as OverNode
from penstock.sql.plan.rex import (
    AggCall,
    Call,
    Const,
    Frame,
    InputRef,
    OuterRef,
    OverCall,
    Rex,
    SortKey,
    SubqueryRex,
    TypeRef,
    UdfCall,
)
from penstock.sql.spark.decimal_sums import Summand, Sums
from penstock.sql.spark.grouped_aggregates import together
from penstock.sql.spark.unscaled import unscaled_text
from penstock.sql.spark.windows import window_columns

Columns = list[str]
"""How each input column is written at a place: `t1.c0`, `t2.c0`, …"""

_JOINS = {
    "inner": "INNER JOIN",
    "left": "LEFT JOIN",
    "right": "RIGHT JOIN",
    "full": "FULL JOIN",
    "semi": "LEFT SEMI JOIN",
    "anti": "LEFT ANTI JOIN",
}


class SparkWriter:
    """Renders one query."""

    def __init__(
        self,
        relation_of: Callable[[Scan | LocalRows], str],
        udf_text: Callable[[UdfCall, list[str]], str] | None = None,
    ) -> None:
        self._relation_of = relation_of
        self._udf_text = udf_text
        self._aliases = 0
        self._outer: list[Columns] = []

    def text(self, plan: Plan) -> str:
        """The SELECT of a plan."""
        method = _WRITERS.get(type(plan))
        if method is None:
            raise NotSupportedError(f"{plan.describe()} in batch", "no Spark SQL text was written for it")
        return method(self, plan)

    def _from(self, plan: Plan) -> tuple[str, Columns]:
        """A plan in a FROM clause, and its columns there."""
        self._aliases += 1
        alias = f"t{self._aliases}"
        return f"({self.text(plan)}) {alias}", [f"{alias}.c{i}" for i in range(len(plan.fields))]

    @staticmethod
    def _list(expressions: list[str]) -> str:
        if not expressions:
            return "0 AS c0"
        return ", ".join(f"{e} AS c{i}" for i, e in enumerate(expressions))

    # -- leaves and linear nodes -----------------------------------------------------------------------

    def _scan(self, plan: Scan) -> str:
        return self._relation_of(plan)

    def _data_frame(self, plan: DataFrameScan) -> str:
        return plan.relation

    def _local_rows(self, plan: LocalRows) -> str:
        return self._relation_of(plan)

    def _values(self, plan: Values) -> str:
        if not plan.fields:
            return "SELECT 0 AS c0"
        if not plan.rows:
            nulls = [f"CAST(NULL AS {spark_type(f.type)})" for f in plan.fields]
            return f"SELECT {self._list(nulls)} WHERE false"
        if len(plan.rows) > 1 and all(_is_constant(v) for row in plan.rows for v in row):
            lines = ", ".join(f"({', '.join(self.rex(v, []) for v in row)})" for row in plan.rows)
            names = ", ".join(f"c{i}" for i in range(len(plan.fields)))
            return f"SELECT * FROM VALUES {lines} AS v({names})"
        rows = [f"SELECT {self._list([self.rex(v, []) for v in row])}" for row in plan.rows]
        return " UNION ALL ".join(rows)

    def _project(self, plan: Project) -> str:
        source, columns = self._from(plan.input)
        return f"SELECT {self._list([self.rex(e, columns) for e in plan.exprs])} FROM {source}"

    def _filter(self, plan: Filter) -> str:
        source, columns = self._from(plan.input)
        return f"SELECT {self._list(columns)} FROM {source} WHERE {self.rex(plan.condition, columns)}"

    def _watermark(self, plan: Watermark) -> str:
        return self.text(plan.input)

    def _window_tvf(self, plan: WindowTvf) -> str:
        source, columns = self._from(plan.input)
        time = columns[plan.time_column]
        time_type = plan.input.fields[plan.time_column].type
        if plan.kind == "SESSION":
            raise NotSupportedError("session windows in batch", "Flink refuses them there too")
        self._aliases += 1
        alias = f"w{self._aliases}"
        windows, starts = window_columns(plan, time, time_type, alias)
        extended = [*columns, *starts]
        return (
            f"SELECT {self._list(extended)} FROM {source} LATERAL VIEW explode({windows}) {alias} AS {alias}e "
            f"WHERE {time} IS NOT NULL"
        )

    def _unnest(self, plan: Unnest) -> str:
        from penstock.sql.spark.unnest import unnest_text

        source, columns = self._from(plan.input)
        collection = self.rex(plan.collection, columns)
        self._aliases += 1
        view, added = unnest_text(plan, collection, f"u{self._aliases}")
        return f"SELECT {self._list([*columns, *added])} FROM {source} {view}"

    def _table_function(self, plan: TableFunctionScan) -> str:
        source, columns = self._from(plan.input)
        args = [self.rex(a, columns) for a in plan.args]
        if self._udf_text is None:
            raise NotSupportedError("table functions", "no function runner is attached")
        self._aliases += 1
        alias = f"f{self._aliases}"
        call = self._udf_text(UdfCall(NullType(), plan.name, plan.function, plan.args), args)
        added = [f"{alias}.c{i}" for i in range(len(plan.function_fields))]
        view = f"LATERAL VIEW {'OUTER ' if plan.outer else ''}inline({call}) {alias}"
        return f"SELECT {self._list([*columns, *added])} FROM {source} {view}"

    # -- joins -----------------------------------------------------------------------------------------

    def _join(self, plan: Join) -> str:
        left, left_columns = self._from(plan.left)
        right, right_columns = self._from(plan.right)
        both = [*left_columns, *right_columns]
        shown = left_columns if plan.kind in ("semi", "anti") else both
        if plan.condition is None:
            return f"SELECT {self._list(shown)} FROM {left} CROSS JOIN {right}"
        condition = self.rex(plan.condition, both)
        return f"SELECT {self._list(shown)} FROM {left} {_JOINS[plan.kind]} {right} ON {condition}"

    def _correlate(self, plan: Correlate) -> str:
        left, left_columns = self._from(plan.left)
        self._outer.append(left_columns)
        try:
            right, right_columns = self._from(plan.right)
        finally:
            self._outer.pop()
        both = [*left_columns, *right_columns]
        kind = "LEFT JOIN" if plan.kind == "left" else "INNER JOIN"
        condition = "true" if plan.condition is None else self.rex(plan.condition, both)
        return f"SELECT {self._list(both)} FROM {left} {kind} LATERAL {right} ON {condition}"

    def _temporal(self, plan: TemporalJoin) -> str:
        if plan.processing:
            joined = Join(plan.fields, plan.left, plan.right, plan.kind, plan.condition)
            return self._join(joined)
        raise NotSupportedError(
            "an event-time temporal join in batch",
            "a versioned table has one version there",
            do="use streaming",
        )

    def _match(self, plan: MatchRecognize) -> str:
        raise NotSupportedError("MATCH_RECOGNIZE as Spark SQL", "jobs of the epoch loop look for patterns")

    # -- aggregates, OVER, sets, sorting ---------------------------------------------------------------

    def _aggregate(self, plan: AggregateNode) -> str:
        source, columns = self._from(plan.input)
        keys = [self.rex(k, columns) for k in plan.keys]
        whole = None if plan.grouping_sets is not None or self._udf_text is None else together(plan.calls)
        if whole is not None:
            return self._users_only(plan, whole, source, columns, keys)
        calls = [self._agg_call(c, columns, keys) for c in plan.calls]
        if not keys:
            if plan.grouping_sets is not None:
                return f"SELECT {self._list(calls)} FROM {source} HAVING count(1) > 0"
            return f"SELECT {self._list(calls) if calls else 'count(1) AS c0'} FROM {source}"
        if plan.grouping_sets is None:
            shown, grouped = zip(
                *(_key_texts(k.type, text) for k, text in zip(plan.keys, keys, strict=True)), strict=True
            )
            return f"SELECT {self._list([*shown, *calls])} FROM {source} GROUP BY {', '.join(grouped)}"
        return self._grouping_sets(plan, source, columns)

    def _users_only(
        self, plan: AggregateNode, whole: UdfCall, source: str, columns: Columns, keys: list[str]
    ) -> str:
        """All calls as one function, whose fields are the columns."""
        assert self._udf_text is not None
        call = self._udf_text(whole, [self.rex(a, columns) for a in whole.args])
        grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
        self._aliases += 1
        alias = f"t{self._aliases}"
        inner = f"(SELECT {self._list([*keys, call])} FROM {source}{grouped}) {alias}"
        results = [f"{alias}.c{len(keys)}.c{i}" for i in range(len(plan.calls))]
        if not keys and not all(c.function.pandas for c in plan.calls):
            results = [self._or_empty(c, r) for c, r in zip(plan.calls, results, strict=True)]
        return f"SELECT {self._list([*(f'{alias}.c{i}' for i in range(len(keys))), *results])} FROM {inner}"

    def _or_empty(self, call: AggCall, result: str) -> str:
        """Without keys there is a row even if nothing comes, but Spark does not call the function then.

        (Functions of Series give no row there, as in Flink.)
        """
        assert self._udf_text is not None
        empty = self._udf_text(UdfCall(call.type, call.name, call.function, call.args), ["array()"])
        return f"if(count(1) > 0, any_value({result}), {empty})"

    def _grouping_sets(self, plan: AggregateNode, source: str, columns: Columns) -> str:
        """Keys become columns first, because Spark wants the sets in terms of grouping expressions."""
        assert plan.grouping_sets is not None
        count = len(columns)
        keyed = [*columns, *(self.rex(k, columns) for k in plan.keys)]
        self._aliases += 1
        alias = f"t{self._aliases}"
        inner = f"(SELECT {self._list(keyed)} FROM {source}) {alias}"
        inputs = [f"{alias}.c{i}" for i in range(count)]
        keys = [f"{alias}.c{count + i}" for i in range(len(plan.keys))]
        calls = [self._agg_call(c, inputs, keys) for c in plan.calls]
        sets = ", ".join("(" + ", ".join(keys[i] for i in s) + ")" for s in plan.grouping_sets)
        used = sorted({i for s in plan.grouping_sets for i in s})
        shown = [
            keys[i] if i in used else f"CAST(NULL AS {spark_type(k.type)})" for i, k in enumerate(plan.keys)
        ]
        return (
            f"SELECT {self._list([*shown, *calls])} FROM {inner} GROUP BY GROUPING SETS ({sets}) "
            "HAVING count(1) > 0"
        )

    def _agg_call(self, call: AggCall, columns: Columns, keys: list[str]) -> str:
        if call.name in ("GROUPING", "GROUPING_ID", "GROUP_ID"):
            return self._grouping_call(call, keys)
        if call.function is not None:
            suffix = "" if call.filter is None else f" FILTER (WHERE {self.rex(call.filter, columns)})"
            return self._user_aggregate(call, columns, suffix)
        definition = FUNCTIONS[call.name]
        if definition.spark_aggregate is None:
            raise NotSupportedError(f"aggregate {call.name} in batch", "it has no Spark SQL form")
        args = [self._arg(a, columns) for a in call.args] or [_EVERY_ROW]
        condition = None if call.filter is None else self.rex(call.filter, columns)
        order = ", ".join(self._sort_key(k, columns) for k in call.order) or None
        return definition.spark_aggregate(args, call.type, call.distinct, condition, order)

    def _grouping_call(self, call: AggCall, keys: list[str]) -> str:
        bits = [f"CAST(grouping({keys[a.value]}) AS BIGINT)" for a in call.args if isinstance(a, Const)]
        text = "CAST(0 AS BIGINT)"
        for bit in bits:
            text = f"({text} * 2 + {bit})"
        return text

    def _over(self, plan: OverNode) -> str:
        source, columns = self._from(plan.input)
        calls = [self._over_call(c, columns) for c in plan.calls]
        return f"SELECT {self._list([*columns, *calls])} FROM {source}"

    def _user_aggregate(self, call: AggCall | OverCall, columns: Columns, suffix: str) -> str:
        """A function of the list of the group's rows."""
        if self._udf_text is None:
            raise NotSupportedError("user-defined functions", "no function runner is attached")
        values = [f"'a{i}', {self.rex(a, columns)}" for i, a in enumerate(call.args)] or ["'a0', 0"]
        mark = "DISTINCT " if call.distinct else ""
        rows = f"collect_list({mark}named_struct({', '.join(values)})){suffix}"
        return self._udf_text(UdfCall(call.type, call.name, call.function, call.args), [rows])

    def _over_call(self, call: OverCall, columns: Columns) -> str:
        if call.function is not None:
            return self._user_aggregate(call, columns, f" OVER ({self._window(call, columns)})")
        definition = FUNCTIONS[call.name]
        if definition.spark_over is None:
            raise NotSupportedError(f"{call.name} OVER (…) in batch", "it has no Spark SQL form")
        args = [self._arg(a, columns) for a in call.args]
        if definition.kind == "aggregate" and not args:
            args = [_EVERY_ROW]
        if call.filter is not None:
            args[0] = _only_where(self.rex(call.filter, columns), args[0])
        return definition.spark_over(args, call.type, self._window(call, columns))

    def _window(self, call: OverCall, columns: Columns) -> str:
        parts = []
        if call.partition:
            parts.append("PARTITION BY " + ", ".join(self.rex(p, columns) for p in call.partition))
        if call.order:
            parts.append("ORDER BY " + ", ".join(self._sort_key(k, columns) for k in call.order))
        if call.frame is not None:
            parts.append(self._frame(call.frame, columns))
        return " ".join(parts)

    def _frame(self, frame: Frame, columns: Columns) -> str:
        def bound(side: str, value: Rex | None) -> str:
            if side == "CURRENT ROW":
                return side
            return f"{'UNBOUNDED' if value is None else self.rex(value, columns)} {side}"

        return f"{frame.kind} BETWEEN {bound(*frame.start)} AND {bound(*frame.end)}"

    def _sort_key(self, key: SortKey, columns: Columns) -> str:
        direction = "DESC" if key.descending else "ASC"
        return f"{self.rex(key.rex, columns)} {direction} NULLS {'FIRST' if key.nulls_first else 'LAST'}"

    def _set_op(self, plan: SetOp) -> str:
        left, left_columns = self._from(plan.left)
        right, right_columns = self._from(plan.right)
        kind = plan.kind + (" ALL" if plan.all else "")
        return f"SELECT {self._list(left_columns)} FROM {left} {kind} SELECT {self._list(right_columns)} FROM {right}"

    def _sort(self, plan: Sort) -> str:
        source, columns = self._from(plan.input)
        text = f"SELECT {self._list(columns)} FROM {source}"
        if plan.keys:
            text += " ORDER BY " + ", ".join(self._sort_key(k, columns) for k in plan.keys)
        if plan.fetch is not None:
            text += f" LIMIT {plan.fetch}"
        if plan.offset:
            text += f" OFFSET {plan.offset}"
        return text

    # -- expressions -----------------------------------------------------------------------------------

    def rex(self, rex: Rex, columns: Columns) -> str:
        """An expression over the given columns."""
        if isinstance(rex, InputRef):
            return columns[rex.index]
        if isinstance(rex, OuterRef):
            return self._outer[-rex.depth][rex.index]
        if isinstance(rex, Const):
            return literal(rex.value, rex.type)
        if isinstance(rex, Call):
            args = [self._arg(a, columns) for a in rex.args]
            return FUNCTIONS[rex.name].spark(args, rex.type)
        if isinstance(rex, SubqueryRex):
            return self._subquery(rex, columns)
        if isinstance(rex, UdfCall):
            if self._udf_text is None:
                raise NotSupportedError("user-defined functions", "no function runner is attached")
            return self._udf_text(rex, [self.rex(a, columns) for a in rex.args])
        raise InvariantError(f"no Spark text for {type(rex).__name__}")

    def _arg(self, rex: Rex, columns: Columns) -> Arg:
        if isinstance(rex, TypeRef):
            return Arg("", rex.type)
        if isinstance(rex, Summand):
            return self._summand(rex, columns)
        value = rex.value if isinstance(rex, Const) else NO_LITERAL
        return Arg(self.rex(rex, columns), rex.type, value)

    def _summand(self, rex: Summand, columns: Columns) -> Arg:
        arg = self._arg(rex.value, columns)
        if rex.way is Sums.ONE_BY_ONE:
            return replace(arg, one_by_one=True)
        return replace(arg, unscaled=unscaled_text(rex.value, lambda part: self.rex(part, columns)))

    def _subquery(self, rex: SubqueryRex, columns: Columns) -> str:
        self._outer.append(columns)
        try:
            text = self.text(rex.plan)
        finally:
            self._outer.pop()
        if rex.kind == "scalar":
            return f"({text})"
        negation = "NOT " if rex.negated else ""
        if rex.kind == "exists":
            return f"({negation}EXISTS ({text}))"
        left = ", ".join(self.rex(item, columns) for item in rex.left)
        left = f"({left})" if len(rex.left) > 1 else left
        return f"({left} {negation}IN ({text}))"


_EVERY_ROW = Arg("*", BigIntType(False))
"""The argument of COUNT(*)."""


def _key_texts(data_type: DataType, key: str) -> tuple[str, str]:
    """How a grouping key is shown and what is grouped by: for Flink 0.0 and -0.0 are two groups, for Spark one."""
    if not isinstance(data_type, (FloatType, DoubleType)):
        return key, key
    negative = f"({key} = 0 AND CAST({key} AS STRING) = '-0.0')"
    return f"if({negative}, CAST('-0.0' AS {spark_type(data_type)}), {key})", f"{key}, {negative}"


def _is_constant(rex: Rex) -> bool:
    """Whether Spark takes the expression in an inline table, which is planned without a job."""
    return isinstance(rex, Const) and not isinstance(rex.type, NullType)


def _only_where(condition: str, arg: Arg) -> Arg:
    """FILTER inside OVER: a value where the condition holds, NULL elsewhere."""
    value = "1" if arg.sql == "*" else arg.sql
    text = f"CASE WHEN {condition} THEN {value} END"
    return Arg(text, arg.type.nullable(), one_by_one=arg.one_by_one)


def literal(value: Any, data_type: DataType) -> str:
    """A constant as Spark SQL text."""
    if value is None:
        return "NULL" if isinstance(data_type, NullType) else f"CAST(NULL AS {spark_type(data_type)})"
    if isinstance(data_type, DayTimeIntervalType):
        return day_time_interval(int(value))
    if isinstance(data_type, YearMonthIntervalType):
        return f"INTERVAL '{int(value)}' MONTH"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return string(value)
    if isinstance(value, (bytes, bytearray)):
        return f"X'{bytes(value).hex()}'"
    if isinstance(value, dt.datetime):
        kind = "TIMESTAMP" if isinstance(data_type, LocalZonedTimestampType) else "TIMESTAMP_NTZ"
        return f"{kind} '{value.isoformat(sep=' ')}'"
    if isinstance(value, dt.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, dt.time):
        return f"TIME '{value.isoformat(timespec='microseconds')}'"
    return _number(value, data_type)


def _number(value: Any, data_type: DataType) -> str:
    if isinstance(value, float):
        if math.isnan(value) or math.isinf(value):
            return f"CAST('{value}' AS {spark_type(data_type)})"
        return (
            f"{value!r}D"
            if spark_type(data_type) == "DOUBLE"
            else f"CAST({value!r} AS {spark_type(data_type)})"
        )
    if isinstance(value, decimal.Decimal):
        return f"CAST('{value:f}' AS {spark_type(data_type)})"
    suffix = {"BIGINT": "L", "TINYINT": "Y", "SMALLINT": "S", "INT": ""}.get(spark_type(data_type))
    if suffix is None or value in (-(2**63), -(2**31)):
        return f"CAST('{value}' AS {spark_type(data_type)})"
    return f"{value}{suffix}" if value >= 0 else f"({value}{suffix})"


def day_time_interval(millis: int) -> str:
    """INTERVAL '…' DAY TO SECOND of a number of milliseconds."""
    sign = "-" if millis < 0 else ""
    seconds, rest = divmod(abs(millis), 1000)
    days, seconds = divmod(seconds, 86_400)
    hours, seconds = divmod(seconds, 3_600)
    minutes, seconds = divmod(seconds, 60)
    return f"INTERVAL '{sign}{days} {hours:02}:{minutes:02}:{seconds:02}.{rest:03}' DAY TO SECOND"


_W = SparkWriter
_WRITERS: dict[type, Callable[[SparkWriter, Any], str]] = {
    Scan: _W._scan,
    DataFrameScan: _W._data_frame,
    Values: _W._values,
    LocalRows: _W._local_rows,
    Project: _W._project,
    Filter: _W._filter,
    Watermark: _W._watermark,
    WindowTvf: _W._window_tvf,
    Unnest: _W._unnest,
    TableFunctionScan: _W._table_function,
    Join: _W._join,
    Correlate: _W._correlate,
    TemporalJoin: _W._temporal,
    MatchRecognize: _W._match,
    AggregateNode: _W._aggregate,
    OverNode: _W._over,
    SetOp: _W._set_op,
    Sort: _W._sort,
}

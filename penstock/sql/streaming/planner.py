"""From the algebra to the physical plan: linear nodes stay algebra, stateful ones become delta operators.

`Planner.plan(node)` gives a `Stream`; `_PLANNERS` says how for each kind of node. A linear node only wraps the
stream's algebra, so that neighbours end up in one Spark SQL text; a stateful one computes the columns it needs in
that text, becomes a `DeltaNode`, and starts a new text over the node's view.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.common.config_values import parse_duration
from penstock.common.datatypes import DayTimeIntervalType
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.connectors.registry import find_connector
from penstock.delta.base import DeltaOperator
from penstock.delta.local.base import LocalStage
from penstock.runtime.tables.detail import Detail
from penstock.sql.functions.enforcing import CHECK_LENGTH, NOT_NULL
from penstock.sql.plan.algebra import (
    Aggregate,
    Correlate,
    DataFrameScan,
    Field,
    Filter,
    Join,
    LocalRows,
    MatchRecognize,
    Over,
    Plan,
    Project,
    Scan,
    SetOp,
    Sort,
    StreamScan,
    TableFunctionScan,
    TemporalJoin,
    Unnest,
    Values,
    Watermark,
    WindowTvf,
    readers,
)
from penstock.sql.plan.optimizer import optimize
from penstock.sql.plan.required_columns import required_columns
from penstock.sql.plan.rex import Call, Const, InputRef, Rex, UdfCall, transform, walk
from penstock.sql.streaming.advice import STRATEGY, check_updates
from penstock.sql.streaming.epoch_time import with_epoch_time
from penstock.sql.streaming.node_identity import identity_of, slug_of
from penstock.sql.streaming.physical import (
    HIDDEN,
    DeltaNode,
    OperatorEdit,
    PhysicalNode,
    ScanNode,
    Stream,
    StreamNode,
    ValuesNode,
    WatermarkNode,
    WatermarkText,
    hidden_refs,
    view_of,
)
from penstock.sql.streaming.upserts import normalized
from penstock.sql.streaming.values import EMPTY

AGG_PHASE_STRATEGY = "table.optimizer.agg-phase-strategy"
DISTINCT_BUCKETS = "table.optimizer.distinct-agg.split.bucket-num"
REUSE_SUB_PLANS = "table.optimizer.reuse-sub-plan-enabled"
AUTO_WATERMARK_INTERVAL = "pipeline.auto-watermark-interval"


@dataclass
class Planner:
    """Plans one query. `nodes` are the physical nodes so far, inputs before their users."""

    config: Mapping[str, str]
    nodes: list[PhysicalNode] = field(default_factory=list)
    needed: dict[int, set[int]] = field(default_factory=dict)
    wanted: dict[int, set[int]] = field(default_factory=dict)
    """Which columns of a filter's output a projection above it reads."""
    readers: Counter[int] = field(default_factory=Counter)
    """How many nodes of the queries read a node, by its id."""
    _planned: dict[Any, tuple[Plan, Stream]] = field(default_factory=dict)
    fired: tuple[str, ...] = ()
    """The optimizer's rules that changed the queries."""
    warnings: list[str] = field(default_factory=list)
    """What the author of the queries should know before they run."""
    prefix: str = ""
    """Before the uids of all nodes: tells the queries of a program that end up in one job apart."""
    one_epoch: bool = False
    """The job is of BATCH mode: all input is one epoch, so what it leaves is final and can be sorted."""
    edits: Mapping[int, OperatorEdit] = field(default_factory=dict)
    """By position among the nodes: what a compiled plan says about an operator."""
    conditions: dict[int, Rex] = field(default_factory=dict)
    """By the id of a table of upserts: which rows of it are wanted (`upserts.py`)."""
    each_change: bool = False
    """Versions are wanted: a key's changes within an epoch must not be summed up."""

    def query(self, plan: Plan) -> Stream:
        """The stream of a whole query."""
        return self.queries([plan])[0]

    def queries(self, plans: Sequence[Plan]) -> list[Stream]:
        """The streams of several queries of one job; what they have in common is planned once."""
        made = optimize([with_epoch_time(plan) for plan in plans], "streaming", self._left_out())
        plans, self.fired = made.plans, made.fired
        for plan in plans:
            for scan, columns in required_columns(plan).items():
                self.needed.setdefault(scan, set()).update(columns)
        self.readers.update(readers(plans))
        streams = [self.plan(plan) for plan in plans]
        check_updates(self.config.get(STRATEGY, "IGNORE"), self.nodes, streams)
        return streams

    def _left_out(self) -> list[str]:
        """Rules that the configuration switches off."""
        reuses = self.config.get(REUSE_SUB_PLANS, "true").lower() == "true"
        return [] if reuses else ["share_plans"]

    def plan(self, plan: Plan) -> Stream:
        method = _PLANNERS.get(type(plan))
        if method is None:
            raise NotSupportedError(f"{plan.describe()} in streaming mode", "it has no incremental form yet")
        wanted = self.wanted.get(id(plan))
        how = (id(plan), None if wanted is None else frozenset(wanted), self.each_change)
        if how not in self._planned:
            self._planned[how] = plan, method(self, plan)
        return self._planned[how][1]

    # -- nodes -----------------------------------------------------------------------------------------

    @property
    def parallelism(self) -> int:
        return int(self.config.get("parallelism.default", "1"))

    @property
    def state_ttl_ms(self) -> int:
        return self.ttl_ms(None)

    @property
    def configured_ttl_ms(self) -> int:
        """How long operators remember if nobody says otherwise; what is edited for one operator is not in it."""
        return parse_duration(self.config.get("table.exec.state.ttl", "0 ms")).to_millis()

    def ttl_ms(self, hinted: int | None, state: int = 0) -> int:
        """How long the next operator remembers: what was edited, what its STATE_TTL hint says, or the configuration.

        To be asked when the operator's inputs have been planned; `state` is the number of the input.
        """
        edited = self.edits.get(len(self.nodes), OperatorEdit()).ttl_ms
        if state < len(edited):
            return edited[state]
        return self.configured_ttl_ms if hinted is None else hinted

    @property
    def agg_phase_strategy(self) -> str:
        """AUTO pre-aggregates where the result is exactly the same, TWO_PHASE also sums of floats."""
        return self.config.get(AGG_PHASE_STRATEGY, "AUTO").upper()

    @property
    def distinct_buckets(self) -> int:
        """Into how many parts groups with DISTINCT are split; 0 if they are not."""
        if self.config.get("table.optimizer.distinct-agg.split.enabled", "false").lower() != "true":
            return 0
        number = self.config.get(DISTINCT_BUCKETS, "1024")
        if not number.isdecimal() or int(number) == 0:
            raise ValidationError(
                f"invalid value '{number}' for option '{DISTINCT_BUCKETS}': expected at least 1"
            )
        return int(number)

    @property
    def zone(self) -> str:
        zone = self.config.get("table.local-time-zone", "default")
        return "UTC" if zone == "default" else zone

    def add(self, node: PhysicalNode) -> Stream:
        """Registers a node; its output as a stream."""
        edit = self.edits.get(len(self.nodes), OperatorEdit())
        slug = "".join(c if c.isalnum() else "-" for c in node.name.lower())[:40]
        node.label = f"{self.prefix}{len(self.nodes)}-{slug}"
        node.identity = identity_of(node)
        node.uid = edit.uid or self._uid(node)
        node.parallelism = edit.parallelism or node.parallelism
        node.view = f"penstock_node_{uuid.uuid4().hex}"
        self.nodes.append(node)
        return Stream(view_of(node), (node,))

    def _uid(self, node: PhysicalNode) -> str:
        """Of what it computes, so that its state is found again when other parts of the query have changed."""
        uid = f"{self.prefix}{slug_of(node)}-{node.identity.digest[:12]}"
        same = sum(1 for other in self.nodes if other.identity.digest == node.identity.digest)
        return f"{uid}-{same + 1}" if same else uid

    def delta(
        self,
        name: str,
        operator: DeltaOperator,
        inputs: Sequence[Stream],
        fields: Sequence[Field],
        local: Sequence[LocalStage | None] = (),
        detail: str = "",
        **properties: Any,
    ) -> Stream:
        """A stateful operator over streams; `local` is what happens to each input before the exchange."""
        node = DeltaNode(name, tuple(fields), tuple(inputs), operator=operator, local=tuple(local))
        node.parallelism = self.parallelism if node.is_keyed else 1
        node.retracts = properties.get("retracts", False)
        node.keys = properties.get("keys", frozenset())
        node.detail = detail
        # Which input's rows of an epoch come first is chance; what they come to together is not.
        if node.retracts and not self.one_epoch and len(inputs) == 1:
            node.detail_of_changes = Detail.of(self.config)
        return replace(self.add(node), **properties)

    # -- leaves ----------------------------------------------------------------------------------------

    def _scan(self, plan: Scan) -> Stream:
        path = plan.identifier.as_summary_string()
        connector = find_connector(plan.table.options, path)
        connector.validate(plan.table, "source")
        stored = [c.name for c in plan.table.schema.columns if c.is_physical]
        needed = self.needed.get(id(plan))
        if needed is not None and (self.may_repeat or connector.emits_upserts):  # put right by the key
            needed = needed.union(*self._primary_key(plan))
        columns = tuple(n for i, n in enumerate(stored) if needed is None or i in needed)
        node = ScanNode(
            plan.describe(),
            tuple(replace(f, type=_read_type(plan, connector, i)) for i, f in enumerate(plan.fields)),
            scan=plan,
            connector=connector,
            columns=columns,
        )
        node.parallelism = self.parallelism
        stream = self.add(node)
        exprs = [_metadata_cast(f, read) for f, read in zip(plan.fields, stream.refs(), strict=True)]
        if exprs != stream.refs():
            stream = stream.project(plan.fields, exprs)
        if connector.changelog_mode(plan.table) == "insert-only":
            return replace(stream, keys=self._primary_key(plan))
        stream = replace(stream, retracts=True, updated_by=plan.describe())
        return self._changelog(plan, stream, upserts=connector.emits_upserts)

    def _stream_scan(self, plan: StreamScan) -> Stream:
        node = StreamNode(plan.describe(), plan.fields, make=plan.stream.make)
        node.parallelism = plan.stream.parallelism or self.parallelism
        stream = self.add(node)
        keys = frozenset({frozenset(plan.stream.key)}) if plan.stream.key else frozenset()
        if not plan.stream.changelog:
            return replace(stream, keys=keys)
        stream = replace(stream, retracts=True, keys=keys, updated_by=plan.describe())
        return normalized(self, plan, stream, plan.stream.key) if plan.stream.upserts else stream

    def _changelog(self, plan: Scan, stream: Stream, upserts: bool) -> Stream:
        """Changes of a source; upserts, and repeated ones if the configuration says there are, are put right."""
        keys = self._primary_key(plan)
        columns = next(iter(keys), frozenset())
        if self.may_repeat or upserts:
            if not columns:
                raise ValidationError(
                    f"table '{plan.identifier.as_summary_string()}' may have duplicate events but no primary key",
                    do="declare a PRIMARY KEY, or unset table.exec.source.cdc-events-duplicate",
                )
            return normalized(self, plan, replace(stream, keys=keys), columns)
        return replace(stream, keys=keys)

    @property
    def may_repeat(self) -> bool:
        return self.config.get("table.exec.source.cdc-events-duplicate", "false").lower() == "true"

    def _primary_key(self, plan: Scan) -> frozenset[frozenset[int]]:
        key = plan.table.primary_key
        names = [f.name for f in plan.fields]
        return frozenset({frozenset(names.index(n) for n in key)}) if key else frozenset()

    def _values(self, plan: Values) -> Stream:
        if not plan.fields:
            stream = self.add(ValuesNode("Values", (EMPTY,), values=plan))
            return stream.project((), ())
        return self.add(ValuesNode("Values", plan.fields, values=plan))

    def _local_rows(self, plan: LocalRows) -> Stream:
        return self.add(ValuesNode(plan.describe(), plan.fields, local=plan.data))

    def _data_frame(self, plan: DataFrameScan) -> Stream:
        raise NotSupportedError("a Spark relation in streaming mode", "only tables of connectors stream")

    # -- linear nodes ----------------------------------------------------------------------------------

    def _project(self, plan: Project) -> Stream:
        from penstock.sql.streaming.subqueries import plan_project

        return plan_project(self, plan)

    def _filter(self, plan: Filter) -> Stream:
        from penstock.sql.streaming.subqueries import plan_filter

        return plan_filter(self, plan)

    def _watermark(self, plan: Watermark) -> Stream:
        self._need_watermark(plan)
        stream = self.plan(plan.input)
        if isinstance(plan.expression, Call) and plan.expression.name == "SOURCE_WATERMARK":
            if _is_stream(plan.input):  # its rows carry the stream's own watermarks
                return stream.project(plan.fields, stream.refs(), keys=stream.keys)
            raise NotSupportedError("SOURCE_WATERMARK()", "no connector here makes watermarks itself")
        interval = parse_duration(self.config.get(AUTO_WATERMARK_INTERVAL, "200 ms")).to_millis()
        node = WatermarkNode(
            plan.describe(), plan.fields, (stream,), interval_ms=interval, time_column=plan.column
        )
        node.delay_ms = _delay(plan)
        if node.delay_ms is None:
            time = InputRef(plan.fields[plan.column].type, plan.column)
            extra = [time, plan.expression]
            fields = (*stream.fields, *(Field(f"${i}", e.type) for i, e in enumerate(extra)))
            node.inputs = (stream.project(fields, [*stream.refs(), *extra]),)
        self._by_split(node, stream)
        read = [n.parallelism for n in stream.nodes if isinstance(n, ScanNode)]
        node.parallelism = max(read, default=self.parallelism)  # rows stay with the task that read them
        return replace(
            self.add(node), retracts=stream.retracts, keys=stream.keys, updated_by=stream.updated_by
        )

    def _by_split(self, node: WatermarkNode, stream: Stream) -> None:
        """Rows that come right from partitions of a queue: each partition has a watermark of its own."""
        for scan in stream.nodes if len(stream.nodes) == 1 else ():
            if isinstance(scan, ScanNode) and scan.connector and scan.connector.watermarks_by_split:
                given = scan.connector.raw_options.get("scan.watermark.idle-timeout")
                text = given or self.config.get("table.exec.source.idle-timeout", "0 ms")
                node.by_split = scan.tags_splits = True
                node.idle_ms = parse_duration(text).to_millis() or None

    def _need_watermark(self, plan: Watermark) -> None:
        """The row time is read even if no one selects it."""
        project = plan.input
        if not isinstance(project, Project) or not isinstance(project.input, Scan):
            return
        used = {plan.column, *(r.index for r in walk(plan.expression) if isinstance(r, InputRef))}
        needed = self.needed.setdefault(id(project.input), set())
        for index in used:
            needed.update(r.index for r in walk(project.exprs[index]) if isinstance(r, InputRef))

    def _unnest(self, plan: Unnest | TableFunctionScan) -> Stream:
        stream = self.plan(plan.input)
        width, added = stream.width, len(plan.fields) - len(plan.input.fields)
        inner = replace(plan, input=stream.plan, fields=(*stream.plan.fields, *plan.fields[width:]))
        return hidden_last(stream, inner, plan.fields, width, added)

    def _window_tvf(self, plan: WindowTvf) -> Stream:
        from penstock.sql.streaming.windows import plan_window_tvf

        return plan_window_tvf(self, plan)

    def _set_op(self, plan: SetOp) -> Stream:
        from penstock.sql.streaming.set_ops import plan_set_op

        return plan_set_op(self, plan)

    # -- stateful nodes --------------------------------------------------------------------------------

    def _aggregate(self, plan: Aggregate) -> Stream:
        from penstock.sql.streaming.aggregates import plan_aggregate

        return plan_aggregate(self, plan)

    def _join(self, plan: Join) -> Stream:
        from penstock.sql.streaming.joins import plan_join

        return plan_join(self, plan)

    def _correlate(self, plan: Correlate) -> Stream:
        from penstock.sql.streaming.subqueries import plan_correlate

        return plan_correlate(self, plan)

    def _temporal_join(self, plan: TemporalJoin) -> Stream:
        from penstock.sql.streaming.temporal import plan_temporal_join

        return plan_temporal_join(self, plan)

    def _over(self, plan: Over) -> Stream:
        from penstock.sql.streaming.overs import plan_over

        return plan_over(self, plan)

    def _sort(self, plan: Sort) -> Stream:
        from penstock.sql.streaming.sorts import plan_sort

        return plan_sort(self, plan)

    def _match(self, plan: MatchRecognize) -> Stream:
        from penstock.sql.streaming.matches import plan_match

        return plan_match(self, plan)


def _is_stream(plan: Plan) -> bool:
    return isinstance(plan, StreamScan) or (isinstance(plan, Project) and _is_stream(plan.input))


def _delay(plan: Watermark) -> int | None:
    """How far the watermark lags behind the row time, where the expression says just that."""
    rex = plan.expression
    if isinstance(rex, InputRef) and rex.index == plan.column:
        return 0
    if isinstance(rex, Call) and rex.name == "-" and len(rex.args) == 2:
        time, delay = rex.args
        if not isinstance(time, InputRef) or time.index != plan.column or not isinstance(delay, Const):
            return None
        if isinstance(delay.type, DayTimeIntervalType) and delay.value is not None:
            return int(delay.value)
    return None


def hidden_last(stream: Stream, inner: Plan, fields: Sequence[Field], width: int, added: int) -> Stream:
    """A node that appends columns behind the hidden ones: puts the hidden ones last again."""
    first = [InputRef(f.type, i, f.time) for i, f in enumerate(fields[:width])]
    last = [
        InputRef(f.type, width + len(HIDDEN) + i, f.time) for i, f in enumerate(fields[width : width + added])
    ]
    plan = Project((*fields, *HIDDEN), inner, (*first, *last, *hidden_refs(width)))
    return stream.over(plan, keys=frozenset(), window=stream.window)


def linear_project(stream: Stream, plan: Project) -> Stream:
    """Columns of a projection; keys and windows follow the columns that are kept as they are."""
    places: dict[int, int] = {}
    checked: dict[int, int] = {}
    for at, rex in enumerate(plan.exprs):
        if isinstance(rex, InputRef):
            places.setdefault(rex.index, at)
        kept = _without_checks(rex)
        if isinstance(kept, InputRef):
            checked.setdefault(kept.index, at)
    keys = frozenset(
        frozenset(checked[c] for c in key) for key in stream.keys if all(c in checked for c in key)
    )
    window = stream.window.through(places) if stream.window is not None else None
    exprs = [with_watermark(e, stream) for e in plan.exprs]
    fields = [_timed(f, e, stream) for f, e in zip(plan.fields, plan.exprs, strict=True)]
    return stream.project(fields, exprs, keys=keys, window=window)


def _without_checks(rex: Rex) -> Rex:
    """What a constraint of the sink lets pass as it is, or fails on."""
    while isinstance(rex, Call) and rex.name in (NOT_NULL, CHECK_LENGTH):
        rex = rex.args[0]
    return rex


def _timed(field_: Field, rex: Rex, stream: Stream) -> Field:
    """The row time is no attribute any more once an operator below has given up its order."""
    if field_.time and isinstance(rex, InputRef) and not stream.fields[rex.index].time:
        return replace(field_, time="")
    return field_


def with_watermark(rex: Rex, stream: Stream) -> Rex:
    """CURRENT_WATERMARK(rowtime) reads the hidden column, which is the watermark before the row."""
    hidden = InputRef(HIDDEN[1].type, stream.width + 1)

    def change(part: Rex) -> Rex | None:
        if isinstance(part, Call) and part.name == "CURRENT_WATERMARK":
            return UdfCall(part.type, part.name, WatermarkText(part.type), (hidden,))
        return None

    return transform(rex, change)


def _read_type(plan: Scan, connector: Any, index: int) -> Any:
    stored = sum(1 for c in plan.table.schema.columns if c.is_physical)
    if index < stored:
        return plan.fields[index].type
    column = plan.table.requested_metadata[index - stored]
    return connector.metadata_columns[column.metadata_key or column.name]


def _metadata_cast(field_: Field, read: Rex) -> Rex:
    if field_.type.nullable() == read.type.nullable():
        return InputRef(field_.type, read.index) if isinstance(read, InputRef) else read
    from penstock.sql.binder.coercion import cast_rex

    return cast_rex(read, field_.type)


_P = Planner
_PLANNERS: dict[type, Callable[[Planner, Any], Stream]] = {
    Scan: _P._scan,
    StreamScan: _P._stream_scan,
    DataFrameScan: _P._data_frame,
    Values: _P._values,
    LocalRows: _P._local_rows,
    Project: _P._project,
    Filter: _P._filter,
    Watermark: _P._watermark,
    Unnest: _P._unnest,
    TableFunctionScan: _P._unnest,
    WindowTvf: _P._window_tvf,
    SetOp: _P._set_op,
    Aggregate: _P._aggregate,
    Join: _P._join,
    Correlate: _P._correlate,
    TemporalJoin: _P._temporal_join,
    Over: _P._over,
    Sort: _P._sort,
    MatchRecognize: _P._match,
}

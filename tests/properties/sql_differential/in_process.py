"""Runs a program's physical plan without Spark: the delta operators for real, what is linear by `linear.py`.

Everything is drawn by the test: where the epochs are cut, how many subtasks there are, and before which epochs all
subtasks are thrown away and restored from their committed state.
"""

from __future__ import annotations

import pathlib
import pickle
from typing import Any

import pyarrow as pa

from penstock.common.codecs import compile_codec
from penstock.common.ids import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.key_groups import subtask_for_key
from penstock.delta.base import Batch
from penstock.delta.columnar.base import ColumnarOperator
from penstock.delta.local.base import LocalStage
from penstock.sql.connectors.spark_types import arrow_type
from penstock.sql.dialect.statement_parser import parse_query
from penstock.sql.streaming.physical import DeltaNode, PhysicalNode, ScanNode, Stream, WatermarkNode
from penstock.sql.streaming.planner import Planner
from penstock.table import EnvironmentSettings, TableEnvironment
from tests.delta.arrow_rows import ByRows, batch_of, table_of
from tests.delta.harness import Harness
from tests.properties.sql_differential.cases import Case
from tests.properties.sql_differential.linear import Row, rows_of

NOWHERE = pathlib.Path("/nowhere")
KINDS = range(4)
MAX_PARALLELISM = 128


def run_in_process(case: Case) -> list[tuple[int, Row]]:
    """The changelog of the program's result, as (kind, row)."""
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, setting in case.settings().items():
        env.get_config().set(key, setting)
    for table in case.tables:
        env.execute_sql(table.ddl(NOWHERE / table.name))
    session: Any = env._session
    text = case.program.query.flink
    planner = Planner(session.config)
    stream = planner.query(session.bind(parse_query(text), text))
    return _Run(case, planner.nodes, stream).changes()


class _Run:
    def __init__(self, case: Case, nodes: list[PhysicalNode], output: Stream) -> None:
        self._case = case
        self._nodes = nodes
        self._output = output
        self._changelogs = {t.name: t.changelog() for t in case.tables}
        self._subtasks = {n.uid: _subtasks(n) for n in nodes if isinstance(n, DeltaNode)}

    def changes(self) -> list[tuple[int, Row]]:
        found: list[tuple[int, Row]] = []
        most = max(len(log) for log in self._changelogs.values())
        size = self._case.epoch_size or max(most, 1)
        count = max(-(-most // size), 1)
        for epoch in range(count):
            if epoch in self._case.restores:
                for harness in (h for subtasks in self._subtasks.values() for h in subtasks):
                    harness.restart()
            found += self._epoch(epoch * size, size, epoch == count - 1)
        return found

    def _epoch(self, start: int, size: int, last: bool) -> list[tuple[int, Row]]:
        views: dict[str, list[Row]] = {}
        for node in self._nodes:
            if isinstance(node, ScanNode):
                views[node.view] = self._scan(node, start, size)
            elif isinstance(node, WatermarkNode):
                width = len(node.fields)
                rows = rows_of(node.inputs[0].plan, views)
                views[node.view] = [(*row[:width], *row[-3:]) for row in rows]
            else:
                assert isinstance(node, DeltaNode), f"no epoch of {node.name}"
                views[node.view] = self._delta(node, views, MAX_WATERMARK if last else None)
        return [(row[-3], row[:-3]) for row in rows_of(self._output.plan, views)]

    def _scan(self, node: ScanNode, start: int, size: int) -> list[Row]:
        """Columns that nobody reads are NULL: a plan that reads them after all is found out."""
        assert node.scan is not None
        table = next(t for t in self._case.tables if t.name == node.scan.identifier.object_name)
        read = [c.name in node.columns for c in table.columns]
        log = self._changelogs[table.name][start : start + size]
        return [
            (*(v if r else None for v, r in zip(row, read, strict=True)), kind, MIN_WATERMARK, start + i)
            for i, (kind, row) in enumerate(log)
        ]

    def _delta(self, node: DeltaNode, views: dict[str, list[Row]], watermark: int | None) -> list[Row]:
        assert node.operator is not None
        subtasks = self._subtasks[node.uid]
        inputs: list[list[list[tuple[Row, int]]]] = [[[] for _ in node.inputs] for _ in subtasks]
        for index, stream in enumerate(node.inputs):
            keys = node.operator.key_columns(index)
            local = node.local[index] if node.local else None
            found = rows_of(stream.plan, views)
            for row in found if local is None or not found else _through(local, found, stream):
                owner = _owner(tuple(row[k] for k in keys), len(subtasks))
                inputs[owner][index].append((row[:-3], row[-3]))
        made: list[Row] = []
        for harness, mine in zip(subtasks, inputs, strict=True):
            output = harness.epoch(*mine, watermark=watermark)
            made += [(*row, kind, MIN_WATERMARK, 0) for row, kind in output]
        return made


def _through(local: LocalStage, rows: list[Row], stream: Stream) -> list[Row]:
    """What a local stage makes of the rows, as if two tasks had them."""
    types = [arrow_type(f.type) for f in stream.fields]
    middle = len(rows) // 2
    parts = [
        local(table_of(Batch([r[:-3] for r in part], [r[-3] for r in part]), types))
        for part in (rows[:middle], rows[middle:])
        if part
    ]
    made = batch_of(local.combine(pa.concat_tables(parts)))
    return [(*row, kind, MIN_WATERMARK, 0) for row, kind in zip(made.rows, made.kinds, strict=True)]


def _subtasks(node: DeltaNode) -> list[Harness]:
    frozen = pickle.dumps(node.operator)
    types = [[arrow_type(f.type) for f in stream.fields] for stream in node.inputs]

    def thawed() -> Any:
        operator = pickle.loads(frozen)
        return ByRows(operator, *types) if isinstance(operator, ColumnarOperator) else operator

    return [Harness(thawed) for _ in range(node.parallelism)]


def _owner(key: Row, parallelism: int) -> int:
    encoded = compile_codec(None).encode_key(key)
    return int(subtask_for_key(encoded, MAX_PARALLELISM, parallelism))

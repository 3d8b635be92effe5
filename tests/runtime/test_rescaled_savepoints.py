"""A savepoint taken at parallelism 2 goes on at 1, 3 and 5, from another folder, with the results of one run."""

from __future__ import annotations

import pathlib
import shutil
from collections import Counter
from typing import Any

import pytest

from penstock.common import Time, Types, WatermarkStrategy
from penstock.connectors.collect import CollectSink
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.datastream.window import SlidingEventTimeWindows
from penstock.graph.transformations import SinkTransformation
from penstock.sql.streaming import jobs
from penstock.table import EnvironmentSettings, TableEnvironment
from penstock.testing import PAUSE
from tests.connectors.scripted import in_this_process, play
from tests.runtime.in_process import StopAt, start
from tests.runtime.test_savepoints import CountElements, Number

NUMBERS = 600
TYPE = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])


class Remember(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.last = runtime_context.get_list_state(ListStateDescriptor("last", Types.LONG()))
        self.tens = runtime_context.get_map_state(MapStateDescriptor("tens", Types.LONG(), Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        self.last.add(value)
        self.tens.put(value % 10, value)
        if value % 7 == 0:
            ctx.timer_service().register_event_time_timer(value + 40)
        yield "element", value, self.count.value() * 1_000_000 + sum(self.tens.values())

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield "timer", timestamp, sum(self.last.get()[-2:])


def program(parallelism: int, settings: dict[str, str], stop: Any = None) -> tuple[Any, CollectSink]:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Number())
    source = env.from_sequence(0, NUMBERS - 1).set_parallelism(1).uid("source")
    stream = source.assign_timestamps_and_watermarks(strategy).set_parallelism(1).uid("times")
    keyed = stream.key_by(lambda v: v % 13, key_type=Types.LONG())
    first = keyed.process(Remember(), TYPE).set_parallelism(parallelism).uid("remember")
    windows = keyed.window(SlidingEventTimeWindows.of(Time.milliseconds(50), Time.milliseconds(20)))
    counts = (
        windows.aggregate(CountElements(), output_type=Types.LONG()).set_parallelism(parallelism).uid("w")
    )
    second = counts.map(lambda n: ("window", 0, n), TYPE).set_parallelism(parallelism).uid("map")
    sink = CollectSink(TYPE)
    both = first.union(second)
    end = SinkTransformation("collect", (both._transformation,), parallelism=1, sink=sink)
    mode = {"execution.runtime-mode": "STREAMING", "execution.epoch.max-records": "30"}
    return start([end], {**mode, **settings}, stop), sink


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: Any) -> tuple[str, Counter[Any], Counter[Any]]:
    """A savepoint, what had come before it, and what a whole run gives."""
    stop = StopAt(7)
    job, sink = program(2, {}, stop)
    path = stop.stop(job, tmp_path_factory.mktemp("savepoints"))
    seen = list(sink.iterator(job))
    whole, sink = program(2, {})
    return path, Counter(seen), Counter(sink.iterator(whole))


@pytest.mark.parametrize("parallelism", [1, 3, 5])
def test_a_program_goes_on_at_another_parallelism(
    stopped: tuple[str, Counter[Any], Counter[Any]], parallelism: int, tmp_path: pathlib.Path
) -> None:
    path, before, whole = stopped
    elsewhere = shutil.copytree(path, tmp_path / "elsewhere")
    job, sink = program(parallelism, {"execution.state-recovery.path": str(elsewhere)})
    assert before + Counter(sink.iterator(job)) == whole
    assert len(before) < len(whole)


# --- SQL ----------------------------------------------------------------------------------------------------

QUERY = """
SELECT c.name, COUNT(*), SUM(o.amount), MAX(o.amount)
FROM orders o JOIN customers c ON o.customer = c.id
WHERE o.amount > 3 GROUP BY c.name
"""
TOP = """
SELECT customer, id, amount FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY amount DESC, id) r FROM orders) WHERE r <= 2
"""


def sql(parallelism: int, query: str, settings: dict[str, str]) -> Any:
    orders: list[Any] = []
    for i in range(400):
        orders += [PAUSE] if i % 20 == 0 else []
        orders.append((i, i % 7, i * 31 % 100))
    customers = [(i, f"name {i % 4}") for i in range(7)]
    play("orders", [orders])
    play("customers", [customers])
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    config = {"parallelism.default": str(parallelism), **settings}
    for key, value in config.items():
        env.get_config().set(key, value)
    scripted = "WITH ('connector' = 'scripted', 'script' = '{}')"
    env.execute_sql(f"CREATE TABLE orders (id INT, customer INT, amount INT) {scripted.format('orders')}")
    env.execute_sql(f"CREATE TABLE customers (id INT, name STRING) {scripted.format('customers')}")
    return env.execute_sql(query)


def folded(changes: Any, before: Counter[Any] | None = None) -> Counter[Any]:
    table = Counter(before or ())
    for row in changes:
        kind = str(row.get_row_kind())
        table[tuple(row)] += 1 if kind in ("+I", "+U") else -1
    return +table


@pytest.mark.parametrize("query", [QUERY, TOP], ids=["join-and-group", "top-n"])
def test_a_query_goes_on_at_another_parallelism(query: str, tmp_path: pathlib.Path) -> None:
    stop, started = StopAt(7), []
    submit = jobs.submit

    def noting(*arguments: Any) -> Any:
        started.append(submit(*arguments))
        return started[-1]

    with in_this_process(stop), pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "submit", noting)
        rows = sql(2, query, {}).collect()
        path = stop.stop(started[0], tmp_path)
        before = folded(rows)
    with in_this_process():
        whole = folded(sql(2, query, {}).collect())
        assert before != whole
        for parallelism in (1, 3, 5):
            elsewhere = shutil.copytree(path, tmp_path / f"at-{parallelism}")
            more = sql(parallelism, query, {"execution.state-recovery.path": str(elsewhere)})
            assert folded(more.collect(), before) == whole

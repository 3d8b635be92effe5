"""New savepoints: jobs that start from them find the state."""

from __future__ import annotations

import pathlib
from itertools import islice
from typing import Any

import pytest

from penstock.common import Time, Types, WatermarkStrategy
from penstock.common.errors import NotSupportedError, StateMigrationError, ValidationError
from penstock.common.ids import OperatorUid
from penstock.connectors.collect import CollectSink
from penstock.datastream import (
    BroadcastProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.functions import CheckpointedFunction
from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.graph.transformations import SinkTransformation
from penstock.state_processor import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    OperatorIdentifier,
    OperatorTransformation,
    SavepointReader,
    SavepointWriter,
    StateBootstrapFunction,
)
from tests.runtime.in_process import collect, start
from tests.state_processor.conftest import Mean, Number, everything, key_of

pytestmark = pytest.mark.spark

BALANCE = ValueStateDescriptor("balance", Types.LONG())
HISTORY = ListStateDescriptor("history", Types.STRING())
LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.LONG())
TYPE = Types.TUPLE([Types.STRING(), Types.LONG(), Types.INT(), Types.LONG()])


class Accounts(KeyedStateBootstrapFunction):
    def open(self, runtime_context: Any) -> None:
        self.balance = runtime_context.get_state(BALANCE)
        self.history = runtime_context.get_list_state(HISTORY)
        self.limits = runtime_context.get_map_state(LIMITS)

    def process_element(self, value: Any, ctx: Any) -> None:
        self.balance.update((self.balance.value() or 0) + value["amount"])
        self.history.add(f"{ctx.get_current_key()}:{value['amount']}")
        self.limits.put("day", value["amount"] * 10)
        ctx.timer_service().register_event_time_timer(500)


class Show(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.balance = runtime_context.get_state(BALANCE)
        self.history = runtime_context.get_list_state(HISTORY)
        self.limits = runtime_context.get_map_state(LIMITS)

    def process_element(self, value: str, ctx: Any) -> Any:
        yield value, self.balance.value() or 0, len(self.history.get()), self.limits.get("day") or 0

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), timestamp, -1, self.balance.value()


def shown(path: str, parallelism: int, max_parallelism: int = 128, keys: str = "abc") -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection(list(keys), Types.STRING())
    keyed = stream.key_by(lambda k: k, key_type=Types.STRING())
    result = keyed.process(Show(), TYPE).set_parallelism(parallelism).uid("accounts")
    result.set_max_parallelism(max_parallelism)
    settings = {"execution.state-recovery.path": path, "execution.runtime-mode": "STREAMING"}
    return sorted(collect(result, settings))


@pytest.fixture(scope="module")
def accounts(spark: Any, tmp_path_factory: Any) -> str:
    frame = spark.createDataFrame([("a", 5), ("b", 7), ("a", 6), ("d", 1)], "id string, amount long")
    made = OperatorTransformation.bootstrap_with(frame).key_by("id", Types.STRING()).transform(Accounts())
    writer = SavepointWriter.new_savepoint(spark, 128).with_operator("accounts", made)
    return writer.write(str(tmp_path_factory.mktemp("new") / "savepoint"))


@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_job_finds_state_and_timers_that_were_bootstrapped_from_a_frame(
    accounts: str, parallelism: int
) -> None:
    rows = shown(accounts, parallelism)
    assert [r for r in rows if r[2] >= 0] == [("a", 11, 2, 60), ("b", 7, 1, 70), ("c", 0, 0, 0)]
    assert [r for r in rows if r[2] == -1] == [("a", 500, -1, 11), ("b", 500, -1, 7), ("d", 500, -1, 1)]


def test_a_folder_is_written_once(spark: Any, accounts: str) -> None:
    writer = SavepointWriter.from_existing_savepoint(spark, accounts)
    with pytest.raises(ValidationError, match="there is a savepoint in this folder already"):
        writer.write(accounts)


def test_another_max_parallelism_needs_a_rewritten_savepoint(
    spark: Any, accounts: str, tmp_path: pathlib.Path
) -> None:
    with pytest.raises(StateMigrationError, match="has max parallelism 7, its state was written with 128"):
        shown(accounts, 2, max_parallelism=7)
    moved = SavepointWriter.from_existing_savepoint(spark, accounts).with_max_parallelism(7)
    path = moved.write(str(tmp_path / "moved"))
    assert shown(path, 2, max_parallelism=7) == shown(accounts, 2)


def test_operators_are_renamed_removed_and_added(
    spark: Any, savepoint: tuple[str, int], tmp_path: pathlib.Path
) -> None:
    path, numbers = savepoint
    writer = SavepointWriter.from_existing_savepoint(spark, path)
    with pytest.raises(ValidationError, match="has no operator 'nobody'"):
        writer.remove_operator("nobody")
    writer.change_operator_identifier(OperatorIdentifier.for_uid("all"), OperatorIdentifier.for_uid("every"))
    writer.remove_operator("numbers")
    rows = [{"id": "z", "amount": 3}]
    made = OperatorTransformation.bootstrap_with(rows).key_by(lambda row: row["id"], Types.STRING())
    made_operator = made.transform(Accounts())
    with pytest.raises(ValidationError, match="already has an operator 'every'"):
        writer.with_operator("every", made_operator)
    changed = writer.with_operator("accounts", made_operator).write(str(tmp_path / "changed"))
    reader = SavepointReader.read(spark, changed)
    assert {o.uid for o in reader.operators} >= {"every", "accounts"}
    assert "all" not in {o.uid for o in reader.operators}
    assert reader.read_keyed_state("every", "seen").selectExpr("sum(size(value))").first()[0] == numbers
    assert [r.value for r in reader.read_keyed_state("accounts", "balance").collect()] == [3]


def test_moved_state_of_every_kind_is_what_it_was(
    spark: Any, savepoint: tuple[str, int], tmp_path: pathlib.Path
) -> None:
    path, numbers = savepoint
    moved = SavepointWriter.from_existing_savepoint(spark, path).with_max_parallelism(1000)
    new = moved.write(str(tmp_path / "moved"))

    def content(where: str) -> list[Any]:
        reader = SavepointReader.read(spark, where)
        frames = [reader.read_keyed_state("all", s) for s in ("person", "seen", "stock", "total", "secret")]
        return [sorted(map(repr, f.collect())) for f in (*frames, reader.read_timers("all"))]

    assert content(new) == content(path)
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = everything(env, parallelism=3).set_max_parallelism(1000)
    sink = CollectSink(Types.LONG())
    end = SinkTransformation("collect", (stream._transformation,), parallelism=1, sink=sink)
    job = start([end], {"execution.state-recovery.path": new, "execution.epoch.max-records": "10"})
    assert sorted(islice(sink.iterator(job), 10)) == list(range(numbers, numbers + 10))
    job.cancel()
    assert key_of(0) == (0, "k")


class Numbers(StateBootstrapFunction):
    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.list = store.get_list_state(ListStateDescriptor("list", Types.LONG()))
        self.union = store.get_union_list_state(ListStateDescriptor("union", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> None:
        self.list.add(value)
        self.union.add(value * 10)


class Rules(BroadcastStateBootstrapFunction):
    def process_element(self, value: tuple[str, int], ctx: Any) -> None:
        ctx.get_broadcast_state(LIMITS).put(*value)


class Restored(MapFunction, CheckpointedFunction):
    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.list = store.get_list_state(ListStateDescriptor("list", Types.LONG()))
        self.union = store.get_union_list_state(ListStateDescriptor("union", Types.LONG()))

    def snapshot_state(self, context: Any) -> None:
        pass

    def map(self, value: int) -> Any:
        return sorted(self.list.get()), sorted(self.union.get())


class Limited(BroadcastProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Any:
        yield sorted(ctx.get_broadcast_state(LIMITS).items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        yield from ()


def test_operator_and_broadcast_state_is_found_and_read_back(spark: Any, tmp_path: pathlib.Path) -> None:
    numbers = OperatorTransformation.bootstrap_with([1, 2, 3]).transform(Numbers()).set_parallelism(2)
    rules = OperatorTransformation.bootstrap_with([("x", 1), ("y", 2)]).transform(Rules())
    writer = SavepointWriter.new_savepoint(spark, 128)
    path = writer.with_operator("n", numbers).with_operator("r", rules).write(str(tmp_path / "new"))

    reader = SavepointReader.read(spark, path)
    assert sorted(r.value for r in reader.read_list_state("n", "list").collect()) == [1, 2, 3]
    assert sorted(r.value for r in reader.read_union_state("n", "union").collect()) == [10, 20, 30]
    frame = reader.read_broadcast_state("r", "limits")
    assert frame.schema.simpleString() == "struct<key:string,value:bigint>"
    assert [tuple(row) for row in frame.collect()] == [("x", 1), ("y", 2)]

    settings = {"execution.state-recovery.path": path, "execution.runtime-mode": "STREAMING"}
    settings["execution.state-recovery.ignore-unclaimed-state"] = "true"
    env = StreamExecutionEnvironment.get_execution_environment()
    one = env.from_collection([0], Types.LONG()).map(Restored()).uid("n").set_parallelism(1)
    assert collect(one, settings) == [([1, 2, 3], [10, 20, 30])]
    env = StreamExecutionEnvironment.get_execution_environment()
    nothing = env.from_collection([], Types.LONG()).broadcast(LIMITS)
    one_more: Any = env.from_collection([0], Types.LONG())
    limited = one_more.connect(nothing).process(Limited()).uid("r")
    assert collect(limited, settings) == [[("x", 1), ("y", 2)]]


def test_windows_are_filled_as_if_the_elements_had_come(spark: Any, tmp_path: pathlib.Path) -> None:
    assigner = TumblingEventTimeWindows.of(Time.milliseconds(100))
    accumulator = Types.TUPLE([Types.LONG(), Types.LONG()])
    made = (
        OperatorTransformation.bootstrap_with([1, 2, 150])
        .assign_timestamps(Number())
        .key_by(lambda v: 0, key_type=Types.LONG())
        .window(assigner)
        .aggregate(Mean(), accumulator_type=accumulator)
    )
    path = SavepointWriter.new_savepoint(spark, 128).with_operator("w", made).write(str(tmp_path / "new"))
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Number())
    stream = env.from_collection([9, 120], Types.LONG()).assign_timestamps_and_watermarks(strategy)
    means = stream.key_by(lambda v: 0, key_type=Types.LONG()).window(assigner)
    result = means.aggregate(Mean(), accumulator_type=accumulator, output_type=Types.DOUBLE()).uid("w")
    settings = {"execution.state-recovery.path": path, "execution.runtime-mode": "STREAMING"}
    assert sorted(collect(result, settings)) == [4.0, 135.0]


def test_state_in_columns_cannot_move_to_other_key_groups(
    spark: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from penstock.checkpoint import contents
    from penstock.checkpoint.metadata import OperatorCheckpoint
    from penstock.state.schema import StateSchema
    from penstock.state_processor.copying import check_can_move

    schema = StateSchema("groups", "map", "PICKLE", by_group=True)
    operator = contents.OperatorContents(
        OperatorCheckpoint(OperatorUid("agg"), "agg", 1, 128, ()), (), {b"groups": schema}
    )
    with pytest.raises(NotSupportedError, match="another max parallelism for state 'groups'"):
        check_can_move(operator)

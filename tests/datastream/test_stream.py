"""DataStream methods as the transformations they build."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.common.errors import NotSupportedError, TypeMismatchError, ValidationError
from penstock.connectors.print import PrintSink
from penstock.datastream import (
    DataStreamUtils,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    OutputTag,
    ProcessFunction,
    SinkFunction,
)
from penstock.graph.transformations import (
    ChainingStrategy,
    PartitionerKind,
    PartitionTransformation,
    SideOutputTransformation,
    SinkTransformation,
    UnionTransformation,
)
from penstock.operators.map import FilterOperator, FlatMapOperator, MapOperator
from penstock.operators.process import ProcessOperator
from penstock.operators.timestamps import TimestampsAndWatermarksOperator
from tests.datastream.programs import ends, new_env, operator_of, upstream


class Noting(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


def numbers(env: Any = None) -> Any:
    return (env or new_env()).from_collection([1, 2, 3], Types.INT())


def test_map_flat_map_filter_and_process_add_one_operator_each():
    source = numbers()
    mapped = source.map(lambda v: v + 1, Types.LONG())
    assert upstream(mapped) is source.transformation
    assert isinstance(operator_of(mapped), MapOperator)
    assert mapped.get_type() == Types.LONG()
    assert isinstance(operator_of(source.flat_map(lambda v: [v])), FlatMapOperator)
    assert isinstance(operator_of(source.process(Noting())), ProcessOperator)


def test_filter_keeps_the_type_and_map_without_a_type_is_untyped():
    kept = numbers().filter(lambda v: v > 1)
    assert isinstance(operator_of(kept), FilterOperator)
    assert kept.get_type() == Types.INT()
    assert kept.map(lambda v: v).get_type() is None


def test_a_step_remembers_the_line_that_added_it():
    site = numbers().map(lambda v: v).transformation.call_site
    assert site is not None
    assert "test_stream.py:" in site


def test_every_factory_call_gives_a_new_operator():
    mapped = numbers().map(lambda v: v)
    assert operator_of(mapped) is not operator_of(mapped)


def test_what_is_not_a_function_is_refused_where_it_was_passed():
    with pytest.raises(TypeMismatchError, match="MapFunction") as error:
        numbers().map("not a function")
    assert "test_stream.py:" in str(error.value)
    with pytest.raises(TypeError):
        numbers().filter(3)
    with pytest.raises(TypeMismatchError, match="Types"):
        numbers().map(lambda v: v, int)


def test_a_keyed_process_function_needs_a_keyed_stream():
    class Keyed(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value

    with pytest.raises(TypeMismatchError, match="no keys"):
        numbers().process(Keyed())


@pytest.mark.parametrize(
    "method, kind",
    [
        ("forward", PartitionerKind.FORWARD),
        ("rebalance", PartitionerKind.REBALANCE),
        ("rescale", PartitionerKind.RESCALE),
        ("shuffle", PartitionerKind.SHUFFLE),
        ("broadcast", PartitionerKind.BROADCAST),
        ("global_", PartitionerKind.GLOBAL),
    ],
)
def test_partitionings_are_steps_of_their_own(method: str, kind: PartitionerKind):
    partitioned = getattr(numbers(), method)()
    assert isinstance(partitioned.transformation, PartitionTransformation)
    assert partitioned.transformation.partitioner.kind is kind
    assert partitioned.get_type() == Types.INT()


def test_partition_custom_keeps_selector_and_function():
    partitioner = (
        numbers().partition_custom(lambda key, n: key % n, lambda v: v * 10).transformation.partitioner
    )
    assert partitioner.kind is PartitionerKind.CUSTOM
    assert partitioner.function(partitioner.key_selector(3), 4) == 2


def test_union_takes_streams_of_one_type_and_environment():
    env = new_env()
    first, second = numbers(env), numbers(env)
    union = first.union(second, first.map(lambda v: v, Types.INT()))
    assert isinstance(union.transformation, UnionTransformation)
    assert len(union.transformation.inputs) == 3
    assert union.get_type() == Types.INT()
    with pytest.raises(TypeMismatchError, match="different types"):
        first.union(env.from_collection(["a"], Types.STRING()))
    with pytest.raises(ValidationError, match="different environments"):
        first.union(numbers())


def test_a_side_output_follows_the_operator():
    tag = OutputTag("late", Types.STRING())
    processed = numbers().process(Noting())
    side = processed.get_side_output(tag)
    assert isinstance(side.transformation, SideOutputTransformation)
    assert side.transformation.tag_id == "late"
    assert side.get_type() == Types.STRING()
    assert upstream(side) is processed.transformation


def test_project_picks_fields_of_tuples():
    pairs = new_env().from_collection(
        [(1, "a", 2.0)], Types.TUPLE([Types.INT(), Types.STRING(), Types.DOUBLE()])
    )
    projected = pairs.project(2, 0)
    assert projected.get_type() == Types.TUPLE([Types.DOUBLE(), Types.INT()])
    assert operator_of(projected).function.map((1, "a", 2.0)) == (2.0, 1)
    with pytest.raises(ValidationError, match="3 fields"):
        pairs.project(3)
    with pytest.raises(TypeMismatchError, match="tuples"):
        numbers().project(0)


def test_settings_end_up_in_the_transformation_and_return_the_stream():
    stream = numbers().map(lambda v: v)
    settled = (
        stream.name("plus").uid("plus-1").set_parallelism(3).set_max_parallelism(16).set_buffer_timeout(10)
        .set_description("adds").slot_sharing_group("heavy").start_new_chain().set_uid_hash("a" * 32)
    )  # fmt: skip
    assert settled is stream
    step = stream.transformation
    assert (step.name, step.uid, step.parallelism, step.max_parallelism) == ("plus", "plus-1", 3, 16)
    assert (step.buffer_timeout_ms, step.description, step.slot_sharing_group) == (10, "adds", "heavy")
    assert step.chaining is ChainingStrategy.HEAD
    assert stream.disable_chaining().transformation.chaining is ChainingStrategy.NEVER
    assert stream.get_name() == "plus"


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2", True])
def test_a_wrong_parallelism_is_refused(wrong: Any):
    with pytest.raises(ValidationError, match="parallelism"):
        numbers().map(lambda v: v).set_parallelism(wrong)


def test_a_collection_and_a_forced_operator_stay_alone():
    with pytest.raises(ValidationError, match="must be 1"):
        numbers().set_parallelism(2)
    forced = numbers().map(lambda v: v).force_non_parallel()
    assert forced.transformation.parallelism == 1
    with pytest.raises(ValidationError, match="must be 1"):
        forced.set_parallelism(2)


def test_an_operator_has_one_uid():
    with pytest.raises(ValidationError, match="already"):
        numbers().map(lambda v: v).uid("a").uid("b")


def test_partitionings_have_no_name():
    with pytest.raises(ValidationError, match="rebalance"):
        numbers().rebalance().name("x")


def test_timestamps_and_watermarks_need_a_strategy():
    timed = numbers().assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps())
    assert isinstance(operator_of(timed), TimestampsAndWatermarksOperator)
    assert timed.get_type() == Types.INT()
    with pytest.raises(TypeMismatchError, match="WatermarkStrategy"):
        numbers().assign_timestamps_and_watermarks(lambda v: v)


def test_sinks_are_ends_of_the_program():
    env = new_env()
    sink = numbers(env).print("out").name("printing").set_parallelism(1)
    assert isinstance(sink.transformation, SinkTransformation)
    assert isinstance(sink.transformation.sink, PrintSink)
    assert ends(env) == ["printing"]


def test_add_sink_takes_sinks_functions_and_callables():
    written: list[Any] = []

    class Writing(SinkFunction):
        def invoke(self, value: Any, context: Any = None) -> None:
            written.append(("object", value))

    env = new_env()
    stream = numbers(env)
    assert isinstance(stream.add_sink(PrintSink()).transformation, SinkTransformation)
    assert isinstance(stream.add_sink(SinkFunction(PrintSink())).transformation, SinkTransformation)
    for sink in (Writing(), lambda value: written.append(("callable", value))):
        caller = operator_of(stream.add_sink(sink)).function
        caller.open(None)
        assert caller.process_element(7, None) is None
    assert written == [("object", 7), ("callable", 7)]
    with pytest.raises(TypeMismatchError, match="add_sink"):
        stream.add_sink("nowhere")


def test_an_operator_without_a_sink_still_is_part_of_the_program():
    env = new_env()
    numbers(env).map(lambda v: v).name("dangling")
    assert ends(env) == ["dangling"]


def test_iterations_are_refused():
    with pytest.raises(NotSupportedError, match="iterate"):
        numbers().iterate()


def test_positional_keys_are_accepted_with_a_warning_that_names_the_modern_spelling():
    pairs = new_env().from_collection([("a", 1)], Types.TUPLE([Types.STRING(), Types.INT()]))
    with pytest.warns(DeprecationWarning, match=r"lambda value: value\[0\]"):
        keyed = pairs.key_by(0)
    assert keyed.key_selector(("a", 1)) == "a"
    with pytest.warns(DeprecationWarning, match="key_type="):
        assert pairs.key_by(lambda t: t[0], key_type_info=Types.STRING()).key_type == Types.STRING()


@pytest.mark.parametrize("nothing", [None, 1.5, object()])
def test_key_by_on_nothing_is_refused(nothing: Any):
    with pytest.raises(TypeMismatchError, match="key"):
        numbers().key_by(nothing)


def test_a_key_selector_with_open_is_opened_once_before_its_first_use():
    class Opening(KeySelector):
        opened = 0

        def open(self, runtime_context: Any) -> None:
            self.opened += 1

        def get_key(self, value: Any) -> Any:
            return value * 10 * self.opened

    keyed = numbers().key_by(Opening())
    assert [keyed.key_selector(v) for v in (1, 2)] == [10, 20]


def test_two_programs_of_one_environment_do_not_mix():
    env = new_env()
    numbers(env).print()
    env.close()
    numbers(env).map(lambda v: v).print("second").name("second")
    assert ends(env) == ["second"]


def test_data_stream_utils_collect_points_at_the_modern_spelling(monkeypatch: pytest.MonkeyPatch):
    stream = numbers()
    monkeypatch.setattr(stream, "execute_and_collect", lambda name: ["collected", name])
    with pytest.warns(DeprecationWarning, match="execute_and_collect"):
        assert DataStreamUtils.collect(stream, "job") == ["collected", "job"]


def test_a_function_class_passed_by_mistake_is_named():
    class Doubling(MapFunction):
        def map(self, value: Any) -> Any:
            return value * 2

    with pytest.raises(TypeMismatchError, match="class Doubling itself"):
        numbers().map(Doubling)


def test_methods_that_flink_removed_name_the_way_out():
    with pytest.raises(NotSupportedError, match="side outputs"):
        numbers().split(lambda v: "even")
    with pytest.raises(NotSupportedError, match="aggregate"):
        numbers().fold(0, lambda x, y: x + y)

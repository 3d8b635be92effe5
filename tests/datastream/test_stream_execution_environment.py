"""The environment: settings, sources, what a program consists of, and running it."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest

from penstock.common import Configuration, Duration, JobStatus, RestartStrategies, Types, WatermarkStrategy
from penstock.common.errors import JobExecutionError, NotSupportedError, TypeMismatchError, ValidationError
from penstock.connectors.collection import CollectionSource
from penstock.datastream import (
    CheckpointingMode,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    JobListener,
    MapFunction,
    RuntimeExecutionMode,
    SlotSharingGroup,
    SourceFunction,
    StreamExecutionEnvironment,
    TimeCharacteristic,
)
from penstock.datastream.context import set_context_configuration
from penstock.functions.accumulators import IntCounter
from penstock.graph.transformations import SourceTransformation
from penstock.runtime import submit
from penstock.runtime.in_process import InProcessEpochs, forget
from tests.datastream.programs import ends, new_env


def test_settings_are_entries_of_the_configuration():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(3).set_max_parallelism(64).set_buffer_timeout(50)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH).disable_operator_chaining()
    env.set_default_savepoint_directory("/savepoints")
    assert env.get_configuration().to_dict() == {
        "parallelism.default": "3",
        "pipeline.max-parallelism": "64",
        "execution.buffer-timeout.interval": "50 ms",
        "execution.runtime-mode": "BATCH",
        "pipeline.operator-chaining.enabled": "false",
        "execution.checkpointing.savepoint-dir": "/savepoints",
    }
    assert (env.get_parallelism(), env.get_max_parallelism(), env.get_buffer_timeout()) == (3, 64, 50)
    assert not env.is_chaining_enabled()
    assert env.get_default_savepoint_directory() == "/savepoints"


def test_configure_and_a_given_configuration_win_over_the_context(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(
        "PENSTOCK_PROPERTIES", "parallelism.default: 5\n# a note\npipeline.name: from outside\n"
    )
    given = Configuration().set_integer("parallelism.default", 7)
    env = StreamExecutionEnvironment.get_execution_environment(given)
    assert env.get_parallelism() == 7
    assert env.get_configuration().get_string("pipeline.name", None) == "from outside"
    env.configure(Configuration().set_string("pipeline.name", "mine"))
    assert env.get_configuration().get_string("pipeline.name", None) == "mine"
    assert given.to_dict() == {"parallelism.default": "7"}


def test_a_line_of_the_context_that_is_no_setting_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PENSTOCK_PROPERTIES", "parallelism.default 5")
    with pytest.raises(ValidationError, match="not a setting"):
        StreamExecutionEnvironment.get_execution_environment()


def test_a_context_configuration_reaches_new_environments():
    set_context_configuration(Configuration().set_string("state.backend.type", "rocksdb"))
    try:
        configuration = StreamExecutionEnvironment.get_execution_environment().get_configuration()
        assert configuration.get_string("state.backend.type", None) == "rocksdb"
    finally:
        set_context_configuration(None)
    assert len(StreamExecutionEnvironment.get_execution_environment().get_configuration()) == 0


@pytest.mark.parametrize("wrong", [0, -2, "4"])
def test_a_wrong_parallelism_is_refused(wrong: Any):
    with pytest.raises(ValidationError, match="parallelism"):
        new_env().set_parallelism(wrong)


def test_operators_take_the_parallelism_that_was_set_when_they_were_added():
    env = new_env(2)
    early = env.from_collection([1]).map(lambda v: v)
    env.set_parallelism(4)
    late = early.map(lambda v: v)
    assert (early.transformation.parallelism, late.transformation.parallelism) == (2, 4)


def test_checkpoint_settings():
    env = new_env()
    assert env.get_checkpoint_interval() == -1
    env.enable_checkpointing(3_000, CheckpointingMode.AT_LEAST_ONCE)
    assert env.get_checkpoint_interval() == 3_000
    assert env.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert env.get_configuration().get_string("execution.checkpointing.interval", None) == "3000 ms"
    with pytest.raises(ValidationError, match="checkpoint interval"):
        env.enable_checkpointing(0)


def test_a_collection_is_a_source_of_one_subtask():
    stream = new_env(4).from_collection([1, 2], Types.INT())
    step = stream.transformation
    assert isinstance(step, SourceTransformation)
    assert (step.parallelism, step.output_type) == (1, Types.INT())


def test_elements_that_do_not_fit_their_type_are_refused_at_once():
    with pytest.raises(TypeMismatchError, match="element 1"):
        new_env().from_collection([1, "two"], Types.INT())


def test_from_collection_takes_elements_only():
    with pytest.raises(TypeMismatchError, match="list of elements"):
        new_env().from_collection(5)
    with pytest.raises(TypeMismatchError, match="list of elements"):
        new_env().from_collection({"a": 1})


def test_from_source_keeps_name_strategy_and_type():
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    stream = new_env(3).from_source(CollectionSource([1], Types.INT()), strategy, "numbers")
    step = stream.transformation
    assert (step.name, step.parallelism, step.output_type) == ("numbers", 3, Types.INT())
    assert step.watermark_strategy is strategy
    with pytest.raises(TypeMismatchError, match="WatermarkStrategy"):
        new_env().from_source(CollectionSource([1]), None, "numbers")
    with pytest.raises(TypeMismatchError, match="Source"):
        new_env().from_source([1], strategy, "numbers")


def test_only_ends_are_handed_to_the_runtime():
    env = new_env()
    mapped = env.from_collection([1]).map(lambda v: v)
    mapped.print("a").name("first")
    mapped.key_by(lambda v: v).map(lambda v: v).print("b").name("second")
    mapped.rebalance().filter(lambda v: True).name("third")
    assert sorted(ends(env)) == ["first", "second", "third"]


def test_the_plan_lists_operators_and_how_they_are_connected():
    env = new_env(2)
    env.from_collection([1], Types.INT()).key_by(lambda v: v).sum().name("total").print()
    nodes = json.loads(env.get_execution_plan())["nodes"]
    assert [node["parallelism"] for node in nodes] == [1, 2, 2]
    assert nodes[1]["predecessors"][0]["ship_strategy"] == "HASH"


def test_a_program_without_operators_is_refused():
    with pytest.raises(ValidationError, match="no operators"):
        new_env().execute()


def test_python_files_are_kept_under_their_options(tmp_path: Any):
    module = tmp_path / "helpers.py"
    module.write_text("")
    env = new_env()
    env.add_python_file(str(module))
    env.add_python_file(str(tmp_path))
    env.add_python_archive(str(module), "data")
    env.set_python_requirements(str(module), "cache")
    env.set_python_executable("python3.11")
    env.add_jars("file:///a.jar", "file:///b.jar")
    conf = env.get_configuration()
    assert conf.get_string("python.files", None) == f"{module},{tmp_path}"
    assert conf.get_string("python.archives", None) == f"{module}#data"
    assert conf.get_string("python.requirements", None) == f"{module}#cache"
    assert conf.get_string("python.executable", None) == "python3.11"
    assert conf.get_string("pipeline.jars", None) == "file:///a.jar;file:///b.jar"
    with pytest.raises(ValidationError, match="no such file"):
        env.add_python_file(str(tmp_path / "missing.py"))


def test_cached_files_are_found_by_name_in_the_runtime_context():
    from penstock.operators.runtime_context import cached_files

    env = new_env()
    env.register_cached_file("/data/words.txt", "words")
    env.register_cached_file("s3://bucket/model", "model", executable=True)
    option = env.get_configuration().get_string("pipeline.cached-files", "")
    assert cached_files(option) == {"words": "/data/words.txt", "model": "s3://bucket/model"}


def test_spellings_of_flink_1_are_accepted_with_a_warning():
    env = new_env()
    with pytest.warns(DeprecationWarning, match=r"restart-strategy\.type"):
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 1_000))
    with pytest.warns(DeprecationWarning, match=r"state\.backend\.type"):
        env.set_state_backend(EmbeddedRocksDBStateBackend(True))
    conf = env.get_configuration().to_dict()
    assert conf["restart-strategy.type"] == "fixed-delay"
    assert conf["restart-strategy.fixed-delay.attempts"] == "3"
    assert conf["state.backend.type"] == "rocksdb"
    assert conf["execution.checkpointing.incremental"] == "true"
    with pytest.warns(DeprecationWarning):
        env.set_state_backend(HashMapStateBackend())
    assert env.get_configuration().get_string("state.backend.type", None) == "hashmap"
    with pytest.warns(DeprecationWarning), pytest.raises(NotSupportedError, match="ingestion time"):
        env.set_stream_time_characteristic(TimeCharacteristic.IngestionTime)


def test_add_source_takes_sources_and_refuses_loops():
    class Loop(SourceFunction):
        pass

    env = new_env()
    wrapped = env.add_source(SourceFunction(CollectionSource([1])), "old style", Types.INT())
    assert wrapped.get_type() == Types.INT()
    assert env.add_source(CollectionSource([1])).get_name() == "Custom Source"
    with pytest.raises(NotSupportedError, match="cannot be replayed"):
        env.add_source(Loop())


def test_slot_sharing_groups_have_names():
    group = SlotSharingGroup.builder("heavy").set_cpu_cores(2.0).set_task_heap_memory_mb(100).build()
    env = new_env().register_slot_sharing_group(group)
    assert env.from_collection([1]).slot_sharing_group(group).transformation.slot_sharing_group == "heavy"
    assert group.get_task_heap_memory().get_mebi_bytes() == 100
    with pytest.raises(ValidationError, match="CPU cores"):
        SlotSharingGroup.builder("x").set_managed_memory_mb(1).build()


@pytest.mark.usefixtures("in_process")
class TestRunning:
    def test_execute_returns_the_result_with_accumulators(self):
        class Counting(MapFunction):
            def open(self, runtime_context: Any) -> None:
                self.lines = IntCounter()
                runtime_context.add_accumulator("lines", self.lines)

            def map(self, value: Any) -> Any:
                self.lines.add(1)
                return value

        env = new_env(2)
        env.from_collection([1, 2, 3]).rebalance().map(Counting())
        result = env.execute("counting")
        assert result.get_accumulator_result("lines") == 3

    def test_execute_async_returns_a_client(self):
        env = new_env(1)
        env.from_collection([1]).map(lambda v: v)
        client = env.execute_async("background")
        client.get_job_execution_result().result(60)
        assert client.get_job_status().result() is JobStatus.FINISHED

    def test_a_failing_function_fails_the_job_and_names_itself(self):
        def broken(value: Any) -> Any:
            raise ZeroDivisionError("on purpose")

        env = new_env(1)
        env.from_collection([41]).map(broken).name("breaker")
        with pytest.raises(JobExecutionError, match="on purpose") as error:
            env.execute()
        assert "breaker" in str(error.value)

    def test_collect_with_a_limit_gives_a_list(self):
        stream = new_env(1).from_collection(list(range(100)), Types.INT())
        assert stream.execute_and_collect(limit=3) == [0, 1, 2]
        with pytest.raises(ValidationError, match="limit"):
            stream.execute_and_collect(limit=0)

    def test_the_iterator_closes_itself_and_knows_next(self):
        stream = new_env(1).from_collection([1, 2], Types.INT())
        with stream.execute_and_collect() as values:
            assert values.next() == 1
            assert next(values) == 2
            with pytest.raises(StopIteration):
                values.next()

    def test_several_collects_of_one_job(self):
        env = new_env(1)
        numbers = env.from_collection([1, 2], Types.INT())
        plain, doubled = numbers.collect_async(), numbers.map(lambda v: 2 * v).collect_async()
        with pytest.raises(ValidationError, match="not been started"):
            next(plain)
        env.execute_async().get_job_execution_result().result(60)
        assert (list(plain), list(doubled)) == ([1, 2], [2, 4])

    def test_a_batch_job_gives_final_results_only(self):
        env = new_env(1).set_runtime_mode(RuntimeExecutionMode.BATCH)
        total = env.from_collection([1, 2, 3], Types.INT()).key_by(lambda v: 0).sum()
        assert list(total.execute_and_collect()) == [6]

    def test_a_cached_stream_is_computed_once(self, tmp_path: Any):
        log = tmp_path / "log"

        def slow(value: int) -> int:
            with log.open("a") as file:
                file.write("x")
            return value * 10

        env = new_env(1)
        cached = env.from_collection([1, 2], Types.INT()).map(slow, Types.INT()).cache()
        assert list(cached.map(lambda v: v + 1).execute_and_collect()) == [11, 21]
        assert list(cached.map(lambda v: v + 2).execute_and_collect()) == [12, 22]
        assert log.read_text() == "xx"
        cached.invalidate()
        assert list(cached.execute_and_collect()) == [10, 20]
        assert log.read_text() == "xxxx"


def test_durations_are_accepted_for_intervals():
    env = new_env()
    env.get_checkpoint_config().set_checkpoint_interval(Duration.of_seconds(2))
    assert env.get_checkpoint_interval() == 2_000


class Listening(JobListener):
    def __init__(self) -> None:
        self.heard: list[str] = []

    def on_job_submitted(self, job_client: Any, throwable: BaseException | None) -> None:
        self.heard.append("submitted" if throwable is None else f"refused: {type(throwable).__name__}")

    def on_job_executed(self, job_execution_result: Any, throwable: BaseException | None) -> None:
        self.heard.append("executed" if throwable is None else f"failed: {type(throwable).__name__}")


@pytest.mark.usefixtures("in_process")
def test_listeners_hear_of_jobs_that_run_fail_and_cannot_start():
    def broken(value: Any) -> Any:
        raise ZeroDivisionError

    env, listener = new_env(1), Listening()
    env.register_job_listener(listener)
    env.from_collection([1]).map(lambda v: v)
    env.execute()
    env.from_collection([1]).map(broken)
    with pytest.raises(JobExecutionError):
        env.execute()
    with pytest.raises(ValidationError):
        env.execute()
    assert listener.heard == [
        "submitted", "executed", "submitted", "failed: JobExecutionError", "refused: ValidationError",
    ]  # fmt: skip
    env.clear_job_listeners()
    assert env.get_job_listeners() == []


@pytest.mark.usefixtures("in_process")
def test_counters_of_the_runtime_context_are_made_at_first_use():
    class Counting(MapFunction):
        def open(self, runtime_context: Any) -> None:
            self.context = runtime_context

        def map(self, value: Any) -> Any:
            self.context.get_int_counter("seen").add(1)
            self.context.get_histogram("values").add(value)
            return value

    env = new_env(1)
    env.from_collection([3, 1, 3]).map(Counting())
    result = env.execute()
    assert result.get_all_accumulator_results() == {"seen": 3, "values": {1: 1, 3: 2}}


def test_what_a_function_remembers_survives_epochs_and_lost_processes(monkeypatch: pytest.MonkeyPatch):
    class Numbering(MapFunction):
        def __init__(self) -> None:
            self.count = 0

        def open(self, runtime_context: Any) -> None:
            self.seen: list[int] = []

        def map(self, value: Any) -> Any:
            self.count += 1
            self.seen.append(value)
            return self.count, len(self.seen)

    losses: list[int] = []

    def lose_the_process(plan: Any, partition: int) -> None:
        losses.append(partition)
        forget()

    run_here = functools.partial(
        submit.submit_job, make_runner=lambda job: InProcessEpochs(job, lose_the_process)
    )
    monkeypatch.setattr(submit, "submit_job", run_here)
    env = new_env(1)
    env.configure(Configuration().set_integer("execution.epoch.max-records", 1))
    numbered = env.from_collection([7, 8, 9], Types.INT()).map(Numbering())
    assert list(numbered.execute_and_collect()) == [(1, 1), (2, 2), (3, 3)]
    assert len(losses) >= 3  # one record per epoch


def test_java_spellings_of_sources():
    env = new_env(3)
    assert env.from_elements(1, 2, type_info=Types.INT()).get_type() == Types.INT()
    assert env.from_data([1, 2]).get_parallelism() == 1
    assert env.from_sequence(1, 10).get_parallelism() == 3
    assert StreamExecutionEnvironment.create_local_environment(5).get_parallelism() == 5
    with pytest.warns(DeprecationWarning, match="NumberSequenceSource"):
        env.generate_sequence(1, 3)
    assert env.socket_text_stream("localhost", 9999).get_type() == Types.STRING()


class Greeting(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self.word = runtime_context.get_job_parameter("greeting", "hello")
        self.all = dict(runtime_context.get_global_job_parameters())

    def map(self, value: str) -> tuple[str, dict[str, str]]:
        return f"{self.word} {value}", self.all


def test_global_job_parameters_reach_the_functions(in_process: None) -> None:
    env = new_env(1)
    env.get_config().set_global_job_parameters({"greeting": "good day", "limit": 3})
    result = list(env.from_collection(["world"]).map(Greeting()).execute_and_collect())
    assert result == [("good day world", {"greeting": "good day", "limit": "3"})]


def test_without_job_parameters_functions_get_their_defaults(in_process: None) -> None:
    result = list(new_env(1).from_collection(["world"]).map(Greeting()).execute_and_collect())
    assert result == [("hello world", {})]

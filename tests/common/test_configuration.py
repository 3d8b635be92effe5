from __future__ import annotations

import copy
import json
import pathlib
import pickle

import pytest

from penstock.common import ConfigOptions, Configuration, Duration, ExecutionConfig, Time
from penstock.common.config_values import parse_duration, parse_list, parse_map, parse_memory, to_text
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.common.options import (
    CheckpointingOptions,
    EpochOptions,
    ExecutionOptions,
    PipelineOptions,
    StateOptions,
    has_effect,
    is_known,
    option,
)

OF_THE_SERVER = {
    "jobmanager.archive.fs.dir", "rest.async.store-duration", "rest.server.max-content-length", "web.cancel.enable",
    "web.access-control-allow-origin", "web.checkpoints.history", "web.exception-history-size", "web.history",
    "web.log.path", "web.refresh-interval", "web.submit.enable", "web.upload.dir", "rest.flamegraph.enabled",
    "web.adaptive-scheduler.rescale-history.size", "web.rescale.enable",
}  # fmt: skip
"""Options of Flink's JobManager that the REST server has, too."""
INVENTORY = pathlib.Path(__file__).parent.parent / "parity" / "config_options.json"


def test_values_are_read_with_the_type_that_is_asked_for():
    conf = Configuration().set_integer("i", 5).set_boolean("b", True).set_float("f", 1.5).set_string("s", "x")
    assert conf.get_integer("i", 0) == 5 and conf.get_string("i", "") == "5"
    assert conf.get_boolean("b", False) is True and conf.get_string("b", "") == "true"
    assert conf.get_float("f", 0.0) == 1.5
    assert conf.get_string("none", "default") == "default" and conf.get_integer("none", 7) == 7
    with pytest.raises(ValidationError, match="cannot read 'x' as Long") as caught:
        conf.get_integer("s", 0)
    assert "configuration key 's'" in str(caught.value)


def test_bytes_are_kept_as_bytes():
    conf = Configuration().set_bytearray("k", bytearray(b"\x00\xff"))
    assert conf.get_bytearray("k", bytearray()) == bytearray(b"\x00\xff")
    assert conf.get_bytearray("none", bytearray(b"d")) == bytearray(b"d")


def test_entries_are_added_removed_and_listed():
    conf = Configuration.from_dict({"a": "1", "b": 2})
    conf.add_all(Configuration.from_dict({"c": True}), "pre.")
    assert conf.to_dict() == {"a": "1", "b": "2", "pre.c": "true"}
    assert conf.key_set() == {"a", "b", "pre.c"} and conf.contains_key("pre.c")
    assert conf.remove_config("a") and not conf.remove_config("a")
    target = {"z": "0"}
    conf.add_all_to_dict(target)
    assert target == {"z": "0", "b": 2, "pre.c": True}


def test_copies_are_equal_and_independent():
    conf = Configuration.from_dict({"a": "1"})
    for twin in (Configuration(conf), copy.copy(conf), copy.deepcopy(conf), pickle.loads(pickle.dumps(conf))):
        assert twin == conf
        twin.set_string("b", "2")
        assert not conf.contains_key("b")


def test_none_is_not_a_value():
    with pytest.raises(ValidationError, match="remove_config"):
        Configuration().set_string("k", None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text, millis",
    [
        ("10 s", 10_000),
        ("10s", 10_000),
        ("500 ms", 500),
        ("1 min", 60_000),
        ("1 m", 60_000),
        ("2 h", 7_200_000),
        ("1 d", 86_400_000),
        ("3 days", 259_200_000),
        ("250", 250),
        ("PT10S", 10_000),
        ("P1DT2H3M4.5S", 93_784_500),
        ("1500 us", 1),
    ],
)
def test_durations_are_read_as_flink_reads_them(text, millis):
    assert parse_duration(text).to_millis() == millis


@pytest.mark.parametrize("text", ["", "s", "10 parsecs", "-1 s", "1.5 s", "P"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError):
        parse_duration(text)


def test_memory_sizes_count_in_powers_of_1024():
    assert [parse_memory(t) for t in ("1", "1 b", "2kb", "3 MB", "1 gb", "1tb")] == [
        1,
        1,
        2048,
        3 << 20,
        1 << 30,
        1 << 40,
    ]
    with pytest.raises(ValueError, match="memory unit"):
        parse_memory("1 potato")


def test_lists_and_maps_may_be_quoted_and_read_back():
    assert parse_list("a;b;'c;d'") == ["a", "b", "c;d"] == parse_list("[a, b, 'c;d']")
    assert parse_list("- a\n- b") == ["a", "b"] and parse_list("") == []
    assert Configuration.parse_list_value("") == []
    tricky = {"a": "x,y", "b:c": "it's", "d": "", "e": " {z} "}
    assert parse_map(to_text(tricky)) == tricky
    with pytest.raises(ValueError):
        parse_map("a")


def test_options_have_defaults_and_older_spellings():
    conf = Configuration()
    assert conf.get(EpochOptions.TARGET) == Duration.of_millis(500)
    assert conf.get(ExecutionOptions.RUNTIME_MODE) == "STREAMING"
    assert conf.get(CheckpointingOptions.INTERVAL) is None
    assert conf.get(CheckpointingOptions.INTERVAL, Duration.of_seconds(1)) == Duration.of_seconds(1)
    conf.set_string("state.backend", "rocksdb").set_string("state.checkpoints.dir", "s3://x")
    assert conf.get(StateOptions.BACKEND) == "rocksdb"
    assert conf.get(CheckpointingOptions.DIRECTORY) == "s3://x" and conf.contains(
        CheckpointingOptions.DIRECTORY
    )
    conf.set(CheckpointingOptions.DIRECTORY, "s3://y")
    assert conf.get(CheckpointingOptions.DIRECTORY) == "s3://y"


def test_enums_are_read_in_any_case_and_checked():
    conf = Configuration().set_string("execution.runtime-mode", "batch")
    assert conf.get(ExecutionOptions.RUNTIME_MODE) == "BATCH"
    conf.set_string("execution.runtime-mode", "bach")
    with pytest.raises(ValidationError, match="expected one of STREAMING, BATCH, AUTOMATIC"):
        conf.get(ExecutionOptions.RUNTIME_MODE)
    with pytest.raises(ValidationError):
        conf.set(ExecutionOptions.RUNTIME_MODE, "bach")


def test_the_inventory_of_flinks_options_is_known():
    keys = [entry["key"] for entry in json.loads(INVENTORY.read_text())["options"]]
    assert [key for key in keys if not is_known(key)] == []
    jvm = [e["key"] for e in json.loads(INVENTORY.read_text())["options"] if e["tier"] == "jvm"]
    here_too = ("metrics.scope.", "state.latency-track.")  # names of metrics, and what they measure
    jvm = [key for key in jvm if not key.startswith(here_too)]
    jvm = [key for key in jvm if key not in OF_THE_SERVER]
    assert not any(has_effect(key) for key in jvm) and has_effect("execution.epoch.target")


def test_keys_that_look_like_typing_errors_are_found():
    conf = Configuration.from_dict(
        {
            "execution.checkpoint.interval": "10 s",
            "state.nonsense": "x",
            "state.backend": "rocksdb",
            "my.own.key": "1",
            "metrics.reporter.prom.port": "1",
        }
    )
    assert conf.unknown_keys() == {
        "execution.checkpoint.interval": "execution.checkpointing.interval",
        "state.nonsense": None,
    }


def test_programs_define_options_of_their_own():
    known = ConfigOptions.key("my.wait").duration_type().default_value(Duration.of_seconds(3))
    conf = Configuration()
    assert conf.get(known) == Duration.of_seconds(3)
    assert conf.set_string("my.wait", "1 min").get(known) == Duration.of_minutes(1)
    for made, value in [
        (ConfigOptions.key("k").int_type(), 3),
        (ConfigOptions.key("k").long_type(), 3),
        (ConfigOptions.key("k").boolean_type(), True),
        (ConfigOptions.key("k").float_type(), 1.5),
        (ConfigOptions.key("k").double_type(), 1.5),
        (ConfigOptions.key("k").string_type(), "x"),
        (ConfigOptions.key("k").memory_type(), 1024),
        (ConfigOptions.key("k").map_type(), {"a": "b"}),
        (ConfigOptions.key("k").string_type().as_list(), ["a", "b"]),
        (ConfigOptions.key("k").enum_type("A", "B"), "B"),
    ]:
        assert made.default_value(value).default == value and made.no_default_value().default is None
        assert Configuration().set(made.no_default_value(), value).get(made.no_default_value()) == value
    with pytest.raises(ValidationError):
        option("no.such.option")


def test_execution_config_and_configuration_show_the_same_settings():
    conf = Configuration()
    config = ExecutionConfig(conf)
    assert config.get_parallelism() == -1 and config.get_max_parallelism() == -1
    config.set_parallelism(4).set_max_parallelism(256).set_auto_watermark_interval(50)
    config.set_global_job_parameters({"a": 1, "b": "x,y"}).enable_object_reuse().disable_auto_generated_uids()
    assert conf.get(ExecutionOptions.PARALLELISM) == config.get_parallelism() == 4
    assert conf.get(PipelineOptions.MAX_PARALLELISM) == config.get_max_parallelism() == 256
    assert config.get_auto_watermark_interval() == 50
    assert config.get_global_job_parameters() == {"a": "1", "b": "x,y"}
    assert config.is_object_reuse_enabled() and not config.has_auto_generated_uids_enabled()
    assert config == ExecutionConfig(Configuration(conf)) != ExecutionConfig()
    config.set_parallelism(ExecutionConfig.PARALLELISM_DEFAULT)
    assert config.get_parallelism() == -1


def test_execution_config_refuses_what_makes_no_sense():
    config = ExecutionConfig()
    for wrong in (
        lambda: config.set_parallelism(0),
        lambda: config.set_max_parallelism(40_000),
        lambda: config.set_auto_watermark_interval(-1),
    ):
        with pytest.raises(ValidationError):
            wrong()
    with pytest.raises(NotSupportedError, match="Java serializers"):
        config.enable_force_kryo()


def test_settings_of_the_jvm_are_kept_and_readable():
    config = ExecutionConfig()
    assert config.is_closure_cleaner_enabled() and config.get_task_cancellation_interval() == 30_000
    config.disable_closure_cleaner().set_task_cancellation_timeout(5).set_latency_tracking_interval(7)
    config.set_task_cancellation_interval(6).set_use_snapshot_compression(True)
    assert not config.is_closure_cleaner_enabled() and config.get_task_cancellation_timeout() == 5
    assert config.get_latency_tracking_interval() == 7 and config.get_task_cancellation_interval() == 6
    assert config.is_use_snapshot_compression()


def test_values_become_text_that_reads_back():
    assert to_text(Duration.of_nanos(5)) == "5 ns" and to_text(Time.seconds(1)) == "1000 ms"
    assert to_text(False) == "false" and to_text(["a", "b;c"]) == "a;'b;c'"


def test_entries_go_into_a_dict_with_the_types_they_were_set_with():
    configuration = Configuration()
    configuration.set_string("s", "7").set_integer("i", 7).set_float("f", 1.5).set_boolean("b", True)
    configuration.set_bytearray("y", bytearray(b"\x01"))
    copied = Configuration().add_all(configuration, "p.")
    target = {"old": 1}
    copied.add_all_to_dict(target)
    assert target == {"old": 1, "p.s": "7", "p.i": 7, "p.f": 1.5, "p.b": True, "p.y": bytearray(b"\x01")}
    assert isinstance(target["p.b"], bool)
    assert isinstance(target["p.i"], int)


def test_a_later_text_replaces_a_typed_value():
    configuration = Configuration().set_integer("i", 7).set_string("i", "seven")
    target = {}
    configuration.add_all_to_dict(target)
    assert target == {"i": "seven"}


def test_equal_configurations_have_equal_hashes():
    one, other = Configuration().set_string("k", "v"), Configuration().set_string("k", "v")
    assert hash(one) == hash(other)
    assert hash(ExecutionConfig(one)) == hash(ExecutionConfig(other))
    other.set_string("k", "w")
    assert hash(one) != hash(other)

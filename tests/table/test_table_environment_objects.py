"""Modules, modes, configuration and texts of a table environment; nothing runs."""

from __future__ import annotations

import pytest

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from penstock.table import (
    DataTypes,
    EnvironmentSettings,
    FormatDescriptor,
    Module,
    ModuleEntry,
    Schema,
    StreamTableEnvironment,
    TableDescriptor,
    TableEnvironment,
)
from penstock.table.udf import udf


@pytest.fixture
def env() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


class Shop(Module):
    def list_functions(self):
        return ["net"]

    def get_function(self, name):
        return udf(lambda v: v / 2, result_type=DataTypes.DOUBLE())


def test_modules_are_loaded_used_in_order_and_unloaded(env):
    env.load_module("x", Module())
    env.load_module("y", Module())
    assert env.list_modules() == ["core", "x", "y"]
    env.use_modules("y", "core")
    assert env.list_modules() == ["y", "core"]
    assert env.list_full_modules() == [
        ModuleEntry("y", True),
        ModuleEntry("core", True),
        ModuleEntry("x", False),
    ]
    env.unload_module("y")
    assert [tuple(r) for r in env.execute_sql("SHOW FULL MODULES").collect()] == [
        ("core", True),
        ("x", False),
    ]


def test_sql_and_calls_see_the_same_modules(env):
    env.execute_sql("UNLOAD MODULE core")
    assert env.list_modules() == []
    env.execute_sql("LOAD MODULE core")
    env.load_module("x", Module())
    env.execute_sql("USE MODULES x, core")
    assert [r[0] for r in env.execute_sql("SHOW MODULES").collect()] == ["x", "core"]


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (lambda e: e.load_module("core", Module()), "A module with name 'core' already exists"),
        (lambda e: e.unload_module("x"), "No module with name 'x' exists"),
        (lambda e: e.use_modules("x"), "No module with name 'x' exists"),
        (lambda e: e.use_modules("core", "core"), "appears more than once"),
    ],
)
def test_wrong_names_of_modules_are_refused(env, wrong, complaint):
    with pytest.raises(ValidationError, match=complaint):
        wrong(env)


def test_sql_does_not_know_the_modules_of_a_program(env):
    with pytest.raises(NotSupportedError, match="module hive"):
        env.execute_sql("LOAD MODULE hive")


def test_functions_of_a_module_can_be_called_while_it_is_used(env):
    env.load_module("shop", Shop())
    found = env.sql_query("SELECT net(3)").get_resolved_schema().get_column_data_types()
    assert found == [DataTypes.DOUBLE()]
    env.use_modules("core")
    with pytest.raises(ValidationError, match="net"):
        env.sql_query("SELECT net(3)")


@pytest.mark.parametrize("mode", ["BATCH", "STREAMING"])
def test_an_environment_takes_mode_and_configuration_of_its_streams(mode):
    stream = StreamExecutionEnvironment.get_execution_environment()
    stream.set_runtime_mode(RuntimeExecutionMode[mode])
    stream.get_configuration().set_string("table.exec.state.ttl", "7 s")
    env = StreamTableEnvironment.create(stream)
    assert env.get_config().get("execution.runtime-mode", "") == mode
    assert env._session.streaming is (mode == "STREAMING")
    assert env.get_config().get_idle_state_retention().total_seconds() == 7
    env.get_config().set("table.exec.state.ttl", "8 s")
    assert env.get_config().get_idle_state_retention().total_seconds() == 8
    stream.get_configuration().set_string("later", "x")
    assert env.get_config().get("later", "") == "x"


def test_the_zone_is_utc_until_one_is_chosen(env):
    assert env.get_config().get_local_timezone() == "UTC"
    env.get_config().set_local_timezone("Asia/Shanghai")
    assert env.get_config().get_local_timezone() == "Asia/Shanghai"


def test_descriptors_print_as_the_rest_of_a_create_table():
    form = FormatDescriptor.for_format("f").option("a", False).build()
    assert str(form) == "f[{a=false}]"
    descriptor = (
        TableDescriptor.for_connector("c")
        .schema(Schema.new_builder().column("x", DataTypes.STRING()).build())
        .partitioned_by("x")
        .option("it's", True)
        .format(form)
        .comment("a 'note'")
        .build()
    )
    assert str(descriptor) == (
        "(\n  `x` STRING\n)\nCOMMENT 'a ''note'''\nPARTITIONED BY (`x`)\nWITH (\n"
        "  'connector' = 'c',\n  'it''s' = 'true',\n  'format' = 'f',\n  'f.a' = 'false'\n)"
    )

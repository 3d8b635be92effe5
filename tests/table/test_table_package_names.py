"""The rarer names of pyflink.table: old descriptors, models, numbers of dates and times, resolved expressions."""

from __future__ import annotations

import datetime as dt
import inspect

import pytest

from penstock.catalog.resolved_schema import Column
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.java_gateway import get_gateway
from penstock.table import (
    DataTypes,
    EnvironmentSettings,
    ExplainDetail,
    ResultKind,
    Schema,
    SqlDialect,
    TableConfig,
    TableEnvironment,
    TableSchema,
    descriptors,
)
from penstock.table.expressions import col
from penstock.table.model_descriptor import ModelDescriptor
from penstock.table.resolved_expression import ResolvedExpression
from penstock.table.types import Resolution

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def env() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


def test_details_kinds_and_dialects_are_numbers():
    assert (ExplainDetail.ESTIMATED_COST, ExplainDetail.PLAN_ADVICE) == (0, 3)
    assert (ResultKind.SUCCESS, ResultKind.SUCCESS_WITH_CONTENT) == (0, 1)
    assert (SqlDialect.DEFAULT, SqlDialect.HIVE) == (0, 1)
    assert all(not inspect.signature(c).parameters for c in (ExplainDetail, ResultKind, SqlDialect))


def test_a_detail_is_shown_and_an_unknown_one_refused(env):
    text = env.explain_sql("SELECT 1", ExplainDetail.JSON_EXECUTION_PLAN)
    assert "== Physical Execution Plan ==" in text
    with pytest.raises(ValidationError, match="no detail 17"):
        env.explain_sql("SELECT 1", 17)


def test_the_dialect_of_a_configuration_is_kept():
    config = TableConfig.get_default()
    assert config.get_sql_dialect() == SqlDialect.DEFAULT
    config.set_sql_dialect(SqlDialect.HIVE)
    assert config.get("table.sql-dialect", "") == "HIVE"
    assert config.get_sql_dialect() == SqlDialect.HIVE
    with pytest.raises(ValidationError, match="unsupported SQL dialect"):
        config.set_sql_dialect(2)


def test_an_old_schema_is_the_properties_that_flink_makes():
    rowtime = descriptors.Rowtime().timestamps_from_field("ts").watermarks_periodic_bounded(5)
    schema = descriptors.Schema().field("a", DataTypes.INT()).field("b", "VARCHAR").from_origin_field("bb")
    schema.field("p", DataTypes.TIMESTAMP_LTZ(3)).proctime().field("r", DataTypes.TIMESTAMP(3)).rowtime(
        rowtime
    )
    assert schema.to_properties() == {
        "schema.0.name": "a",
        "schema.0.data-type": "INT",
        "schema.1.name": "b",
        "schema.1.data-type": "VARCHAR",
        "schema.1.from": "bb",
        "schema.2.name": "p",
        "schema.2.data-type": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
        "schema.2.proctime": "true",
        "schema.3.name": "r",
        "schema.3.data-type": "TIMESTAMP(3)",
        "schema.3.rowtime.timestamps.type": "from-field",
        "schema.3.rowtime.timestamps.from": "ts",
        "schema.3.rowtime.watermarks.type": "periodic-bounded",
        "schema.3.rowtime.watermarks.delay": "5",
    }


def test_old_schemas_take_dicts_and_table_schemas():
    given = {"s": DataTypes.STRING(), "n": DataTypes.BIGINT(False)}
    assert descriptors.Schema(fields=given).to_properties() == {
        "schema.0.name": "s",
        "schema.0.data-type": "VARCHAR(2147483647)",
        "schema.1.name": "n",
        "schema.1.data-type": "BIGINT NOT NULL",
    }
    replaced = descriptors.Schema(fields=given).schema(TableSchema(["q"], [DataTypes.BIGINT()]))
    assert replaced.to_properties() == {"schema.0.name": "q", "schema.0.data-type": "BIGINT"}
    with pytest.raises(TypeError):
        descriptors.Schema().fields([("a", DataTypes.INT())])  # type: ignore[arg-type]


def test_what_follows_a_field_needs_one_and_says_it_once():
    with pytest.raises(ValidationError, match="no field defined previously"):
        descriptors.Schema().proctime()
    with pytest.raises(ValidationError, match="no field defined previously"):
        descriptors.Schema().field("a", DataTypes.INT()).proctime().proctime()
    with pytest.raises(ValidationError, match="duplicate field name a"):
        descriptors.Schema().field("a", DataTypes.INT()).field("a", DataTypes.INT())


def test_java_classes_are_refused_with_the_reason(env):
    for call in (
        get_gateway,
        lambda: descriptors.Rowtime().timestamps_from_extractor("x.Y"),
        lambda: descriptors.Rowtime().watermarks_from_strategy("x.Y"),
        lambda: env.create_java_function("f", "x.Y"),
        lambda: env.create_java_temporary_function("f", "x.Y"),
        lambda: env.create_java_temporary_system_function("f", "x.Y"),
    ):
        with pytest.raises(NotSupportedError, match=r"not supported: .*, because "):
            call()


def _model() -> ModelDescriptor:
    schema = Schema.new_builder().column("x", DataTypes.INT()).build()
    builder = ModelDescriptor.for_provider("openai").input_schema(schema).output_schema(schema)
    return builder.option("task", "r").comment("it").build()


def test_a_model_descriptor_prints_as_flinks():
    assert str(_model()) == (
        "(\n  `x` INT\n)\n(\n  `x` INT\n)\nCOMMENT 'it'\nWITH (\n  'task' = 'r',\n  'provider' = 'openai'\n)"
    )
    assert _model() == _model() and hash(_model()) == hash(_model())
    assert str(ModelDescriptor.for_provider("p").build()) == "\n\nCOMMENT ''\nWITH (\n  'provider' = 'p'\n)"


def test_models_are_kept_and_temporary_ones_are_listed_apart(env):
    env.create_model("m", _model())
    env.create_model("m", _model(), True)
    with pytest.raises(ValidationError, match="already exists"):
        env.create_model("m", _model())
    env.create_temporary_model("m", _model())
    env.create_temporary_model("tm", _model())
    with pytest.raises(ValidationError, match="already exists"):
        env.create_temporary_model("tm", _model())
    assert env.list_models() == ["m"]
    assert [r[0] for r in env.execute_sql("SHOW MODELS").collect()] == ["m"]
    assert env.list_temporary_models() == ["m", "tm"]
    assert [env.drop_model("m"), env.drop_model("m"), env.drop_temporary_model("m")] == [True, False, True]
    with pytest.raises(ValidationError, match="does not exist"):
        env.drop_model("m", False)
    with pytest.raises(ValidationError, match="no input schema"):
        env.create_model("x", ModelDescriptor.for_provider("p").build())


@pytest.mark.parametrize(
    ("data_type", "value"),
    [
        (DataTypes.DATE(), dt.date(1969, 12, 30)),
        (DataTypes.TIME(), dt.time(23, 59, 1, 7)),
        (DataTypes.TIMESTAMP(6), dt.datetime(2021, 3, 4, 5, 6, 7, 8)),
        (DataTypes.TIMESTAMP_LTZ(6), dt.datetime(2021, 3, 4, 5, 6, 7, 8)),
        (DataTypes.INTERVAL(DataTypes.DAY(), DataTypes.SECOND()), dt.timedelta(-1, 5, 7)),
    ],
)
def test_times_become_numbers_and_times_again(data_type, value):
    number = data_type.to_sql_type(value)
    assert isinstance(number, int)
    assert data_type.from_sql_type(number) == value
    assert data_type.to_sql_type(None) is None and data_type.from_sql_type(None) is None
    assert data_type.need_conversion()


def test_units_of_intervals_are_an_enumeration():
    assert DataTypes.SECOND(3).unit is Resolution.IntervalUnit.SECOND
    assert str(DataTypes.MINUTE()) == "IntervalUnit.MINUTE(-1)"
    assert str(DataTypes.INTERVAL(DataTypes.YEAR(3), DataTypes.MONTH())) != ""


def test_schemas_of_tables_and_results_are_those_of_flink_1x(env):
    table = env.sql_query("SELECT 1 AS a, 'x' AS b")
    schema = table.get_schema()
    assert isinstance(schema, TableSchema)
    assert str(schema) == "root\n |-- a: INT NOT NULL\n |-- b: CHAR(1) NOT NULL\n"
    assert (schema.get_field_count(), schema.get_field_name(1)) == (2, "b")
    assert schema.to_row_data_type().field_names() == ["a", "b"]
    assert str(env.execute_sql("SHOW MODULES").get_table_schema()).startswith(
        "root\n |-- module name: STRING"
    )
    env.execute_sql(
        "CREATE TABLE timed (ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen')"
    )
    assert str(env.from_path("timed").get_schema()) == "root\n |-- ts: TIMESTAMP(3) *ROWTIME*\n"


def test_a_resolved_expression_makes_a_computed_column():
    base = ResolvedExpression(col("a"), DataTypes.INT(), sql="`a`")
    twice = ResolvedExpression(col("a") * 2, DataTypes.INT(), [base], "`a` * 2")
    column = Column.computed("twice", twice)
    assert (column.get_data_type(), column.explain_extras()) == (DataTypes.INT(), "AS `a` * 2")
    assert twice.get_resolved_children()[0] is base
    assert twice.as_summary_string() == "times(a, 2)"
    assert column.copy(DataTypes.BIGINT()).get_data_type() == DataTypes.BIGINT()

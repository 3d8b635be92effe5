"""Constants, values of users' types, and what printed rows, frames and streams make of a table's values."""

from __future__ import annotations

import array
import datetime as dt
import decimal
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from penstock.catalog.resolved_schema import Column
from penstock.catalog.schema import Schema
from penstock.common import Row, RowKind, Types
from penstock.common.datatype_parser import parse_type
from penstock.common.errors import NotSupportedError, TypeMismatchError, ValidationError
from penstock.common.rendering import render_java
from penstock.common.typeinfo import ExternalTypeInfo
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.formats.avro import AvroInputFormat, AvroSchema
from penstock.formats.java_text import row_text
from penstock.runtime import submit
from penstock.runtime.in_process import InProcessEpochs
from penstock.sql.streaming import jobs
from penstock.table import (
    AggregateFunction,
    DataTypes,
    EnvironmentSettings,
    StreamTableEnvironment,
    TableEnvironment,
)
from penstock.table.expression_parts.constants import literal
from penstock.table.expressions import call_sql, col, lit, row_interval
from penstock.table.types import UserDefinedType, from_arrow_type
from penstock.table.udf import udaf, udf, udtf
from penstock.table.window import Over


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    real = submit.submit_job

    def here(sinks: Any, configuration: Any, name: str, factory: Any = None, about: Any = None) -> Any:
        return real(sinks, configuration, name, InProcessEpochs)

    monkeypatch.setattr(submit, "submit_job", here)
    monkeypatch.setattr(jobs, "submit_job", here)


@pytest.fixture
def t_env(in_process: None) -> Iterator[Any]:
    yield TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


# -- constants -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["abc"], "ARRAY<CHAR(3)> NOT NULL"),
        ((1, 2), "ARRAY<INT> NOT NULL"),
        ([1, 2**40], "ARRAY<BIGINT> NOT NULL"),
        ([1, None], "ARRAY<INT> NOT NULL"),
        ([[1], []], "ARRAY<ARRAY<INT>> NOT NULL"),
        ([[None], ["a"]], "ARRAY<ARRAY<CHAR(1)>> NOT NULL"),
        ([[decimal.Decimal("1.20")], []], "ARRAY<ARRAY<DECIMAL(3, 2)>> NOT NULL"),
        (array.array("h"), "ARRAY<SMALLINT> NOT NULL"),
        (array.array("B", [1]), "ARRAY<SMALLINT> NOT NULL"),
        (array.array("u", "ab"), "ARRAY<CHAR(1)> NOT NULL"),
        (array.array("d", [1.5]), "ARRAY<DOUBLE> NOT NULL"),
    ],
)
def test_lists_are_arrays_of_what_their_elements_have_in_common(value: Any, expected: str) -> None:
    assert literal(value).type.as_summary() == expected


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ([], "do not tell their type"),
        ([[], [None]], "do not tell their type"),
        ([1, "a"], "no common type"),
        ([b"a", []], "no common type"),
        (array.array("L", [1]), "has no SQL type"),
        (object(), "cannot derive a data type"),
    ],
)
def test_values_without_a_type_are_refused(value: Any, why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        lit(value)


@pytest.mark.parametrize(
    ("value", "declared", "why"),
    [
        (128, "TINYINT", "is no value of TINYINT"),
        (-32769, "SMALLINT", "is no value of SMALLINT"),
        (2**63, "BIGINT", "is no value of BIGINT"),
        (True, "INT", "is no value of INT"),
        ([1.25], "ARRAY<SMALLINT>", "is no value of SMALLINT"),
        (b"a", "ARRAY<TINYINT>", "is no value of ARRAY"),
        (b"a", "ROW<a TINYINT>", "is no value of ROW"),
        ({1: 2}, "MULTISET<INT>", "MULTISET literals are not supported"),
        ((1, 2), "ROW<a INT>", "arity 2"),
        (Row.of_kind(RowKind.DELETE, 1), "ROW<a INT>", "Unsupported kind 'DELETE'"),
        ([None], "ARRAY<INT NOT NULL>", "NULL is no value"),
    ],
)
def test_values_have_to_fit_their_declared_type(value: Any, declared: str, why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        lit(value, parse_type(declared))


def test_a_type_is_no_text() -> None:
    with pytest.raises(TypeError, match="Unsupported data type: INT"):
        lit(1, "INT")  # type: ignore[arg-type]


def test_a_moment_declared_as_a_day_is_its_day() -> None:
    assert literal(dt.datetime(2026, 8, 3, 1), DataTypes.DATE()).value == dt.date(2026, 8, 3)


# -- users' types --------------------------------------------------------------------------------------------


class PointType(UserDefinedType):
    @classmethod
    def sql_type(cls) -> Any:
        return DataTypes.ARRAY(DataTypes.DOUBLE(False))

    @classmethod
    def module(cls) -> str:
        return __name__

    def serialize(self, obj: Any) -> Any:
        return [obj.x, obj.y]

    def deserialize(self, datum: Any) -> Any:
        return Point(*datum)


class Point:
    __UDT__ = PointType()

    def __init__(self, x: float, y: float) -> None:
        self.x, self.y = x, y


def test_objects_of_users_types_are_columns_of_what_they_serialize_to(t_env: Any) -> None:
    declared = DataTypes.ROW([DataTypes.FIELD("p", PointType()), DataTypes.FIELD("n", DataTypes.INT())])
    table = t_env.from_elements([(Point(3.0, 4.0), 1), (None, 2)], declared)
    assert [t.as_summary() for t in table.get_schema().get_field_data_types()] == [
        "ARRAY<DOUBLE NOT NULL>",
        "INT",
    ]
    assert sorted(map(str, table.execute().collect())) == ["<Row(None, 2)>", "<Row([3.0, 4.0], 1)>"]
    inferred = t_env.from_elements([(1, [Point(1.0, 2.0)], {"a": Point(5.0, 6.0)})])
    assert list(inferred.execute().collect()) == [Row(1, [[1.0, 2.0]], {"a": [5.0, 6.0]})]
    with pytest.raises(TypeMismatchError, match="column 'p'"):
        t_env.from_elements([([3.0, 4.0], 1)], declared)


def test_collections_convert_what_they_hold() -> None:
    days = [dt.date(1970, 1, 1), None, dt.date(1970, 1, 3)]
    for made in (DataTypes.ARRAY(DataTypes.DATE()), DataTypes.MULTISET(DataTypes.DATE())):
        assert made.from_sql_type([0, None, 2]) == days and made.to_sql_type(days) == [0, None, 2]
    lookup = DataTypes.MAP(DataTypes.STRING(), DataTypes.DATE())
    assert lookup.from_sql_type({"a": 2}) == {"a": days[2]} and lookup.to_sql_type(None) is None


def test_types_of_arrow_know_which_inner_values_may_be_null() -> None:
    required = pa.field("item", pa.int64(), nullable=False)
    assert from_arrow_type(pa.list_(required)).as_summary() == "ARRAY<BIGINT NOT NULL>"
    assert from_arrow_type(pa.map_(pa.string(), pa.int32())).as_summary() == "MAP<STRING NOT NULL, INT>"


# -- schemas -------------------------------------------------------------------------------------------------


def test_a_schema_shows_what_is_only_text_in_brackets() -> None:
    schema = (
        Schema.new_builder()
        .column("a", "ROW<x INT>")
        .column("b", DataTypes.INT())
        .column_by_expression("c", call_sql("b + 1"))
        .build()
    )
    assert str(schema) == "(\n  `a` [ROW<x INT>],\n  `b` INT,\n  `c` AS [b + 1]\n)"
    same = Schema.new_builder().column("a", parse_type("ROW<x INT>")).column("b", DataTypes.INT())
    assert same.column_by_expression("c", "b + 1").build() == schema


# -- printed and handed out ----------------------------------------------------------------------------------


def test_printed_rows_have_times_as_java_prints_them() -> None:
    times = [dt.time(1), dt.time(1, 2, 3), dt.time(1, 2, 3, 4000), dt.time(1, 2, 3, 4)]
    text = row_text(DataTypes.ROW([DataTypes.FIELD(f"c{i}", DataTypes.TIME()) for i in range(4)]))
    assert text(times) == "[01:00, 01:02:03, 01:02:03.004, 01:02:03.000004]"


def test_moments_of_a_table_print_without_blank_and_tenths() -> None:
    row, kind = Row(dt.datetime(1970, 1, 2, 3, 4, 5)), Types.ROW([Types.SQL_TIMESTAMP()])
    assert render_java(row, kind) == "+I[1970-01-02 03:04:05.0]"
    assert render_java(row, ExternalTypeInfo(kind)) == "+I[1970-01-02T03:04:05]"
    assert render_java(Row(dt.datetime(1970, 1, 2)), ExternalTypeInfo(kind)) == "+I[1970-01-02T00:00]"


def test_frames_have_units_of_the_types_and_dicts_for_rows(t_env: Any) -> None:
    moment = dt.datetime(2020, 1, 1, 2, 3, 4, 123000)
    declared = parse_type(
        "ROW<s TIMESTAMP(0), m TIMESTAMP(3), u TIMESTAMP(6), r ROW<a INT, b ARRAY<STRING>>>"
    )
    frame = t_env.from_elements(
        [(moment.replace(microsecond=0), moment, moment, (1, ["x"]))], declared
    ).to_pandas()
    assert [str(frame[c].dtype) for c in "smu"] == ["datetime64[s]", "datetime64[ms]", "datetime64[us]"]
    made = frame["r"][0]
    assert made["a"] == 1 and list(made["b"]) == ["x"]


def test_a_frame_of_numbers_is_no_column_of_texts(t_env: Any) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1], "b": ["2"]})
    for declared in ([DataTypes.STRING(), DataTypes.STRING()], [DataTypes.INT(), DataTypes.INT()]):
        with pytest.raises(TypeMismatchError, match=r"the frame's column '[ab]' is"):
            t_env.from_pandas(frame, declared)


# -- functions and windows -----------------------------------------------------------------------------------


def test_a_system_function_of_a_users_replaces_the_operator_of_its_name(t_env: Any) -> None:
    table = t_env.from_elements([(1, 2)], ["a", "b"])
    assert list(table.select(table.a + table.b).execute().collect()) == [Row(3)]
    t_env.create_temporary_system_function("plus", udf(lambda i, j: i * 100 + j, result_type="BIGINT"))
    assert list(table.select(table.a + table.b).execute().collect()) == [Row(102)]


def test_only_time_orders_an_over_window_of_a_stream(t_env: Any) -> None:
    table = t_env.from_elements([(1, 1)], ["a", "b"])
    window = Over.partition_by(col("b")).order_by(col("a")).preceding(row_interval(2)).alias("w")
    with pytest.raises(ValidationError, match="must be a TIME ATTRIBUTE, but is: BIGINT"):
        table.over_window(window).select(col("b").sum.over(col("w")))


# -- streams -------------------------------------------------------------------------------------------------


def test_a_changelog_stream_takes_the_columns_that_its_schema_keeps(in_process: None) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    tables = StreamTableEnvironment.create(env)
    table = tables.sql_query("SELECT 'x' AS k, TO_TIMESTAMP_LTZ(5, 3) AS t, 7 AS n")
    schema = (
        Schema.new_builder()
        .column("f1", DataTypes.STRING())
        .column_by_metadata("rowtime", DataTypes.TIMESTAMP_LTZ(3))
        .column_by_expression("ignored", "UPPER(f1)")
        .column("f0", DataTypes.INT())
        .build()
    )
    stream = tables.to_changelog_stream(table, schema)
    assert [str(row) for row in stream.execute_and_collect()] == [str(Row(f1="x", f0=7))]


def test_retracted_rows_have_the_names_of_their_type(in_process: None) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    tables = StreamTableEnvironment.create(env)
    table = tables.from_elements([(1, "a")], ["x", "y"])
    stream = tables.to_retract_stream(table, Types.ROW([Types.LONG(), Types.STRING()]))
    assert [str(e) for e in stream.execute_and_collect()] == ["(True, Row(f0=1, f1='a'))"]


def test_a_computed_column_knows_its_expression() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([(1,)], Types.ROW_NAMED(["a"], [Types.INT()]))
    schema = Schema.new_builder().column("a", "INT").column_by_expression("b", "a + 1").build()
    found: Any = (
        StreamTableEnvironment.create(env)
        .from_data_stream(stream, schema)
        .get_resolved_schema()
        .get_column("b")
    )
    assert found.get_expression().as_serializable_string() == "a + 1"
    assert found.get_expression().get_output_data_type() == DataTypes.INT()
    again = Column.computed("c", found.get_expression())
    assert again.get_expression() is not found and again.get_expression().as_serializable_string() == "a + 1"


def test_create_input_reads_avro_files(in_process: None, tmp_path: Any) -> None:
    fastavro = pytest.importorskip("fastavro")
    schema = AvroSchema.parse_string(
        '{"type": "record", "name": "r", "fields": [{"name": "u", "type": ["int", "double", "null"]}]}'
    )
    records = [{"u": 1}, {"u": 2.5}, {"u": None}]
    with open(tmp_path / "in.avro", "wb") as file:
        fastavro.writer(file, schema.parsed, records)
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.create_input(AvroInputFormat(str(tmp_path / "in.avro"), schema))
    assert list(stream.map(lambda r: r).execute_and_collect()) == records
    with pytest.raises(NotSupportedError, match="Java class"):
        env.create_input(object())


# -- moments of the session's zone ---------------------------------------------------------------------------


@udf(result_type=DataTypes.STRING())
def shown(moment: Any) -> str:
    return f"{moment} in {moment.tzinfo}"


@udf(result_type=DataTypes.STRING())
def shown_first(moments: Any) -> str:
    return f"{moments[0]} in {moments[0].tzinfo}"


@udf(result_type=DataTypes.TIMESTAMP_LTZ(3))
def same(moment: Any) -> Any:
    return moment


@udf(result_type=DataTypes.TIMESTAMP_LTZ(3))
def five(moment: Any) -> Any:
    return dt.datetime(2020, 1, 1, 5)


@udf(result_type=DataTypes.TIMESTAMP_LTZ(3))
def in_utc(moment: Any) -> Any:
    return moment.astimezone(dt.timezone.utc)


@udf(result_type=DataTypes.STRING(), func_type="pandas")
def shown_series(moments: Any) -> Any:
    return moments.map(str)


@udf(result_type=DataTypes.TIMESTAMP_LTZ(3), func_type="pandas")
def same_series(moments: Any) -> Any:
    return moments


@udtf(result_types=[DataTypes.STRING()])
def shown_rows(moment: Any) -> Any:
    yield str(moment)


class ShownAll(AggregateFunction):  # type: ignore[type-arg]
    def create_accumulator(self) -> Any:
        return [""]

    def accumulate(self, accumulator: Any, moment: Any) -> None:
        accumulator[0] += str(moment)

    def get_value(self, accumulator: Any) -> Any:
        return accumulator[0]

    def get_result_type(self) -> Any:
        return DataTypes.STRING()

    def get_accumulator_type(self) -> Any:
        return DataTypes.ARRAY(DataTypes.STRING())


MOMENTS = {
    "SELECT shown(t) FROM moments": "2020-01-01 00:00:00.123000+08:00 in Asia/Shanghai",
    "SELECT shown_first(a) FROM moments": "2020-01-01 00:00:00.123000+08:00 in Asia/Shanghai",
    "SELECT shown(same(t)) FROM moments": "2020-01-01 00:00:00.123000+08:00 in Asia/Shanghai",
    "SELECT shown(five(t)) FROM moments": "2020-01-01 05:00:00+08:00 in Asia/Shanghai",
    "SELECT shown(in_utc(t)) FROM moments": "2019-12-31 16:00:00.123000+08:00 in Asia/Shanghai",
    "SELECT shown_series(t) FROM moments": "2020-01-01 00:00:00.123000+08:00",
    "SELECT shown(same_series(t)) FROM moments": "2020-01-01 00:00:00.123000+08:00 in Asia/Shanghai",
    "SELECT x FROM moments, LATERAL TABLE(shown_rows(t)) AS r (x)": "2020-01-01 00:00:00.123000+08:00",
    "SELECT shown_all(t) FROM moments": "2020-01-01 00:00:00.123000+08:00",
    "SELECT shown_all(t) FROM moments GROUP BY n": "2020-01-01 00:00:00.123000+08:00",
}


def answers(t_env: Any) -> dict[str, Any]:
    """What each query of MOMENTS gives in a session of Shanghai, of 2020-01-01 00:00:00.123 UTC."""
    t_env.get_config().set("table.local-time-zone", "Asia/Shanghai")
    for function in (shown, shown_first, same, five, in_utc, shown_series, same_series, shown_rows):
        t_env.create_temporary_system_function(function._name, function)
    t_env.create_temporary_system_function("shown_all", udaf(ShownAll()))
    moment = dt.datetime(2020, 1, 1, 0, 0, 0, 123000, dt.timezone.utc)
    columns = parse_type("ROW<n INT, t TIMESTAMP_LTZ(3), a ARRAY<TIMESTAMP_LTZ(3)>>")
    t_env.create_temporary_view("moments", t_env.from_elements([(1, moment, [moment])], columns))
    return {sql: list(t_env.execute_sql(sql).collect())[-1][0] for sql in MOMENTS}


def test_functions_get_moments_as_in_pyflink(t_env: Any) -> None:
    assert answers(t_env) == MOMENTS


@pytest.mark.spark
def test_functions_of_bounded_queries_get_moments_as_in_pyflink() -> None:
    assert answers(TableEnvironment.create(EnvironmentSettings.in_batch_mode())) == MOMENTS

"""What cannot be is refused by the call itself, with the line, the column and what to do."""

from __future__ import annotations

import pytest

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.table import DataTypes, EnvironmentSettings, Table, TableEnvironment
from penstock.table.expressions import call, col, lit, range_, with_columns
from penstock.table.udf import udf, udtf
from penstock.table.window import Over, Tumble


@udf(result_type=DataTypes.INT())
def one(value):
    return 1


@udtf(result_types=[DataTypes.INT()])
def many(value):
    yield 1


@pytest.fixture(scope="module")
def env() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


@pytest.fixture(scope="module")
def orders(env: TableEnvironment) -> Table:
    return env.from_elements([(1, "pen", 2.5)], ["id", "item", "price"])


def refused(call, *parts: str) -> None:
    with pytest.raises(ValidationError) as caught:
        call()
    for part in parts:
        assert part in str(caught.value)


def test_an_unknown_column_is_refused_with_the_line_and_near_names(orders: Table) -> None:
    refused(lambda: orders.select(col("itme")), "column 'itme' not found", "test_table_errors.py:", "`item`")


def test_the_column_of_another_table_is_unknown(env: TableEnvironment, orders: Table) -> None:
    people = env.from_elements([(1, "ann")], ["person", "name"])
    refused(lambda: orders.filter(people.name == "ann"), "column 'name' not found in filter")


def test_an_attribute_that_is_no_column_is_refused(orders: Table) -> None:
    refused(lambda: orders.prise, "no column named 'prise'", "`price`")
    assert not hasattr(orders, "prise")


def test_a_wrong_type_is_refused(orders: Table) -> None:
    refused(
        lambda: orders.select(col("id").upper_case), "cannot apply UPPER to (BIGINT)", "test_table_errors.py:"
    )


def test_a_filter_must_be_a_condition(orders: Table) -> None:
    refused(lambda: orders.filter(col("id")), "must be a condition", "BIGINT")


def test_text_is_no_expression_and_the_modern_spelling_is_told(orders: Table) -> None:
    refused(lambda: orders.select("id, item as i"), "select(col('id'), col('item').alias('i'))")
    refused(lambda: orders.group_by("item"), "group_by(col('item'))")


def test_a_function_that_is_none_is_refused(orders: Table) -> None:
    refused(lambda: orders.select(call("uper", col("item"))), "undefined function: uper", "upper")
    refused(lambda: orders.select(call(3, col("item"))), "3 is not a function")
    refused(lambda: orders.map(lambda row: row), "map takes the call of a function")


def test_functions_stand_only_where_their_kind_may(orders: Table) -> None:
    refused(lambda: orders.select(many(col("id"))), "many is a table function", "join_lateral")
    refused(lambda: orders.join_lateral(one(col("id"))), "takes the call of a table function")
    refused(lambda: orders.select(one), "a function is none before it is called")


@pytest.mark.parametrize("place", ["filter", "group_by", "order_by", "add_columns"])
def test_an_aggregate_may_not_stand_there(orders: Table, place: str) -> None:
    total = col("price").sum
    made = total > 1 if place == "filter" else total

    def use() -> object:
        found = getattr(orders, place)(made)
        return found.select(col("id").max) if place == "group_by" else found

    refused(use, "aggregate")


def test_aggregates_are_not_nested(orders: Table) -> None:
    refused(lambda: orders.select(col("price").sum.max), "cannot be the input of another aggregate")


def test_a_column_that_is_not_grouped_is_named(orders: Table) -> None:
    refused(
        lambda: orders.group_by(col("item")).select(col("item"), col("price")),
        "column 'price' is not being grouped (rows are grouped by item)",
    )


def test_names_may_not_be_there_twice(orders: Table) -> None:
    refused(lambda: orders.select(col("id"), col("item").alias("id")), "ambiguous column name: id")
    refused(lambda: orders.join(orders, col("id") == 1), "id is on both sides", "rename_columns")


def test_windows_need_a_time_attribute_and_a_name_that_exists(orders: Table) -> None:
    window = Tumble.over(lit(1).minutes).on(col("item")).alias("w")
    refused(lambda: orders.window(window).group_by(col("item")), "the window 'w' has to be one of the keys")
    refused(lambda: orders.window(window).group_by(col("w")).select(col("id").sum), "time attribute")
    over = Over.partition_by(col("item")).order_by(col("id")).alias("w")
    refused(lambda: orders.over_window(over).select(col("id").sum.over(col("v"))), "there is no window 'v'")


def test_ranges_have_to_be_in_the_table(orders: Table) -> None:
    refused(lambda: orders.select(with_columns(range_(2, 9))), "there is no column 9")
    refused(lambda: orders.drop_columns(col("ittem")), "column 'ittem' not found", "`item`")


def test_conditions_are_combined_with_operators_not_words() -> None:
    refused(lambda: (col("a") > 1) and (col("b") > 1), "no truth value", "& | ~")


def test_none_is_no_operand() -> None:
    refused(lambda: col("a") == None, "is_null")  # noqa: E711


def test_set_operations_take_tables_of_equal_shape(orders: Table) -> None:
    refused(lambda: orders.union_all(orders.select(col("id"))), "column count mismatch")
    refused(
        lambda: orders.select(col("id")).union_all(orders.select(col("item"))), "type mismatch in column 1"
    )
    refused(lambda: orders.union_all("orders"), "union_all takes a table")


def test_elements_have_to_fit_their_schema(env: TableEnvironment) -> None:
    schema = DataTypes.ROW(
        [DataTypes.FIELD("n", DataTypes.TINYINT()), DataTypes.FIELD("s", DataTypes.STRING())]
    )
    refused(lambda: env.from_elements([(300, "a")], schema), "column 'n'", "out of its range")
    refused(lambda: env.from_elements([(1, 2)], schema), "column 's' is STRING", "int")
    refused(lambda: env.from_elements([(1, "a", 2)], schema), "3 values where the schema has 2")
    refused(lambda: env.from_elements([(1,), ("a",)]), "has values of BIGINT and of STRING")


def test_a_changelog_is_refused_by_a_sink_that_only_appends(env: TableEnvironment, orders: Table) -> None:
    env.execute_sql(
        "CREATE TEMPORARY TABLE IF NOT EXISTS appends (item STRING, n BIGINT) "
        "WITH ('connector' = 'filesystem', 'path' = '/tmp/appends', 'format' = 'csv')"
    )
    counts = orders.group_by(col("item")).select(col("item"), col("id").count)
    refused(lambda: counts.execute_insert("appends"), "appends")


def test_what_is_not_there_says_so(orders: Table) -> None:
    for missing in (
        lambda: orders.to_changelog(),
        lambda: orders.cache(),
        lambda: orders.create_temporal_table_function(col("id"), col("item")),
    ):
        with pytest.raises(NotSupportedError):
            missing()


def test_changes_into_a_sink_that_only_takes_rows_are_refused_with_the_line(
    env: TableEnvironment, orders: Table
) -> None:
    env.execute_sql(
        "CREATE TABLE files (n BIGINT) WITH ('connector' = 'filesystem', 'path' = '/nowhere', 'format' = 'csv')"
    )
    counts = orders.group_by(col("item")).select(col("id").count)
    refused(
        lambda: counts.execute_insert("files"),
        "doesn't support consuming update and delete changes",
        "execute_insert, ",
        "test_table_errors.py:",
    )


def test_what_is_no_function_is_refused_with_the_line(env: TableEnvironment) -> None:
    for register in (env.create_temporary_function, env.create_temporary_system_function):
        refused(lambda register=register: register("f", 5), "'f' is not a user-defined function", ".py:")

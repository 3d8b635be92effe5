"""Every method of Expression and every function of expressions is bound to something that can run."""

from __future__ import annotations

import pytest

from penstock.sql.spark.text import SparkWriter
from penstock.table import DataTypes, EnvironmentSettings, Table, TableEnvironment, expressions
from penstock.table.expression import Expression, JsonOnNull, TimeIntervalUnit, TimePointUnit
from penstock.table.expressions import array, call_sql, col, lit, map_

N, S, TS, D, AR, M, R, F, FLAG, BM = (
    col(c) for c in ("n", "s", "ts", "d", "ar", "m", "r", "f", "flag", "bm")
)
SUBJECTS = {
    **dict.fromkeys(
        [
            "exp",
            "log10",
            "log2",
            "ln",
            "log",
            "cosh",
            "sinh",
            "sin",
            "cos",
            "tan",
            "cot",
            "asin",
            "acos",
            "atan",
            "tanh",
            "degrees",
            "radians",
            "sqrt",
        ],
        F,
    ),
    **dict.fromkeys(
        [
            "abs",
            "sign",
            "round",
            "truncate",
            "hex",
            "chr",
            "between",
            "not_between",
            "sum",
            "sum0",
            "avg",
            "stddev_pop",
            "stddev_samp",
        ],
        N,
    ),
    **dict.fromkeys(
        [
            "var_pop",
            "var_samp",
            "percentile",
            "bin",
            "inet_ntoa",
            "elt",
            "cast",
            "try_cast",
            "if_null",
            "in_",
            "alias",
        ],
        N,
    ),
    **dict.fromkeys(["is_true", "is_false", "is_not_true", "is_not_false", "then"], FLAG),
    **dict.fromkeys(["extract"], TS),
    **dict.fromkeys(["get", "flatten"], R),
    **dict.fromkeys(["at", "cardinality", "element"], AR),
    "array_join": S.split(","),
    "floor": F,
    "ceil": F,
    "decode": S.encode("UTF-8"),
    "object_update": None,
    "printf": lit("%s"),
}
ARGUMENTS: dict[str, tuple[object, ...]] = {
    "round": (2,),
    "between": (1, 2),
    "not_between": (1, 2),
    "then": (1, 2),
    "if_null": (3,),
    "alias": ("q",),
    "cast": (DataTypes.STRING(),),
    "try_cast": (DataTypes.STRING(),),
    "in_": (1, 2),
    "percentile": (0.5,),
    "extract": (TimeIntervalUnit.YEAR,),
    "get": ("p",),
    "at": (1,),
    "elt": ("a", "b"),
    "printf": (N,),
    "substring": (1, 2),
    "substr": (1,),
    "lpad": (3, "x"),
    "rpad": (3, "x"),
    "overlay": ("x", 1),
    "left": (1,),
    "right": (1,),
    "repeat": (2,),
    "split_index": (",", 1),
    "sha2": (256,),
    "translate": ("a", "b"),
    "replace": ("a", "b"),
    "regexp_replace": ("a", "b"),
    "parse_url": ("HOST",),
    "decode": ("UTF-8",),
    "encode": ("UTF-8",),
    "json_exists": ("$.a",),
    "json_value": ("$.a",),
    "json_query": ("$.a",),
    "array_append": (1,),
    "array_contains": (1,),
    "array_position": (1,),
    "array_prepend": (1,),
    "array_remove": (1,),
    "array_slice": (1, 2),
    "array_join": (",",),
    "array_union": (AR,),
    "array_concat": (AR,),
    "array_except": (AR,),
    "array_intersect": (AR,),
    "map_union": (M,),
    **dict.fromkeys(["bitmap_and", "bitmap_andnot", "bitmap_or", "bitmap_xor"], (BM,)),
    **dict.fromkeys(
        [
            "concat",
            "starts_with",
            "ends_with",
            "like",
            "similar",
            "position",
            "regexp",
            "regexp_count",
            "regexp_extract",
        ],
        ("a",),
    ),
    **dict.fromkeys(
        ["regexp_extract_all", "regexp_instr", "regexp_substr", "instr", "locate", "split", "list_agg"],
        ("a",),
    ),
}
ELSEWHERE = {
    "asc",
    "desc",
    "over",
    "start",
    "end",
    "rowtime",
    "proctime",
    "distinct",
    "as_argument",
    "flatten",
    "object_update",
    "object_of",
    "descriptor",
    "range_",
    "with_columns",
    "without_columns",
    "with_all_columns",
    "call",
    "row_interval",
    "source_watermark",
    "lag",
    "lead",
    "current_watermark",
    "year",
    "years",
    "quarter",
    "quarters",
    "month",
    "months",
    "week",
    "weeks",
    "day",
    "days",
    "hour",
    "hours",
    "minute",
    "minutes",
    "second",
    "seconds",
    "milli",
    "millis",
    "json",
}
METHODS = sorted(n for n in dir(Expression) if not n.startswith("_") and n not in ELSEWHERE)


def subject_of(name: str) -> Expression:
    if name in SUBJECTS:
        return SUBJECTS[name]
    if name.startswith("array_") and name != "array_agg":
        return AR
    if name.startswith("map_"):
        return M
    if name.startswith("bitmap_"):
        return {"bitmap_build": AR, "bitmap_from_bytes": S.encode("UTF-8")}.get(
            name, N.cast(DataTypes.INT()) if name.startswith("bitmap_build") else BM
        )
    return S


@pytest.fixture(scope="module")
def table() -> Table:
    env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    made = env.from_elements(
        [],
        DataTypes.ROW(
            [
                DataTypes.FIELD("n", DataTypes.BIGINT()),
                DataTypes.FIELD("s", DataTypes.STRING()),
                DataTypes.FIELD("ts", DataTypes.TIMESTAMP(3)),
                DataTypes.FIELD("d", DataTypes.DATE()),
                DataTypes.FIELD("ar", DataTypes.ARRAY(DataTypes.INT())),
                DataTypes.FIELD("f", DataTypes.DOUBLE()),
                DataTypes.FIELD("m", DataTypes.MAP(DataTypes.STRING(), DataTypes.INT())),
                DataTypes.FIELD("r", DataTypes.ROW([DataTypes.FIELD("p", DataTypes.INT())])),
                DataTypes.FIELD("flag", DataTypes.BOOLEAN()),
            ]
        ),
    )
    return made.add_columns(AR.bitmap_build().alias("bm"))


def text_of(made: Table) -> str:
    """The Spark SQL text: it is there only if every function has one."""
    return SparkWriter(lambda scan: "SELECT * FROM rows", lambda call, args: "f()").text(made.plan)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_a_type_and_a_text(table: Table, name: str) -> None:
    found = getattr(subject_of(name), name)
    value = found if isinstance(found, Expression) else found(*ARGUMENTS.get(name, ()))
    assert "c0" in text_of(table.select(value))


CALLS: dict[str, tuple[object, ...]] = {
    "col": ("n",),
    "lit": (1,),
    "null_of": (DataTypes.INT(),),
    "call_sql": ("n + 1",),
    "and_": (FLAG, FLAG),
    "or_": (FLAG, FLAG),
    "not_": (FLAG,),
    "if_then_else": (FLAG, 1, 2),
    "coalesce": (N, 1),
    "to_date": (S,),
    "to_timestamp": (S,),
    "to_timestamp_ltz": (N, 3),
    "temporal_overlaps": (TS, TS, TS, TS),
    "date_format": (TS, "yyyy"),
    "timestamp_diff": (TimePointUnit.DAY, TS, TS),
    "convert_tz": (S, "UTC", "Asia/Tokyo"),
    "from_unixtime": (N,),
    "unix_timestamp": (S,),
    "array": (1, 2),
    "row": (1, "a"),
    "map_": ("k", 1),
    "map_from_arrays": (AR, AR),
    "rand": (1,),
    "rand_integer": (5, 1),
    "atan2": (F, F),
    "negative": (N,),
    "concat": (S, "a"),
    "concat_ws": (",", S),
    "log": (F, 2),
    "json_string": (S,),
    "json_object": (JsonOnNull.NULL, "k", N),
    "json_array": (JsonOnNull.ABSENT, N),
    "json_object_agg": (JsonOnNull.NULL, S, N),
    "json_array_agg": (JsonOnNull.NULL, N),
}
FUNCTIONS = sorted(n for n in expressions.__all__ if n.islower() and n not in ELSEWHERE)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_a_type_and_a_text(table: Table, name: str) -> None:
    assert "c0" in text_of(table.select(getattr(expressions, name)(*CALLS.get(name, ()))))


@pytest.mark.parametrize(
    "unit", ["year", "quarter", "month", "week", "day", "hour", "minute", "second", "milli"]
)
def test_intervals_are_made_of_numbers(unit: str) -> None:
    assert str(getattr(lit(2), unit)) == str(getattr(lit(2), unit + "s"))


def test_a_map_and_an_array_are_read_by_brackets(table: Table) -> None:
    made = table.select(map_("k", 1)["k"].alias("a"), array(1, 2)[1].alias("b"), call_sql("s").alias("c"))
    assert [f.type.as_summary() for f in made.plan.fields[:2]] == ["INT", "INT"]
    assert made.get_schema().get_field_names() == ["a", "b", "c"]

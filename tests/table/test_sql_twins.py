"""Programs of the Table API and queries that mean the same have the same plan."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from penstock.table import DataTypes, EnvironmentSettings, Table, TableEnvironment
from penstock.table.expression import JsonExistsOnError, TimeIntervalUnit, TimePointUnit
from penstock.table.expressions import (
    CURRENT_ROW,
    UNBOUNDED_RANGE,
    UNBOUNDED_ROW,
    and_,
    array,
    call_sql,
    coalesce,
    col,
    concat,
    concat_ws,
    date_format,
    if_then_else,
    lit,
    map_,
    negative,
    not_,
    null_of,
    or_,
    range_,
    row_interval,
    timestamp_diff,
    to_date,
    to_timestamp,
    with_columns,
    without_columns,
)
from penstock.table.udf import udaf, udf, udtf
from penstock.table.window import Over, Session, Slide, Tumble

Twin = tuple[str, Callable[[Table, Table], Table]]
a, b, s, x, ts, pt, k, w = (col(n) for n in ("a", "b", "s", "x", "ts", "pt", "k", "w"))


@udf(result_type=DataTypes.BIGINT())
def add(i, j):
    return i + j


@udtf(result_types=[DataTypes.STRING(), DataTypes.INT()])
def split(text):
    yield text, 1


@udaf(result_type=DataTypes.DOUBLE(), func_type="pandas")
def mean(v):
    return v.mean()


BOTH: list[Twin] = [
    ("SELECT a, b FROM t", lambda t, u: t.select(a, b)),
    ("SELECT * FROM t", lambda t, u: t.select(col("*"))),
    ("SELECT a + 1 AS c, a * b AS d FROM t", lambda t, u: t.select((a + 1).alias("c"), (a * b).alias("d"))),
    ("SELECT a - b AS c, a / 2 AS d, a % 3 AS e FROM t",
     lambda t, u: t.select((a - b).alias("c"), (a / 2).alias("d"), (a % 3).alias("e"))),
    ("SELECT -a AS c, ABS(x) AS d, POWER(x, 2) AS e FROM t",
     lambda t, u: t.select(negative(a).alias("c"), abs(x).alias("d"), (x**2).alias("e"))),
    ("SELECT a FROM t WHERE b > 3", lambda t, u: t.filter(b > 3).select(a)),
    ("SELECT a FROM t WHERE b > 3 AND s = 'x' AND a <> 1",
     lambda t, u: t.where((b > 3) & (s == "x") & (a != 1)).select(a)),
    ("SELECT a FROM t WHERE b < 3 OR NOT (a >= 1) OR b <= 0",
     lambda t, u: t.where(or_(b < 3, not_(a >= 1), b <= 0)).select(a)),
    ("SELECT a FROM t WHERE a > 1 AND b > 1", lambda t, u: t.where(and_(a > 1, b > 1)).select(a)),
    ("SELECT a FROM t WHERE (a > 1) IS NOT TRUE", lambda t, u: t.where(~(a > 1)).select(a)),
    ("SELECT a FROM t WHERE s IS NULL OR s IS NOT NULL",
     lambda t, u: t.where(s.is_null | s.is_not_null).select(a)),
    ("SELECT a FROM t WHERE a BETWEEN 1 AND 5", lambda t, u: t.where(a.between(1, 5)).select(a)),
    ("SELECT a FROM t WHERE a NOT BETWEEN 1 AND 5", lambda t, u: t.where(a.not_between(1, 5)).select(a)),
    ("SELECT a FROM t WHERE s LIKE 'a%' AND s SIMILAR TO '[a-z]+'",
     lambda t, u: t.where(s.like("a%") & s.similar("[a-z]+")).select(a)),
    ("SELECT a FROM t WHERE a IN (1, 2, 3)", lambda t, u: t.where(a.in_(1, 2, 3)).select(a)),
    ("SELECT a FROM t WHERE a IN (SELECT k FROM u)", lambda t, u: t.where(a.in_(u.select(k))).select(a)),
    ("SELECT CASE WHEN a > 1 THEN 'big' ELSE s END AS c FROM t",
     lambda t, u: t.select(if_then_else(a > 1, "big", s).alias("c"))),
    ("SELECT CASE WHEN a > 1 THEN 1 ELSE 2 END AS c FROM t", lambda t, u: t.select((a > 1).then(1, 2).alias("c"))),
    ("SELECT COALESCE(s, 'none') AS c, IFNULL(a, 0) AS d FROM t",
     lambda t, u: t.select(coalesce(s, "none").alias("c"), a.if_null(0).alias("d"))),
    ("SELECT CAST(a AS STRING) AS c, TRY_CAST(s AS INT) AS d, CAST(NULL AS INT) AS e FROM t",
     lambda t, u: t.select(a.cast(DataTypes.STRING()).alias("c"), s.try_cast(DataTypes.INT()).alias("d"),
                           null_of(DataTypes.INT()).alias("e"))),
    ("SELECT UPPER(s) AS c, CHAR_LENGTH(s) AS d, SUBSTRING(s, 2, 3) AS e, TRIM(BOTH ' ' FROM s) AS f FROM t",
     lambda t, u: t.select(s.upper_case.alias("c"), s.char_length.alias("d"), s.substring(2, 3).alias("e"),
                           s.trim().alias("f"))),
    ("SELECT CONCAT(s, '!') AS c, CONCAT_WS('-', s, 'z') AS d, s || 'x' AS e FROM t",
     lambda t, u: t.select(concat(s, "!").alias("c"), concat_ws("-", s, "z").alias("d"), (s + "x").alias("e"))),
    ("SELECT REGEXP_REPLACE(s, 'a', 'b') AS c, POSITION('o' IN s) AS d, MD5(s) AS e FROM t",
     lambda t, u: t.select(s.regexp_replace("a", "b").alias("c"), lit("o").position(s).alias("d"), s.md5.alias("e"))),
    ("SELECT EXTRACT(YEAR FROM ts) AS c, FLOOR(ts TO HOUR) AS d, CEIL(x) AS e FROM t",
     lambda t, u: t.select(ts.extract(TimeIntervalUnit.YEAR).alias("c"), ts.floor(TimeIntervalUnit.HOUR).alias("d"),
                           x.ceil().alias("e"))),
    ("SELECT ts + INTERVAL '5' MINUTE AS c, ts - INTERVAL '2' MONTH AS d FROM t",
     lambda t, u: t.select((ts + lit(5).minutes).alias("c"), (ts - lit(2).months).alias("d"))),
    ("SELECT TIMESTAMPDIFF(DAY, ts, ts) AS c, DATE_FORMAT(ts, 'yyyy') AS d FROM t",
     lambda t, u: t.select(timestamp_diff(TimePointUnit.DAY, ts, ts).alias("c"), date_format(ts, "yyyy").alias("d"))),
    ("SELECT TO_DATE(s) AS c, TO_TIMESTAMP(s, 'yyyy') AS d FROM t",
     lambda t, u: t.select(to_date(s).alias("c"), to_timestamp(s, "yyyy").alias("d"))),
    ("SELECT ARRAY[1, 2] AS c, MAP['k', 1] AS d, CARDINALITY(ARRAY[a]) AS e FROM t",
     lambda t, u: t.select(array(1, 2).alias("c"), map_("k", 1).alias("d"), array(a).cardinality.alias("e"))),
    ("SELECT ar[1] AS c, ARRAY_CONTAINS(ar, 3) AS d, m['k'] AS e FROM t",
     lambda t, u: t.select(col("ar").at(1).alias("c"), col("ar").array_contains(3).alias("d"),
                           col("m")["k"].alias("e"))),
    ("SELECT r.p AS c FROM t", lambda t, u: t.select(col("r").get("p").alias("c"))),
    ("SELECT JSON_EXISTS(s, '$.a' FALSE ON ERROR) AS c FROM t",
     lambda t, u: t.select(s.json_exists("$.a", JsonExistsOnError.FALSE).alias("c"))),
    ("SELECT add_up(a, b) AS c FROM t", lambda t, u: t.select(add(a, b).alias("c"))),
    ("SELECT a + b * 2 AS c FROM t", lambda t, u: t.select(call_sql("a + b * 2").alias("c"))),
    ("SELECT SUM(a) AS c, COUNT(s) AS d, AVG(x) AS e, MIN(b) AS f, MAX(b) AS g FROM t",
     lambda t, u: t.select(a.sum.alias("c"), s.count.alias("d"), x.avg.alias("e"), b.min.alias("f"),
                           b.max.alias("g"))),
    ("SELECT s, SUM(a) AS c FROM t GROUP BY s", lambda t, u: t.group_by(s).select(s, a.sum.alias("c"))),
    ("SELECT s, b, SUM(a) + MAX(b) AS c FROM t GROUP BY s, b",
     lambda t, u: t.group_by(s, b).select(s, b, (a.sum + b.max).alias("c"))),
    ("SELECT COUNT(DISTINCT s) AS c, SUM(DISTINCT a) AS d FROM t GROUP BY b",
     lambda t, u: t.group_by(b).select(s.count.distinct.alias("c"), a.sum.distinct.alias("d"))),
    ("SELECT UPPER(s) AS c, COUNT(a) AS d FROM t GROUP BY UPPER(s)",
     lambda t, u: t.group_by(s.upper_case.alias("c")).select(col("c"), a.count.alias("d"))),
    ("SELECT STDDEV_POP(x) AS c, VAR_SAMP(x) AS d, COLLECT(s) AS e FROM t GROUP BY b",
     lambda t, u: t.group_by(b).select(x.stddev_pop.alias("c"), x.var_samp.alias("d"), s.collect.alias("e"))),
    ("SELECT FIRST_VALUE(a) AS c, LAST_VALUE(a) AS d, LISTAGG(s, ';') AS e FROM t GROUP BY b",
     lambda t, u: t.group_by(b).select(a.first_value.alias("c"), a.last_value.alias("d"),
                                       s.list_agg(";").alias("e"))),
    ("SELECT s, COALESCE(SUM(a), 0) AS c FROM t GROUP BY s",
     lambda t, u: t.group_by(s).select(s, coalesce(a.sum, 0).alias("c"))),
    ("SELECT s, avg_of(x) AS c FROM t GROUP BY s", lambda t, u: t.group_by(s).select(s, mean(x).alias("c"))),
    ("SELECT c FROM (SELECT s, SUM(a) AS c FROM t GROUP BY s) WHERE c > 5",
     lambda t, u: t.group_by(s).select(s, a.sum.alias("c")).filter(col("c") > 5).select(col("c"))),
    ("SELECT DISTINCT a, s FROM t", lambda t, u: t.select(a, s).distinct()),
    ("SELECT * FROM t JOIN u ON a = k", lambda t, u: t.join(u, a == k).select(col("*"))),
    ("SELECT a, v FROM t LEFT JOIN u ON a = k AND v > 1",
     lambda t, u: t.left_outer_join(u, (a == k) & (col("v") > 1)).select(a, col("v"))),
    ("SELECT a, v FROM t RIGHT JOIN u ON a = k", lambda t, u: t.right_outer_join(u, a == k).select(a, col("v"))),
    ("SELECT a, v FROM t FULL JOIN u ON a = k", lambda t, u: t.full_outer_join(u, a == k).select(a, col("v"))),
    ("SELECT a, v FROM t, u WHERE a = k", lambda t, u: t.join(u).where(a == k).select(a, col("v"))),
    ("SELECT a, word FROM t, LATERAL TABLE(split_up(s)) AS q(word, n)",
     lambda t, u: t.join_lateral(split(s).alias("word", "n")).select(a, col("word"))),
    ("SELECT a, word FROM t LEFT JOIN LATERAL TABLE(split_up(s)) AS q(word, n) ON TRUE",
     lambda t, u: t.left_outer_join_lateral(split(s).alias("word", "n")).select(a, col("word"))),
    ("SELECT word, n FROM t, LATERAL TABLE(split_up(s)) AS q(word, n)",
     lambda t, u: t.flat_map(split(s).alias("word", "n"))),
    ("SELECT a FROM t UNION ALL SELECT k FROM u", lambda t, u: t.select(a).union_all(u.select(k))),
    ("SELECT a FROM t UNION SELECT k FROM u", lambda t, u: t.select(a).union(u.select(k))),
    ("SELECT a FROM t INTERSECT SELECT k FROM u", lambda t, u: t.select(a).intersect(u.select(k))),
    ("SELECT a FROM t EXCEPT ALL SELECT k FROM u", lambda t, u: t.select(a).minus_all(u.select(k))),
    ("SELECT a, s FROM t ORDER BY a DESC NULLS FIRST, s NULLS LAST FETCH FIRST 5 ROWS ONLY",
     lambda t, u: t.select(a, s).order_by(a.desc, s).fetch(5)),
    ("SELECT a FROM t ORDER BY a NULLS LAST LIMIT 5 OFFSET 2", lambda t, u: t.select(a).order_by(a.asc).limit(5, 2)),
    ("SELECT a, b, x FROM t", lambda t, u: t.select(with_columns(range_("a", "x")))),
    ("SELECT b, x FROM t", lambda t, u: t.select(without_columns(a, range_(4, 9)))),
    ("SELECT k, v, k + 1 AS n FROM u", lambda t, u: u.add_columns((k + 1).alias("n"))),
    ("SELECT k + 1 AS k, v FROM u", lambda t, u: u.add_or_replace_columns((k + 1).alias("k"))),
    ("SELECT k AS kk, v FROM u", lambda t, u: u.rename_columns(k.alias("kk"))),
    ("SELECT k FROM u", lambda t, u: u.drop_columns(col("v"))),
    ("SELECT s, SUM(a) OVER (PARTITION BY s ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS c FROM t",
     lambda t, u: t.over_window(Over.partition_by(s).order_by(ts).preceding(row_interval(2)).following(CURRENT_ROW)
                                .alias("w")).select(s, a.sum.over(w).alias("c"))),
    ("SELECT MAX(a) OVER (ORDER BY ts RANGE BETWEEN INTERVAL '5' SECOND PRECEDING AND CURRENT ROW) AS c FROM t",
     lambda t, u: t.over_window(Over.order_by(ts).preceding(lit(5).seconds).alias("w")).select(
         a.max.over(w).alias("c"))),
    ("SELECT COUNT(a) OVER (PARTITION BY s ORDER BY ts RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS c "
     "FROM t",
     lambda t, u: t.over_window(Over.partition_by(s).order_by(ts).preceding(UNBOUNDED_RANGE).alias("w")).select(
         a.count.over(w).alias("c"))),
    ("SELECT COUNT(a) OVER (ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS c FROM t",
     lambda t, u: t.over_window(Over.order_by(ts).preceding(UNBOUNDED_ROW).alias("w")).select(
         a.count.over(w).alias("c"))),
    ("SELECT s, TUMBLE_START(ts, INTERVAL '10' SECOND) AS c, SUM(a) AS d FROM t "
     "GROUP BY s, TUMBLE(ts, INTERVAL '10' SECOND)",
     lambda t, u: t.window(Tumble.over(lit(10).seconds).on(ts).alias("w")).group_by(s, w).select(
         s, w.start.alias("c"), a.sum.alias("d"))),
    ("SELECT HOP_END(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND) AS c, COUNT(a) AS d FROM t "
     "GROUP BY HOP(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND)",
     lambda t, u: t.window(Slide.over(lit(10).seconds).every(lit(5).seconds).on(ts).alias("w")).group_by(w).select(
         w.end.alias("c"), a.count.alias("d"))),
]  # fmt: skip
STREAMING: list[Twin] = [
    ("SELECT s, SESSION_END(ts, INTERVAL '3' SECOND) AS c, SUM(a) AS d FROM t "
     "GROUP BY SESSION(ts, INTERVAL '3' SECOND), s",
     lambda t, u: t.window(Session.with_gap(lit(3).seconds).on(ts).alias("w")).group_by(w, s).select(
         s, w.end.alias("c"), a.sum.alias("d"))),
    ("SELECT TUMBLE_ROWTIME(ts, INTERVAL '1' MINUTE) AS c, MAX(a) AS d FROM t "
     "GROUP BY TUMBLE(ts, INTERVAL '1' MINUTE)",
     lambda t, u: t.window(Tumble.over(lit(1).minutes).on(ts).alias("w")).group_by(w).select(
         w.rowtime.alias("c"), a.max.alias("d"))),
    ("SELECT TUMBLE_PROCTIME(pt, INTERVAL '1' HOUR) AS c, MAX(a) AS d FROM t GROUP BY TUMBLE(pt, INTERVAL '1' HOUR)",
     lambda t, u: t.window(Tumble.over(lit(1).hours).on(pt).alias("w")).group_by(w).select(
         w.proctime.alias("c"), a.max.alias("d"))),
]  # fmt: skip
CASES = [(mode, *twin) for mode in ("batch", "streaming") for twin in BOTH] + [
    ("streaming", *t) for t in STREAMING
]


@pytest.fixture(scope="module")
def environments() -> dict[str, TableEnvironment]:
    settings = {
        "batch": EnvironmentSettings.in_batch_mode(),
        "streaming": EnvironmentSettings.in_streaming_mode(),
    }
    made = {mode: TableEnvironment.create(s) for mode, s in settings.items()}
    for env in made.values():
        env.execute_sql(
            "CREATE TABLE t (a BIGINT, b INT, x DOUBLE, s STRING, ts TIMESTAMP(3), ar ARRAY<INT>, "
            "m MAP<STRING, INT>, r ROW<p INT, q STRING>, pt AS PROCTIME(), WATERMARK FOR ts AS ts) "
            "WITH ('connector' = 'datagen', 'number-of-rows' = '1')"
        )
        env.execute_sql(
            "CREATE TABLE u (k BIGINT, v INT) WITH ('connector' = 'datagen', 'number-of-rows' = '1')"
        )
        env.create_temporary_system_function("add_up", add)
        env.create_temporary_system_function("split_up", split)
        env.create_temporary_system_function("avg_of", mean)
    return made


def plain(plan: object) -> str:
    """The plan without the names under which functions are registered."""
    text = repr(plan)
    for name, own in (("add_up", "add"), ("split_up", "split"), ("avg_of", "mean")):
        text = text.replace(f"'{name}'", f"'{own}'")
    return re.sub(r"key='\w+'", "", text)


@pytest.mark.parametrize(("mode", "sql", "program"), CASES, ids=[f"{m}-{s[:70]}" for m, s, _ in CASES])
def test_a_program_has_the_plan_of_its_sql_twin(
    environments: dict[str, TableEnvironment], mode: str, sql: str, program: Callable[[Table, Table], Table]
) -> None:
    env = environments[mode]
    table = program(env.from_path("t"), env.from_path("u"))
    assert plain(table.plan) == plain(env.sql_query(sql).plan)


def test_there_are_more_than_sixty_pairs() -> None:
    assert len(BOTH) + len(STREAMING) >= 60

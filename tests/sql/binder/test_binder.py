"""Names and types of queries, without Spark: what is accepted, what is refused, and how it is said."""

from __future__ import annotations

import pytest

from penstock.catalog.catalog_manager import CatalogManager
from penstock.common.errors import PenstockError, SqlError
from penstock.sql.dialect.statement_parser import parse_statement
from penstock.sql.plan.algebra import Aggregate, Correlate, Join, Over, Plan, WindowTvf, walk_plan
from penstock.sql.session import SqlSession


@pytest.fixture
def session() -> SqlSession:
    session = SqlSession(CatalogManager(), {})
    session.execute(
        "CREATE TABLE orders (id INT, who STRING, price DECIMAL(8, 2), tags ARRAY<STRING>, ts TIMESTAMP(3), "
        "WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen')"
    )
    session.execute("CREATE TABLE people (who STRING, city STRING) WITH ('connector' = 'datagen')")
    return session


def bind(session: SqlSession, sql: str) -> Plan:
    statement = parse_statement(sql)
    return session.bind(statement.ast, statement.sql)  # type: ignore[attr-defined]


def columns(session: SqlSession, sql: str) -> list[str]:
    return [f"{f.name} {f.type.as_summary()}" for f in bind(session, sql).fields]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT id, price * 2 FROM orders", ["id INT", "EXPR$1 DECIMAL(19, 2)"]),
        (
            "SELECT 1, 'ab', 1.50, 1e3, NULL IS NULL",
            [
                "EXPR$0 INT NOT NULL",
                "EXPR$1 CHAR(2) NOT NULL",
                "EXPR$2 DECIMAL(3, 2) NOT NULL",
                "EXPR$3 DOUBLE NOT NULL",
                "EXPR$4 BOOLEAN NOT NULL",
            ],
        ),
        (
            "SELECT o.* FROM orders AS o JOIN people AS p ON o.who = p.who",
            ["id INT", "who STRING", "price DECIMAL(8, 2)", "tags ARRAY<STRING>", "ts TIMESTAMP(3)"],
        ),
        ("SELECT COUNT(*) AS n, SUM(id) AS s FROM orders", ["n BIGINT NOT NULL", "s INT"]),
        (
            "SELECT who, SUM(id) AS s FROM orders GROUP BY who HAVING SUM(id) > (SELECT SUM(id) FROM orders)",
            ["who STRING", "s INT"],
        ),
        ("SELECT p.city FROM orders LEFT JOIN people p USING (who)", ["city STRING"]),
        ("SELECT tag FROM orders CROSS JOIN UNNEST(tags) AS t (tag)", ["tag STRING"]),
        ("SELECT x FROM (VALUES (1), (2.5)) AS v (x)", ["x DECIMAL(11, 1) NOT NULL"]),
        (
            "SELECT COALESCE(NULL, id), id = NULL, SPLIT(NULL, ',') FROM orders",
            ["EXPR$0 INT", "EXPR$1 BOOLEAN", "EXPR$2 ARRAY<STRING>"],
        ),
    ],
)
def test_output_columns_have_flinks_names_and_types(
    session: SqlSession, sql: str, expected: list[str]
) -> None:
    assert columns(session, sql) == expected


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT nope FROM orders", "column 'nope' not found"),
        ("SELECT who FROM orders JOIN people ON TRUE", "ambiguous"),
        ("SELECT * FROM order_s", "did you mean `orders`"),
        ("SELECT UPPR(who) FROM orders", "did you mean `UPPER`"),
        ("SELECT id, COUNT(*) FROM orders", "not being grouped"),
        ("SELECT id FROM orders WHERE COUNT(*) > 1", "WHERE"),
        ("SELECT id FROM orders QUALIFY id > 1", "QUALIFY needs a window function"),
        ("SELECT UPPER(NULL) FROM orders", "illegal use of NULL in UPPER"),
        ("SELECT id + NULL FROM orders", "illegal use of NULL"),
        ("SELECT COUNT(NULL) FROM orders", "illegal use of NULL"),
        ("SELECT MAX(ENCODE(who, 'UTF-8')) FROM orders", "no order"),
        ("SELECT APPROX_COUNT_DISTINCT(tags) FROM orders", "APPROX_COUNT_DISTINCT"),
        ("SELECT YEAR(CURRENT_TIME) FROM orders", "YEAR"),
        ("SELECT SUM(COUNT(*)) FROM orders", "nested"),
        ("SELECT id FROM orders UNION SELECT who, city FROM people", "column count mismatch"),
        ("SELECT id FROM orders UNION SELECT who FROM people", "type mismatch"),
        ("SELECT id FROM orders WHERE id", "condition"),
        ("SELECT RANK() OVER (PARTITION BY who) FROM orders", "ORDER BY"),
        ("SELECT (SELECT id, who FROM orders)", "one column"),
        ("SELECT * FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(who), INTERVAL '1' HOUR))", "TIMESTAMP"),
        ("SELECT * FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(tz), INTERVAL '1' HOUR))", "did you mean `ts`"),
        (
            "SELECT * FROM TABLE(CUMULATE(TABLE orders, DESCRIPTOR(ts), INTERVAL '2' HOUR, INTERVAL '3' HOUR))",
            "multiple",
        ),
        ("SELECT * FROM TABLE(SESSION(TABLE orders, DESCRIPTOR(ts), INTERVAL '2' HOUR))", "batch"),
        ("SELECT INTERVAL '150' SECOND", "precision"),
    ],
)
def test_what_flink_refuses_is_refused_with_a_clear_message(
    session: SqlSession, sql: str, message: str
) -> None:
    with pytest.raises(PenstockError, match=r"(?s).*") as caught:
        bind(session, sql)
    assert message in str(caught.value)


def test_an_unknown_column_is_underlined(session: SqlSession) -> None:
    with pytest.raises(SqlError) as caught:
        bind(session, "SELECT id,\n  prise FROM orders")
    assert (caught.value.line, caught.value.column, caught.value.length) == (2, 3, 5)
    assert "did you mean `price`?" in str(caught.value)


def test_row_time_survives_projection_and_ends_at_a_function(session: SqlSession) -> None:
    plan = bind(session, "SELECT ts, ts + INTERVAL '1' DAY AS later FROM orders")
    assert [f.time for f in plan.fields] == ["rowtime", ""]


def test_a_window_function_hands_its_time_attribute_to_window_time(session: SqlSession) -> None:
    plan = bind(
        session, "SELECT ts, window_time FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' HOUR))"
    )
    assert [f.time for f in plan.fields] == ["", "rowtime"]


def test_a_legacy_group_window_becomes_a_window_function_below_the_aggregate(session: SqlSession) -> None:
    sql = "SELECT TUMBLE_START(ts, INTERVAL '1' HOUR), COUNT(*) FROM orders GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)"
    found = [type(n) for n in walk_plan(bind(session, sql)) if isinstance(n, (Aggregate, WindowTvf))]
    assert found == [Aggregate, WindowTvf]


def test_grouping_sets_are_positions_of_keys(session: SqlSession) -> None:
    plan = bind(
        session, "SELECT id, who, COUNT(*) FROM orders GROUP BY GROUPING SETS ((id, who), ROLLUP (who), ())"
    )
    aggregate = next(n for n in walk_plan(plan) if isinstance(n, Aggregate))
    assert aggregate.grouping_sets == ((0, 1), (1,), (), ())


def test_a_correlated_lateral_query_is_a_correlate_and_a_plain_one_a_join(session: SqlSession) -> None:
    correlated = bind(
        session, "SELECT 1 FROM people p, LATERAL (SELECT id FROM orders o WHERE o.who = p.who) AS t"
    )
    plain = bind(session, "SELECT 1 FROM people p, LATERAL (SELECT id FROM orders) AS t")
    assert any(isinstance(n, Correlate) for n in walk_plan(correlated))
    assert any(isinstance(n, Join) for n in walk_plan(plain))


def test_equal_window_calls_are_computed_once(session: SqlSession) -> None:
    sql = "SELECT SUM(id) OVER (ORDER BY ts) + 1, SUM(id) OVER (ORDER BY ts) + 2 FROM orders"
    over = next(n for n in walk_plan(bind(session, sql)) if isinstance(n, Over))
    assert len(over.calls) == 1


def test_streaming_refuses_two_different_windows_in_one_select(session: SqlSession) -> None:
    session.streaming = True
    sql = "SELECT SUM(id) OVER (ORDER BY ts), SUM(id) OVER (PARTITION BY who ORDER BY ts) FROM orders"
    with pytest.raises(SqlError, match="share one window"):
        bind(session, sql)

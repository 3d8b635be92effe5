"""What the optimizer does to whole queries, and what it must leave alone."""

from __future__ import annotations

import pytest

from penstock.sql.plan.algebra import (
    Aggregate,
    Filter,
    Join,
    Over,
    Plan,
    Project,
    Scan,
    Watermark,
    WindowTvf,
    walk_plan,
)
from penstock.sql.plan.examples import bound, shown
from penstock.sql.plan.optimizer import optimize
from penstock.sql.plan.rex_text import rex_text
from penstock.table import EnvironmentSettings, TableEnvironment


def optimized(sql: str) -> Plan:
    return optimize([bound(sql)], "streaming").plans[0]


def filters_above(plan: Plan, kind: type[Plan]) -> list[str]:
    """Conditions that stand directly on a node of this kind, projections aside."""
    found = []
    for node in walk_plan(plan):
        below = node.inputs[0] if isinstance(node, Filter) else None
        while isinstance(below, (Project, Filter)):
            below = below.input
        if isinstance(node, Filter) and isinstance(below, kind):
            found.append(rex_text(node.condition, [f.name for f in node.input.fields]))
    return found


def joins(plan: Plan) -> list[Join]:
    return [node for node in walk_plan(plan) if isinstance(node, Join)]


# --- where conditions end up ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "kind", "expected"),
    [
        ("SELECT * FROM a LEFT JOIN b ON a.x = b.x AND b.y > 1 WHERE a.y = 2", Scan, ["y = 2", "y > 1"]),
        ("SELECT * FROM a RIGHT JOIN b ON a.x = b.x AND a.y > 1 WHERE b.y = 2", Scan, ["y > 1", "y = 2"]),
        ("SELECT * FROM a LEFT JOIN b ON a.x = b.x AND a.y > 1", Scan, []),
        ("SELECT * FROM a FULL JOIN b ON a.x = b.x AND a.y > 1 AND b.y > 1", Scan, []),
        ("SELECT * FROM (SELECT x, COUNT(*) AS n FROM a GROUP BY x) WHERE x = 1 AND n > 2", Scan, ["x = 1"]),
        ("SELECT x, COUNT(*) FROM a GROUP BY x HAVING x = 1", Scan, ["x = 1"]),
        ("SELECT COUNT(*) FROM a HAVING 1 < COUNT(*)", Scan, []),
        ("SELECT x, y, COUNT(*) FROM a GROUP BY ROLLUP (x, y) HAVING x = 1", Scan, []),
        ("SELECT * FROM (SELECT x FROM a UNION ALL SELECT y FROM b) WHERE x > 1", Scan, ["x > 1", "y > 1"]),
        ("SELECT * FROM (SELECT x FROM a EXCEPT SELECT y FROM b) WHERE x > 1", Scan, ["x > 1", "y > 1"]),
        ("SELECT * FROM (SELECT * FROM a ORDER BY x LIMIT 3) WHERE x > 1", Scan, []),
        ("SELECT * FROM e WHERE x = 1", Scan, []),
        ("SELECT * FROM e WHERE x = 1", Watermark, ["x = 1"]),
        (
            "SELECT * FROM (SELECT *, SUM(y) OVER (PARTITION BY x ORDER BY t) AS n FROM e) WHERE x = 1 AND y = 2",
            Watermark,
            ["x = 1"],
        ),
        (
            "SELECT * FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(t), INTERVAL '1' HOUR)) WHERE x = 1",
            Watermark,
            ["x = 1"],
        ),
        (
            "SELECT * FROM TABLE(SESSION(TABLE e PARTITION BY x, DESCRIPTOR(t), INTERVAL '1' HOUR)) "
            "WHERE x = 1 AND y = 2",
            Watermark,
            ["x = 1"],
        ),
    ],
)
def test_a_condition_goes_as_far_as_it_may(sql: str, kind: type[Plan], expected: list[str]) -> None:
    assert filters_above(optimized(sql), kind) == expected


def test_an_aggregate_stays_next_to_its_window() -> None:
    plan = optimized(
        "SELECT * FROM (SELECT window_start AS w, window_end AS v, x, COUNT(*) AS n "
        "FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(t), INTERVAL '1' HOUR)) GROUP BY window_start, window_end, x) "
        "WHERE x = 1 AND w > TIMESTAMP '2024-01-01 00:00:00'"
    )
    [aggregate] = [node for node in walk_plan(plan) if isinstance(node, Aggregate)]
    below = aggregate.input
    while isinstance(below, Project):
        below = below.input
    assert isinstance(below, WindowTvf)
    assert filters_above(plan, Watermark) == ["x = 1"]


@pytest.mark.parametrize(
    "condition", ["RAND() < 0.5", "CAST(a.s AS INT) > 1", "1 / a.y > 0", "a.x IN (SELECT x FROM c)"]
)
def test_what_may_fail_or_differ_does_not_go_below_a_join(condition: str) -> None:
    plan = optimized(f"SELECT a.s FROM a JOIN b ON a.x = b.x WHERE {condition} AND a.y > 0")
    assert filters_above(plan, Scan)[0] == "y > 0"
    assert len(filters_above(plan, Join)) == 1


def test_what_guards_a_condition_is_asked_before_it() -> None:
    plan = optimized("SELECT * FROM (SELECT * FROM a WHERE y <> 0) WHERE 10 / y > 1")
    assert filters_above(plan, Scan) == ["(10 / y) > 1", "y <> 0"], "two filters, the guard below"


def test_a_cast_in_an_equality_is_a_key_of_the_join() -> None:
    [join] = joins(optimized("SELECT a.x FROM a, b WHERE CAST(a.s AS INT) = b.x"))
    assert join.condition is not None


def test_a_correlated_condition_stays_in_its_query() -> None:
    plan = optimized("SELECT * FROM a WHERE EXISTS (SELECT 1 FROM b, c WHERE b.x = c.x AND b.y = a.y)")
    assert "EXISTS" in shown(plan)


# --- joins ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT * FROM a LEFT JOIN b ON a.x = b.x WHERE b.y > 1", "inner"),
        ("SELECT * FROM a LEFT JOIN b ON a.x = b.x WHERE b.y > 1 OR b.s = 'q'", "inner"),
        ("SELECT * FROM a LEFT JOIN b ON a.x = b.x WHERE b.y > 1 OR a.s = 'q'", "left"),
        ("SELECT * FROM a LEFT JOIN b ON a.x = b.x WHERE b.y IS NULL", "left"),
        ("SELECT * FROM a LEFT JOIN b ON a.x = b.x WHERE COALESCE(b.y, 3) > 1", "left"),
        ("SELECT * FROM a RIGHT JOIN b ON a.x = b.x WHERE a.y IS NOT NULL", "inner"),
        ("SELECT * FROM a FULL JOIN b ON a.x = b.x WHERE a.y > 1", "left"),
        ("SELECT * FROM a FULL JOIN b ON a.x = b.x WHERE a.y > b.y", "inner"),
        ("SELECT * FROM (SELECT b.y AS k FROM a LEFT JOIN b ON a.x = b.x) q JOIN c ON q.k = c.x", "inner"),
    ],
)
def test_an_outer_join_becomes_an_inner_one_only_if_nulls_are_dropped(sql: str, kind: str) -> None:
    assert joins(optimized(sql))[-1].kind == kind


@pytest.mark.parametrize("order", ["a, b, c", "b, a, c", "a, c, b", "c, b, a"])
def test_no_order_of_from_is_a_cross_product(order: str) -> None:
    plan = optimized(f"SELECT a.s, b.s, c.s FROM {order} WHERE a.x = c.x AND c.y = b.y")
    assert all(join.condition is not None for join in joins(plan))


def test_transitive_equalities_connect_tables() -> None:
    plan = optimized("SELECT a.s FROM b, c, a WHERE a.x = b.x AND a.x = c.x")
    assert all(join.condition is not None for join in joins(plan))
    assert [node.identifier.object_name for node in walk_plan(plan) if isinstance(node, Scan)] == [
        "b",
        "c",
        "a",
    ]


def test_a_constant_reaches_all_equal_columns() -> None:
    plan = optimized("SELECT a.s FROM a, b, c WHERE a.x = b.x AND b.x = c.x AND c.x = 7")
    assert filters_above(plan, Scan) == ["x = 7"] * 3


def test_a_hinted_join_is_not_reordered() -> None:
    plan = optimized("SELECT /*+ STATE_TTL('a' = '1d') */ a.s FROM a, b, c WHERE a.x = c.x AND c.y = b.y")
    assert any(join.ttl_ms[0] for join in joins(plan))


def test_common_conditions_of_branches_become_keys() -> None:
    [join] = joins(optimized("SELECT a.s FROM a, b WHERE (a.x = b.x AND a.y = 1) OR (a.x = b.x AND b.y = 2)"))
    assert "x = x" in join.describe()


# --- ranks, columns, sharing ------------------------------------------------------------------------------


def test_a_rank_filter_reaches_its_over_through_projections_and_joins() -> None:
    plan = optimized(
        "SELECT q.k, b.s FROM (SELECT p.k, p.n FROM "
        "(SELECT x AS k, ROW_NUMBER() OVER (PARTITION BY x ORDER BY y) AS n FROM a) p) q "
        "JOIN b ON q.k = b.x WHERE q.n <= 3"
    )
    parents = [node for node in walk_plan(plan) if node.inputs and isinstance(node.inputs[0], Over)]
    assert [type(node) for node in parents] == [Filter]


def test_operators_with_state_get_only_the_columns_that_are_used() -> None:
    plan = optimized("SELECT COUNT(*) FROM (SELECT a.s, b.s FROM a JOIN b ON a.x = b.x) GROUP BY 1 + 1")
    [join] = joins(plan)
    assert [f.name for f in join.fields] == ["x", "x"]


def test_pruning_keeps_the_columns_of_all_readers() -> None:
    side = "(SELECT * FROM e WHERE x > 1)"
    plan = optimized(f"SELECT p.x, q.y FROM {side} p JOIN {side} q ON p.x = q.x")
    assert len({id(node) for node in walk_plan(plan) if isinstance(node, Watermark)}) == 1
    [join] = joins(plan)
    assert [f.name for f in join.fields] == ["x", "x", "y"]


def test_an_aggregate_call_that_nobody_reads_is_dropped_but_not_the_row() -> None:
    aggregates = [
        node
        for sql in (
            "SELECT x FROM (SELECT x, COUNT(*) AS n FROM a GROUP BY x)",
            "SELECT 1 FROM (SELECT COUNT(*) AS n, MAX(x) AS m FROM a)",
        )
        for node in walk_plan(optimized(sql))
        if isinstance(node, Aggregate)
    ]
    assert [len(node.calls) for node in aggregates] == [0, 1]


def test_what_is_computed_from_a_random_number_is_not_shared() -> None:
    side = "(SELECT x, r FROM (SELECT x, RAND() AS r FROM a) WHERE r > 0.5)"
    [plan] = optimize([bound(f"SELECT * FROM {side} p JOIN {side} q ON p.x = q.x")], "streaming").plans
    [join] = joins(plan)
    assert join.left is not join.right


def test_optimizing_again_changes_nothing() -> None:
    once = optimize(
        [bound("SELECT a.s FROM a, b, c WHERE a.x = c.x AND c.y = b.y AND b.x = 3")], "streaming"
    ).plans
    assert optimize(once, "streaming").plans == once


# --- what users see ---------------------------------------------------------------------------------------


@pytest.fixture
def env() -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name in ("orders", "rates"):
        env.execute_sql(
            f"CREATE TABLE {name} (k INT, v INT) WITH ('connector' = 'filesystem', 'path' = '/no', 'format' = 'csv')"
        )
    return env


def test_a_cross_product_is_a_warning_with_the_names_of_the_tables(env: TableEnvironment) -> None:
    text = env.explain_sql("SELECT * FROM orders o, rates r WHERE o.v < r.v")
    assert "Join(joinType=[inner]) of 'orders' with 'rates' is a cross product" in text


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM orders o, rates r WHERE o.k = r.k",
        "SELECT *, (SELECT MAX(v) FROM rates) FROM orders",
        "SELECT * FROM orders, (VALUES (1)) AS v (n)",
    ],
)
def test_a_join_with_a_key_or_with_one_row_is_none(env: TableEnvironment, query: str) -> None:
    assert "cross product" not in env.explain_sql(query)


def test_sharing_can_be_switched_off(env: TableEnvironment) -> None:
    query = "SELECT * FROM orders o JOIN orders p ON o.k = p.k"
    assert "Reused" in env.explain_sql(query)
    env.get_config().set("table.optimizer.reuse-sub-plan-enabled", "false")
    assert "Reused" not in env.explain_sql(query)

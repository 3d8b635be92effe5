"""Which joins become one operator, and what they give."""

from __future__ import annotations

import pytest

from penstock.sql.plan.examples import bound
from penstock.sql.streaming.physical import DeltaNode
from penstock.sql.streaming.planner import Planner


def operators(sql: str) -> list[str]:
    planner = Planner({})
    planner.query(bound(sql))
    return [node.name for node in planner.nodes if isinstance(node, DeltaNode)]


@pytest.mark.parametrize(
    ("joins", "kinds"),
    [
        ("a JOIN b ON a.x = b.x JOIN c ON c.x = a.x", "inner, inner"),
        ("a JOIN b ON a.x = b.x JOIN c ON c.x = b.x", "inner, inner"),
        ("a, b, c WHERE c.y = b.x AND a.x = c.y", "inner, inner"),
        ("a LEFT JOIN b ON a.x = b.x LEFT JOIN c ON c.x = a.x", "left, left"),
        ("a LEFT JOIN b ON a.x = b.x JOIN c ON c.x = a.x", "left, inner"),
        ("a JOIN b ON a.x = b.x LEFT JOIN c ON c.x = b.x", "inner, left"),
        ("a JOIN b ON a.x = b.x AND a.y = b.y JOIN c ON c.y = a.y AND a.x = c.x", "inner, inner"),
        ("a JOIN b ON a.x + 1 = b.x JOIN c ON c.x = b.x", "inner, inner"),
        ("a JOIN b ON a.x = b.x JOIN c ON c.x = a.x LEFT JOIN a d ON d.x = c.x", "inner, inner, left"),
        (
            "(SELECT x, s FROM a) a JOIN b ON a.x = b.x JOIN (SELECT DISTINCT y FROM c) c ON c.y = a.x",
            "inner, inner",
        ),
    ],
)
def test_joins_on_one_key_are_one_operator(joins: str, kinds: str) -> None:
    assert f"MultiJoin(joinTypes=[{kinds}])" in operators(f"SELECT * FROM {joins}")


@pytest.mark.parametrize(
    "joins",
    [
        "a JOIN b ON a.x = b.x JOIN c ON c.x = b.y",
        "a LEFT JOIN b ON a.x = b.x LEFT JOIN c ON c.x = b.x",
        "a JOIN b ON a.x = b.x AND a.y = b.y JOIN c ON c.x = a.x",
        "a JOIN b ON a.x = b.x FULL JOIN c ON c.x = a.x",
        "a JOIN b ON a.x = b.x AND a.y < b.y JOIN c ON c.x = a.x",
        "a JOIN b ON a.x IS NOT DISTINCT FROM b.x JOIN c ON c.x = a.x",
        "e f JOIN e g ON f.t = g.t JOIN e h ON h.t = f.t",
        "a JOIN b ON a.x = b.x JOIN c ON c.x = a.x AND c.y = b.x",
        "a JOIN b ON a.x = b.x",
    ],
)
def test_others_are_joins_of_two(joins: str) -> None:
    assert not any("Multi" in name for name in operators(f"SELECT * FROM {joins}"))


CHAIN = "SELECT a.y FROM a JOIN b ON a.x = b.x JOIN c ON c.x = a.x"


def test_it_can_be_switched_off_and_has_no_time_to_live() -> None:
    assert "MultiJoin(joinTypes=[inner, inner])" in operators(CHAIN)
    for config in ({"table.optimizer.multi-join.enabled": "false"}, {"table.exec.state.ttl": "1 h"}):
        planner = Planner(config)
        planner.query(bound(CHAIN))
        assert not any("Multi" in node.name for node in planner.nodes)


def test_a_join_that_others_read_too_is_made_once() -> None:
    pairs = "SELECT a.x, b.y FROM a JOIN b ON a.x = b.x"
    found = operators(f"SELECT p.y FROM ({pairs}) p JOIN c ON c.x = p.x UNION ALL SELECT y FROM ({pairs})")
    assert found == ["Join(joinType=[inner])"] * 2

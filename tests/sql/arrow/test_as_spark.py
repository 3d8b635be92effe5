"""Whatever has an Arrow form has exactly the values and types of its Spark SQL text."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.sql.arrow import why_not
from penstock.sql.plan.rex import Rex
from tests.sql.arrow import expressions, nasty
from tests.sql.arrow.differential import differences, on_arrow, on_spark
from tests.sql.arrow.generated import expressions as random_expressions

pytestmark = pytest.mark.spark

FAMILIES = {
    "numbers": expressions.NUMBERS,
    "casts and time": expressions.CASTS_AND_TIME,
    "text and conditions": expressions.TEXT_AND_CONDITIONS,
    "documents": expressions.DOCUMENTS,
    "clocks": expressions.CLOCKS,
}


def compared(sqls: list[str], zone: str = "UTC") -> list[str]:
    """The expressions that differ, and how."""
    rexes: list[Rex] = nasty.typed(*sqls)
    ours, theirs = on_arrow(rexes, zone), on_spark(rexes, zone)
    wrong = []
    for sql, rex, mine, other in zip(sqls, rexes, ours, theirs, strict=True):
        wrong += [f"{sql}: {text}" for text in differences(rex, mine, other)[:3]]
    return wrong


@pytest.mark.parametrize("family", FAMILIES)
def test_every_value_is_sparks(family: str) -> None:
    sqls = expressions.lines(FAMILIES[family])
    wrong: list[str] = []
    for start in range(0, len(sqls), 60):
        wrong += compared(sqls[start : start + 60])
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("zone", ["+05:30", "Etc/GMT+3"])
def test_clocks_show_the_sessions_zone(zone: str) -> None:
    wrong = compared(expressions.lines(expressions.CLOCKS), zone)
    assert not wrong, "\n".join(wrong)


@settings(max_examples=6, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_nested_expressions_have_sparks_values(seed: int) -> None:
    sqls = random_expressions(seed, 30)
    known = [sql for sql in sqls if why_not(nasty.typed(sql)[0], "UTC") is None]
    wrong = compared(known)
    assert not wrong, "\n".join(wrong)

"""Every line of docs/expressions.md holds, and no expression is missing there."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import pytest

from penstock.table import DataTypes, EnvironmentSettings, Table, TableEnvironment
from penstock.table import expression as kinds
from penstock.table import expressions as functions
from penstock.table.expression import Expression
from penstock.table.expressions import lit

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "expressions.md"
LINE = re.compile(r"^\| `(?P<expression>[^`]+)` \| `(?P<value>[^`]+)` \|$", re.MULTILINE)
ELSEWHERE = re.compile(r"`(\w+)(?:\(\))?`")

SCOPE: dict[str, Any] = {
    "DataTypes": DataTypes,
    **{name: getattr(kinds, name) for name in kinds.__all__},
    **{name: getattr(functions, name) for name in functions.__all__},
}


def sections() -> dict[str, str]:
    parts = re.split(r"^## (.+)$", PAGE.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.fixture(scope="module")
def env() -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    env.get_config().set("table.local-time-zone", "UTC")
    return env


def values(table: Table, lines: list[re.Match[str]]) -> list[str]:
    """What the expressions give on a table of one row, or whose rows they aggregate."""
    found = [eval(line["expression"], SCOPE) for line in lines]
    columns = [
        (expression if isinstance(expression, Expression) else lit(expression)).alias(f"x{n}")
        for n, expression in enumerate(found)
    ]
    with table.select(*columns).execute().collect() as rows:
        (row,) = rows
    return [repr(value) for value in row]


@pytest.mark.spark
def test_each_expression_gives_what_the_page_says(env: TableEnvironment) -> None:
    one = env.from_elements([(1,)], ["one"])
    elsewhere = ("Aggregates", "In their own places")
    lines = [m for title, text in sections().items() if title not in elsewhere for m in LINE.finditer(text)]
    assert len(lines) > 200
    assert values(one, lines) == [line["value"] for line in lines]


@pytest.mark.spark
def test_each_aggregate_gives_what_the_page_says(env: TableEnvironment) -> None:
    names = DataTypes.ROW([DataTypes.FIELD("v", DataTypes.INT()), DataTypes.FIELD("w", DataTypes.STRING())])
    rows = env.from_elements([(1, "a"), (2, "b"), (2, "c")], names)
    lines = list(LINE.finditer(sections()["Aggregates"]))
    assert values(rows, lines) == [line["value"] for line in lines]


def test_no_expression_is_missing() -> None:
    known = {name for name in vars_of(Expression) if not name.startswith("_")} | set(functions.__all__)
    shown = {word for line in LINE.finditer(PAGE.read_text()) for word in re.findall(r"\w+", line[1])}
    shown |= set(ELSEWHERE.findall(sections()["In their own places"]))
    assert sorted(known - shown) == []


def vars_of(class_: type) -> set[str]:
    return {name for base in class_.__mro__ for name in vars(base)} - set(dir(object))

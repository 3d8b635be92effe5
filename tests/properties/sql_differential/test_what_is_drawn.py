"""The programs have what the optimizer has to get right: this says how often, without running them."""

from __future__ import annotations

import pathlib
import re
from collections import Counter

from hypothesis import given, seed

from penstock.sql.streaming.physical import DeltaNode
from penstock.sql.streaming.planner import Planner
from penstock.table import EnvironmentSettings, TableEnvironment
from tests.properties.sql_differential.cases import CASES_OF_A_PART, Case, cases, few

PARTS = 12
SHAPES = {
    "tables by commas": r"FROM [^()]*? AS r\d+, ",
    "a comma and a JOIN": r", \w+ AS r\d+ (LEFT )?JOIN | ON [^()]*, [(\w].* AS r\d+",
    "four tables or more": r"(?s)( AS r\d+.*){4}",
    "a condition beside the key": r" ON \S+ = \S+ AND ",
    "a condition above a join": r"JOIN .* WHERE ",
    "a condition on groups": r" HAVING ",
}
OPERATORS = ("Join", "MultiJoin", "Aggregate", "Rank")


def test_programs_join_many_tables_with_conditions_in_every_place() -> None:
    found: Counter[str] = Counter()

    def look(case: Case) -> None:
        text = case.program.query.flink
        found.update(shape for shape, pattern in SHAPES.items() if re.search(pattern, text))
        found.update({name.partition("(")[0] for name in operators(case)})

    for part in range(PARTS):
        seed(part)(few(given(case=cases())(look)))()
    rare = {name: found[name] for name in (*SHAPES, *OPERATORS) if found[name] < PARTS // 3}
    assert not rare, f"of {PARTS * CASES_OF_A_PART} programs too few have {rare}"


def operators(case: Case) -> list[str]:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for table in case.tables:
        env.execute_sql(table.ddl(pathlib.Path("/nowhere") / table.name))
    planner = Planner({})
    planner.query(env.sql_query(case.program.query.flink)._plan)
    return [node.name for node in planner.nodes if isinstance(node, DeltaNode)]

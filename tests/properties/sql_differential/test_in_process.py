"""Random programs over random changelogs, run without Spark, answer what DuckDB says about the final tables.

PENSTOCK_PROGRAMS   how many programs (default 40)
PENSTOCK_SEED       which ones: the same number gives the same programs
"""

from __future__ import annotations

import pytest
from hypothesis import assume, given, seed

from tests.properties.sql_differential.cases import Case, cases, few, first_seed, parts
from tests.properties.sql_differential.compare import check, is_worth_running
from tests.properties.sql_differential.in_process import run_in_process


@pytest.mark.parametrize("part", parts("PENSTOCK_PROGRAMS", 40))
def test_a_program_without_spark_answers_as_duckdb_does(part: int) -> None:
    @seed(first_seed() + part)
    @few
    @given(case=cases())
    def run(case: Case) -> None:
        assume(is_worth_running(case))
        with case.limits():
            check(case, run_in_process(case))

    run()

"""Random programs over random changelogs, run on Spark, answer what DuckDB says about the final tables.

PENSTOCK_SPARK_PROGRAMS   how many programs (default 24)
PENSTOCK_SEED             which ones: the same number gives the same programs
PENSTOCK_IN_DRIVER        if set, Python stages run in the driver (tests/conformance/in_driver.py), some times as fast
"""

from __future__ import annotations

import os
import pathlib
import tempfile
from contextlib import nullcontext

import pytest
from hypothesis import assume, given, seed

from tests.conformance.in_driver import stages_in_driver
from tests.properties.sql_differential.cases import Case, cases, few, first_seed, parts
from tests.properties.sql_differential.compare import check, is_worth_running
from tests.properties.sql_differential.on_spark import run_on_spark

pytestmark = [pytest.mark.spark, pytest.mark.timeout(3600)]


@pytest.mark.parametrize("part", parts("PENSTOCK_SPARK_PROGRAMS", 24))
def test_a_program_on_spark_answers_as_duckdb_does(part: int) -> None:
    @seed(first_seed() + part)
    @few
    @given(case=cases(epoch_sizes=(0, 5, 9)))
    def run(case: Case) -> None:
        assume(is_worth_running(case))
        stages = stages_in_driver() if os.environ.get("PENSTOCK_IN_DRIVER") else nullcontext()
        with tempfile.TemporaryDirectory() as folder, stages, case.limits():
            check(case, run_on_spark(case, pathlib.Path(folder)))

    run()

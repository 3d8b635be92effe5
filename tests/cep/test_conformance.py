"""Every pattern case that Flink has answered, through the operator: straight, cut, killed, spread and rescaled.

One test for each file and way: 400 cases have 400 names in the message, but not 2,000 lines in the report.
"""

from __future__ import annotations

import pathlib

import pytest
from cep_cases import HARNESS_WAYS, HarnessWay, cases_of, in_harness

FILES = sorted((pathlib.Path(__file__).parent.parent / "conformance" / "cep").glob("*.json"))


@pytest.mark.parametrize("way", HARNESS_WAYS, ids=lambda way: way.name)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_patterns_match_as_in_flink(file: pathlib.Path, way: HarnessWay) -> None:
    problems = {case.name: in_harness(case, way) for case in cases_of(file)}
    assert problems
    assert [f"{name}: {problem}" for name, problem in problems.items() if problem] == []


def test_the_cases_are_there() -> None:
    assert len(FILES) == 16

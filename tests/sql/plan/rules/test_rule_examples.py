"""Every rule shows in its docstring, as a doctest, what a plan is before it and what it is afterwards."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from penstock.sql.plan import rules

NAMES = [module.name for module in pkgutil.iter_modules(rules.__path__)]


def examples(name: str) -> list[doctest.Example]:
    text = importlib.import_module(f"{rules.__name__}.{name}").__doc__ or ""
    return doctest.DocTestParser().get_examples(text)


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_shows_a_plan_before_and_after(name: str) -> None:
    steps = examples(name)
    applied = next((i for i, step in enumerate(steps) if f"{name}(" in step.source), len(steps))
    before = [step.want for step in steps[:applied] if step.want]
    after = [step.want for step in steps[applied:] if step.want]
    assert before and after, f"{name} has no doctest with a plan before it is applied and one after"
    assert before[-1] != after[0]


def test_every_module_is_a_rule_and_every_rule_a_module() -> None:
    assert {rule.name for rule in rules.RULES} == set(NAMES)

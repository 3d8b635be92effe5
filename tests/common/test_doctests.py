"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = [
    "types",
    "config_check",
    "typeinfo",
    "rendering",
    "config_values",
    "config_options",
    "options",
    "compatibility",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name: str) -> None:
    tested = doctest.testmod(importlib.import_module(f"penstock.common.{name}"))
    assert tested.attempted > 0 and tested.failed == 0

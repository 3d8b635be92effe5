"""The pages of connectors have the options that the code has, with their types and defaults; each says something."""

from __future__ import annotations

import importlib.util
import pathlib
import sys
from typing import Any

import pytest

from penstock.connectors.registry import CONNECTORS

DOCS = pathlib.Path(__file__).parents[2] / "docs"
ELSEWHERE = {"datagen", "print", "blackhole", "opensearch", "upsert-kafka"}
"""Described in the page's text, or by the table of a sibling."""


def _tool() -> Any:
    spec = importlib.util.spec_from_file_location("option_tables", DOCS / "option_tables.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["option_tables"] = module
    spec.loader.exec_module(module)
    return module


TABLES = _tool()


@pytest.mark.parametrize("path", TABLES.pages(), ids=lambda path: path.stem)
def test_tables_are_current(path: pathlib.Path) -> None:
    """`make docs` writes them."""
    text = path.read_text()
    assert TABLES.rewritten(text) == text


@pytest.mark.parametrize("path", TABLES.pages(), ids=lambda path: path.stem)
def test_every_option_is_explained(path: pathlib.Path) -> None:
    silent = [
        f"{match[2]}: {name}"
        for match in TABLES._TABLE.finditer(path.read_text())
        for name, (_, meaning) in TABLES._known(match[4]).items()
        if not meaning
    ]
    assert silent == []


@pytest.mark.parametrize(
    "name",
    sorted(
        n
        for n, c in CONNECTORS.items()
        if c.__module__.startswith("penstock.connectors.") and n not in ELSEWHERE
    ),
)
def test_every_option_of_a_connector_is_in_a_table(name: str) -> None:
    known = {option.name for option in CONNECTORS[name].options}
    assert known - TABLES.documented().get(name, set()) == set()


def test_a_default_that_changes_is_written_anew() -> None:
    page = (DOCS / "connectors" / "rabbitmq.md").read_text()
    assert TABLES.rewritten(page.replace("| Integer | 500 |", "| Integer | 7 |")) == page

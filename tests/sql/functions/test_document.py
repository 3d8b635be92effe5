"""The page of functions is generated and complete."""

from __future__ import annotations

import json

from penstock.sql.functions import document


def test_the_page_is_up_to_date() -> None:
    assert document.PAGE.read_text() == document.page()


def test_at_least_95_percent_of_flinks_functions_are_there() -> None:
    entries = json.loads(document.INVENTORY.read_text())["functions"]
    kinds = [document.status(entry)[0] for entry in entries]
    assert kinds.count("yes") / (kinds.count("yes") + kinds.count("no")) >= 0.95


def test_what_is_missing_says_why() -> None:
    entries = json.loads(document.INVENTORY.read_text())["functions"]
    missing = [(e["name"], why) for e in entries for kind, why in [document.status(e)] if kind == "no"]
    assert all(why != "not done yet" for _, why in missing), missing

"""The table of routes against Flink's own, and what is made of it."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

from penstock.rest.openapi import describe
from penstock.rest.routes import ROUTES, match

INVENTORY = pathlib.Path(__file__).parent.parent / "parity" / "rest_api.json"


def flinks() -> dict[tuple[str, str], Any]:
    return {(e["method"], e["path"]): e for e in json.loads(INVENTORY.read_text())["jobmanager"]}


def test_every_path_of_flink_is_served_or_says_why_not() -> None:
    ours = {(route.method, route.path): route for route in ROUTES}
    assert not flinks().keys() - ours.keys()
    for key, route in ours.items():
        assert (route.handler is None) == (route.reason is not None), key
        assert route.ours == (key not in flinks()), key


def test_names_and_statuses_are_flinks() -> None:
    for route in ROUTES:
        if not route.ours:
            known = flinks()[route.method, route.path]
            assert route.name == known["id"]
            if route.reason is None:
                assert str(route.status) == known["status"], route.path


def test_names_are_used_once() -> None:
    names = [route.name for route in ROUTES]
    assert len(names) == len(set(names))


def test_a_fixed_part_wins_over_a_parameter() -> None:
    found = match("GET", f"/jobs/{'a' * 32}/checkpoints/config")
    assert found is not None and found[0].name == "getCheckpointConfig"
    found = match("GET", "/taskmanagers/metrics")
    assert found is not None and found[0].name == "getAggregatedTaskManagerMetrics"


def test_the_description_has_every_route_with_its_parameters() -> None:
    description = describe()
    assert sum(len(verbs) for verbs in description["paths"].values()) == len(ROUTES)
    for path, verbs in description["paths"].items():
        for operation in verbs.values():
            named = {p["name"] for p in operation["parameters"] if p["in"] == "path"}
            assert named == set(re.findall(r"\{(\w+)\}", path))

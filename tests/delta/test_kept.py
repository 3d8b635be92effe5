"""Every operator tells what it keeps."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import penstock.delta
from penstock.delta.base import DeltaOperator
from penstock.delta.sort_time import SortEpoch

STATELESS = {SortEpoch}


def operators() -> list[type[DeltaOperator]]:
    for module in pkgutil.walk_packages(penstock.delta.__path__, "penstock.delta."):
        importlib.import_module(module.name)
    found, pending = set(), [DeltaOperator]
    while pending:
        kind = pending.pop()
        pending += kind.__subclasses__()
        if not kind.__abstractmethods__ and kind.__module__.startswith("penstock.delta"):
            found.add(kind)
    return sorted(found - STATELESS, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", operators(), ids=lambda kind: kind.__name__)
def test_an_operator_tells_what_it_keeps(kind: type[DeltaOperator]) -> None:
    assert kind.kept is not DeltaOperator.kept

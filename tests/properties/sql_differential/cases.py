"""A case: tables with their histories, a program over them, and how it is run.

A part of the test is a hypothesis run of its own with eight random cases, behind the simplest one. Longer runs would
spend most of their time on variations of what they have seen; hypothesis varies only after ten cases.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from penstock.delta import rank, row_store
from tests.properties.sql_differential.queries import Program, Queries
from tests.properties.sql_differential.tables import Table, tables

CASES_OF_A_PART = 8
few = settings(
    max_examples=1 + CASES_OF_A_PART,
    deadline=None,
    database=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)


def parts(variable: str, programs: int) -> range:
    """The parts it takes to run as many programs as the environment variable says."""
    return range(-(-int(os.environ.get(variable, programs)) // CASES_OF_A_PART))


def first_seed() -> int:
    return int(os.environ.get("PENSTOCK_SEED", "1")) * 10_000


@dataclass(frozen=True)
class Case:
    tables: tuple[Table, ...]
    program: Program
    epoch_size: int
    """Changes that an epoch reads of each table; 0: all."""
    parallelism: int
    restores: frozenset[int]
    """Epochs before which all subtasks are lost and restored (in process only)."""
    tight: bool = False
    """Whether operators change over to their form for many rows after a handful already."""
    may_be_empty: bool = False
    """Whether the program is worth running even if its answer has no rows."""

    def settings(self) -> dict[str, str]:
        settings = {"parallelism.default": str(self.parallelism), "table.local-time-zone": "UTC"}
        if self.epoch_size:
            settings["execution.epoch.max-records"] = str(self.epoch_size)
        return settings

    @contextmanager
    def limits(self) -> Iterator[None]:
        """In the block, the operators of this process have the case's limits."""
        with ExitStack() as patches:
            if self.tight:
                patches.enter_context(mock.patch.object(row_store, "SMALL", 2))
                patches.enter_context(mock.patch.object(rank, "_kept", lambda partition: partition.end))
            yield

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What hypothesis shows; the failure itself tells the rest."""
        printer.text(f"Case({self.program.query.flink!r})")


@st.composite
def cases(draw: Any, depth: int = 3, epoch_sizes: tuple[int, ...] = (0, 1, 3, 7)) -> Case:
    count = draw(st.sampled_from((1, 2, 2, 3, 3, 4)))
    inputs = tuple(draw(tables(name)) for name in "abcd"[:count])
    program = Queries(draw, inputs).program(draw(st.sampled_from((1, 2, *[depth] * 3))))
    return Case(
        inputs,
        program,
        draw(st.sampled_from(epoch_sizes)),
        draw(st.integers(1, 3)),
        draw(st.frozensets(st.integers(0, 4), max_size=2)),
        draw(st.booleans()),
        draw(st.integers(0, 7)) == 7,
    )

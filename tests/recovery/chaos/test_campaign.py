"""A slice of `make chaos`: seeded faults of all kinds against both jobs, without Spark."""

from __future__ import annotations

import os
import pathlib

import pytest

from chaos.campaign import Outcome, Tally, campaign, table_of
from chaos.victim import victims

FAULTS = int(os.environ.get("PENSTOCK_FAULTS", "60"))
SEED = int(os.environ.get("PENSTOCK_SEED", "7"))

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300 + 10 * FAULTS)]


def test_no_record_is_lost_or_doubled_and_no_damage_is_read_as_data(tmp_path: pathlib.Path) -> None:
    with victims() as started:
        tally = campaign(started, tmp_path, SEED, FAULTS, lambda _: None)
    assert tally.clean and tally.faults >= FAULTS, tally.table()


def test_the_table_shows_kinds_by_places() -> None:
    here, there = (
        Tally({"driver killed": Outcome(3)}),
        Tally({"driver killed": Outcome(2, lost=1), "host lost": Outcome(4)}),
    )
    rows = [line.split() for line in table_of({"in process": here, "cluster": there}).splitlines()]
    assert rows[1:] == [
        ["driver", "killed", "3", "2", "1", "0", "0"],
        ["host", "lost", "-", "4", "0", "0", "0"],
        ["2", "kinds", "3", "6", "1", "0", "0"],
        ["9", "faults"],
    ]

"""The mistakes of a first hour, each with everything it shows: what happened, where, and what to do.

PENSTOCK_ACCEPT=1 writes down what is shown now; read the difference before it is committed.
"""

from __future__ import annotations

import os
import pathlib

import pytest

from tests.first_steps.cases import Mistake, all_mistakes
from tests.first_steps.runner import shown_by_command, shown_by_program, shown_by_statements

MISTAKES = all_mistakes()


@pytest.mark.parametrize("mistake", MISTAKES, ids=[m.path.stem for m in MISTAKES])
def test_a_mistake_shows(mistake: Mistake, tmp_path: pathlib.Path) -> None:
    kind, _, mode = mistake.kind.partition(" ")
    if kind == "program":
        shown = shown_by_program(mistake.text, tmp_path, on_spark=mode == "on spark")
    elif kind == "run":
        shown = shown_by_command(mode, mistake.text, tmp_path)
    else:
        shown = shown_by_statements(mistake.text, tmp_path, mode)
    if os.environ.get("PENSTOCK_ACCEPT"):
        mistake.path.write_text(mistake.with_shown(shown), encoding="utf-8")
    assert shown == mistake.shown


def test_there_are_forty() -> None:
    assert len(MISTAKES) >= 40

"""Every block of the README runs when it is pasted."""

from __future__ import annotations

import functools
import pathlib
import re
import sys
from typing import Any

import pytest

from penstock.cli.sql.script import split_script
from penstock.runtime import submit
from penstock.runtime.compat import install_pyflink_alias
from penstock.runtime.in_process import InProcessEpochs
from penstock.table import EnvironmentSettings, TableEnvironment
from tests.docs.blocks import ROOT, Block, blocks

README = ROOT / "README.md"
BLOCKS = blocks(README)
BATCH = [b for b in BLOCKS if "in_batch_mode" in b.text]


def run(block: Block) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile("\n" * (block.line - 1) + block.text, str(README), "exec"), namespace)


@pytest.mark.parametrize("block", [b for b in BLOCKS if b not in BATCH], ids=lambda b: f"line {b.line}")
def test_a_program_runs_when_it_is_pasted(
    block: Block, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    run_here = functools.partial(submit.submit_job, make_runner=InProcessEpochs)
    monkeypatch.setattr(submit, "submit_job", run_here)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    install_pyflink_alias()
    run(Block(block.line, block.text.replace("/tmp/checkpoints", str(tmp_path)), None))
    assert len(capsys.readouterr().out.splitlines()) in (3, 6)


@pytest.mark.spark
def test_the_queries_give_rows(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = BATCH
    run(block)
    assert "Rome" in capsys.readouterr().out
    (script,) = re.findall(r'penstock sql -e "\n(.*?)"\n', README.read_text(encoding="utf-8"), re.S)
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    *_, rows = [list(t_env.execute_sql(piece.text).collect()) for piece in split_script(script)]
    assert [price for price, _ in rows] == list(range(1, 10)) and sum(n for _, n in rows) == 1_000


def test_there_are_programs() -> None:
    assert len(BLOCKS) >= 3

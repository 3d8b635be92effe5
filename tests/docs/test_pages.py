"""The documentation is true: links lead somewhere, code blocks run and print what stands below them."""

from __future__ import annotations

import functools
import importlib.util
import pathlib
import re
import sys
from typing import Any

import pytest
import yaml

from penstock.runtime import submit
from penstock.runtime.in_process import InProcessEpochs
from penstock.sql.streaming import jobs
from tests.docs.blocks import ROOT, blocks, broken_links, pages

PAGES = pages()
WITH_PROGRAMS = [p for p in PAGES if p.parent.name in ("tutorial", "howto") and blocks(p)]


def name(path: pathlib.Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_links_lead_somewhere(path: pathlib.Path) -> None:
    assert broken_links(path) == []


def test_a_link_into_nothing_is_found(tmp_path: pathlib.Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One two\n[a](no.md) [b](page.md#one-two) [c](#three) [d](https://example.org)\n```\n[e](x.md)\n```\n"
    )
    assert broken_links(page) == ["no.md", "#three"]


@pytest.mark.parametrize("path", WITH_PROGRAMS, ids=name)
def test_the_programs_of_a_page_print_what_stands_below_them(
    path: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_here = functools.partial(submit.submit_job, make_runner=InProcessEpochs)
    monkeypatch.setattr(submit, "submit_job", run_here)
    monkeypatch.setattr(jobs, "make_runner", InProcessEpochs)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    for block in blocks(path):
        exec(compile("\n" * (block.line - 1) + block.text, str(path), "exec"), namespace)
        printed = capsys.readouterr().out
        if block.printed is not None:
            assert sorted(printed.splitlines()) == sorted(block.printed.splitlines()), printed


def test_there_are_programs_to_run() -> None:
    assert len(WITH_PROGRAMS) >= 6


def test_the_page_of_configuration_keys_is_current() -> None:
    """`make docs-pages` writes it."""
    spec = importlib.util.spec_from_file_location(
        "configuration_page", ROOT / "docs" / "configuration_page.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text(encoding="utf-8") == module.written()


def test_every_page_is_in_the_navigation() -> None:
    """`make docs-site` asks the same, and takes longer."""
    text = re.sub(r"!!python\S*", "", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    listed = set(re.findall(r"[\w/-]+\.md", str(yaml.safe_load(text)["nav"])))
    written = {p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")}
    assert listed - {"examples/index.md"} == written

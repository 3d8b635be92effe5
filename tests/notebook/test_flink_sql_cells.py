"""Cells of SQL in IPython's own shell: what is shown while a query runs, what is left, and interrupts."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("IPython")  # the extra `notebook`, which `test` has

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from penstock.notebook.drawing import Picture
from penstock.runtime.in_process import InProcessEpochs
from penstock.runtime.job_registry import jobs as running_jobs
from penstock.sql.streaming import jobs
from tests.rest.jobs import wait_for

NOTEBOOK = pathlib.Path(__file__).parents[2] / "examples" / "notebook.ipynb"
NUMBERS = """CREATE TABLE numbers (v BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '500', {more}
    'fields.v.kind' = 'sequence', 'fields.v.start' = '1', 'fields.v.end' = '{end}')"""


class Notebook:
    """A shell without a terminal; what cells show is kept, the newest state of each place."""

    def __init__(self) -> None:
        self.shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
        self.shown: list[dict[str, Any]] = []
        self.updates = 0
        self._places: dict[str, int] = {}
        self.shell.display_pub.publish = self._publish  # type: ignore[method-assign]
        self.run("%load_ext penstock")

    def _publish(self, data: Any, metadata: Any = None, **more: Any) -> None:
        place = (more.get("transient") or {}).get("display_id")
        if more.get("update"):
            self.shown[self._places[place]] = data
            self.updates += 1
            return
        if place is not None:
            self._places[place] = len(self.shown)
        self.shown.append(data)

    def run(self, cell: str) -> Any:
        done = self.shell.run_cell(cell)
        done.raise_error()
        return done.result

    @property
    def last(self) -> str:
        return str(self.shown[-1]["text/plain"])


@pytest.fixture(autouse=True)
def own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))


@pytest.fixture
def heeds_interrupts() -> Iterator[None]:
    """As in a notebook's kernel; tests that a shell has started in the background ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Notebook]:
    monkeypatch.setattr(jobs, "make_runner", InProcessEpochs)
    monkeypatch.setattr("penstock.cli.sql.worker.running_context", lambda: None)
    made = Notebook()
    yield made
    for job in running_jobs():
        job.cancel()
    InteractiveShell.clear_instance()


def define(notebook: Notebook, end: int, more: str = "") -> None:
    notebook.run("%%flink_sql\n" + NUMBERS.format(end=end, more=more))
    assert notebook.last == "OK"


def test_a_streaming_query_is_one_table_that_changes_until_it_ends(notebook: Notebook) -> None:
    define(notebook, 600)
    places = len(notebook.shown)
    notebook.run("%%flink_sql -o found\nSELECT MOD(v, 3) AS k, COUNT(*) AS n FROM numbers GROUP BY MOD(v, 3)")
    assert len(notebook.shown) == places + 1, "one place, however often it was drawn"
    assert notebook.last.endswith("3 rows · finished")
    assert "<td>200</td>" in notebook.shown[-1]["text/html"]
    found = notebook.shell.user_ns["found"]
    assert sorted(found.itertuples(index=False, name=None)) == [(0, 200), (1, 200), (2, 200)]


def test_changes_are_shown_where_they_are_asked_for_and_a_limit_ends_the_query(notebook: Notebook) -> None:
    define(notebook, 1_000_000_000)
    notebook.run("%%flink_sql --changelog --limit 5 --rows 3\nSELECT COUNT(*) AS n FROM numbers")
    assert "op" in notebook.last.split("\n")[0] and "+U" in notebook.last
    assert notebook.last.endswith("stopped after 5")
    wait_for(lambda: not running_jobs())


def test_an_interrupt_cancels_the_query_and_keeps_what_was_shown(
    notebook: Notebook, heeds_interrupts: None
) -> None:
    define(notebook, 1_000_000_000)

    def interrupt() -> None:
        wait_for(lambda: notebook.updates >= 2)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        notebook.run("%%flink_sql\nSELECT MOD(v, 2) AS k, COUNT(*) AS n FROM numbers GROUP BY MOD(v, 2)")
    thread.join()
    assert notebook.last.endswith("2 rows · cancelled")
    wait_for(lambda: not running_jobs())
    notebook.run("%%flink_sql\nSHOW TABLES")
    assert "numbers" in notebook.last, "the session goes on"


def test_inserts_run_beside_the_notebook_and_texts_are_shown_as_they_are(notebook: Notebook) -> None:
    define(notebook, 1_000_000_000)
    notebook.run(
        "%%flink_sql\nCREATE TABLE nowhere (v BIGINT) WITH ('connector' = 'blackhole');\n"
        "INSERT INTO nowhere SELECT v FROM numbers;\nSHOW CREATE TABLE nowhere"
    )
    job = next(iter(running_jobs()))
    assert f"job {job.job_id} is running" in str(notebook.shown[-2])
    assert notebook.last.startswith("CREATE TABLE `default_catalog`")


def test_mistakes_are_told_without_our_frames(notebook: Notebook) -> None:
    define(notebook, 10)
    done = notebook.shell.run_cell("%%flink_sql\nSELECT nope FROM numbers")
    assert "nope" in str(done.error_in_exec)
    for cell, said in [
        ("%%flink_sql --env other\nSHOW TABLES", "no TableEnvironment called 'other'"),
        ("%%flink_sql\nSELECT 'a", "not closed"),
        ("%%flink_sql --plot a,b\nSELECT v FROM numbers", "label,number, of: v"),
    ]:
        done = notebook.shell.run_cell(cell)
        assert said in str(done.error_in_exec or done.error_before_exec), cell


def test_what_rows_say_is_text_and_never_markup() -> None:
    bad = "<script>alert(1)</script>"
    html = Picture([bad], [[bad]], 1, bad).html() + Picture(["a", "b"], [[bad, "3"]], 1, "", (0, 1)).html()
    assert "<script" not in html and html.count("&lt;script") == 5


@pytest.mark.spark
def test_the_notebook_of_the_examples_runs() -> None:
    notebook = Notebook()
    try:
        found = [
            notebook.run("".join(cell["source"]))
            for cell in json.loads(NOTEBOOK.read_text())["cells"]
            if cell["cell_type"] == "code"
        ]
        assert found[3] == [100, 100, 100, 100]
        assert len(found[4]) == 5 and all(a * a == b for a, b in found[4].itertuples(index=False, name=None))
        assert any("<rect" in shown.get("text/html", "") for shown in notebook.shown)
    finally:
        InteractiveShell.clear_instance()

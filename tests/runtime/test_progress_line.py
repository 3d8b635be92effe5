"""Who waits for a job at a terminal sees how it comes along; nobody else sees anything."""

from __future__ import annotations

import threading
import types
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common import Types, status_line
from penstock.common.ids import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.status_line import StatusLine
from penstock.datastream import StreamExecutionEnvironment
from penstock.runtime import progress_line
from penstock.runtime.progress_line import progress_text
from penstock.runtime.statistics import JobStatistics, OperatorTotals
from tests.common.test_status_line import WIPED, Terminal
from tests.runtime.in_process import start

SETTINGS = {"execution.runtime-mode": "STREAMING", "execution.epoch.max-records": "1"}


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    made = Terminal(monkeypatch)
    monkeypatch.setattr(progress_line, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr(progress_line, "TICK_SECONDS", 0.02)
    yield made
    made.close()


def statistics(**operators: OperatorTotals) -> JobStatistics:
    nodes = [types.SimpleNamespace(uid=uid, is_sink=uid == "sink") for uid in operators]
    told = JobStatistics(None, epochs=34, records_read=1_234_567, operators=dict(operators))  # type: ignore[arg-type]
    told.job = types.SimpleNamespace(graph=types.SimpleNamespace(nodes=nodes))  # type: ignore[assignment]
    return told


def test_the_line_says_how_far_how_fast_and_what_waits() -> None:
    told = statistics(
        source=OperatorTotals(0, 10, 1_714_557_605_000), sink=OperatorTotals(5_120, 0, MAX_WATERMARK)
    )
    told.waiting, told.activity = 320, ("running epoch 35", 100.0)
    assert progress_text("word count", told, 72.0, 98_000.4, 102.5) == (
        "word count · 1 min 12 s · epoch 34 · 1,234,567 rows read, 98,000/s"
        " · 320 elements wait · running epoch 35 for 2 s · 5,120 written · watermark 2024-05-01 10:00:05"
    )


@pytest.mark.parametrize(
    ("watermarks", "told"),
    [
        ((MIN_WATERMARK, MIN_WATERMARK), ""),
        ((5_000, MIN_WATERMARK), " · no watermark yet"),
        ((MAX_WATERMARK, MIN_WATERMARK), ""),
        ((MAX_WATERMARK - 1, MAX_WATERMARK), f" · watermark {MAX_WATERMARK - 1}"),
    ],
)
def test_the_watermark_is_the_least_of_all_operators(watermarks: tuple[int, int], told: str) -> None:
    line = statistics(**{f"o{i}": OperatorTotals(watermark=w) for i, w in enumerate(watermarks)})
    assert progress_text("job", line, 1, 0, 0) == f"job · 1 s · epoch 34 · 1,234,567 rows read, 0/s{told}"


def test_a_job_that_waits_for_a_restart_says_so() -> None:
    line = statistics()
    line.now("restarting in 1.5 s")
    assert progress_text("job", line, 1, 0, 0).endswith(" · restarting in 1.5 s")


def waited_for(terminal: Terminal, settings: dict[str, str], seen: threading.Event | None = None) -> str:
    """What a job leaves on the terminal; its third epoch waits until the line of the second has been seen."""
    terminal.use()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.from_collection(list(range(3)), Types.LONG()).print()

    def interfere(plan: Any, partition: int) -> None:
        assert plan.epoch != 3 or seen is None or seen.wait(30)

    start(env._transformations, {**SETTINGS, **settings}, interfere).wait()
    return terminal.written()


def test_a_job_that_is_waited_for_shows_a_line_and_takes_it_away(
    terminal: Terminal, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = threading.Event()

    class Seen(StatusLine):
        def show(self, text: str) -> None:
            super().show(text)
            if "epoch 2 " in text:
                seen.set()

    monkeypatch.setattr(status_line, "StatusLine", Seen)
    written = waited_for(terminal, {}, seen)
    assert f"{WIPED}test job · 0 s · epoch 2 · 2 rows read" in written
    assert written.endswith(WIPED)
    assert capsys.readouterr().out == "0\n1\n2\n"


def test_the_line_can_be_turned_off(terminal: Terminal) -> None:
    assert waited_for(terminal, {"penstock.progress-line": "false"}) == ""


def test_who_waits_on_another_thread_has_a_prompt_of_its_own(terminal: Terminal) -> None:
    seen: list[str] = []
    thread = threading.Thread(target=lambda: seen.append(waited_for(terminal, {})))
    thread.start()
    thread.join()
    assert seen == [""]

"""A line on a terminal that makes room for whatever else is written there."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator

import pytest

from penstock.common.status_line import status_line, wipe

WIPED = "\r\x1b[2K"


class Terminal:
    """A real terminal of the kernel's, as standard output and error."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self._screen, end = os.openpty()
        self.stream = os.fdopen(end, "w", encoding="utf-8")

    def use(self) -> None:
        """Called by tests, not by their fixture: pytest sets the streams between the two."""
        self._patch.setenv("TERM", "xterm")
        self._patch.setattr(sys, "stderr", self.stream)

    def written(self) -> str:
        self.stream.flush()
        os.set_blocking(self._screen, False)
        parts = []
        with contextlib.suppress(BlockingIOError):
            while part := os.read(self._screen, 1 << 16):
                parts.append(part)
        return b"".join(parts).decode().replace("\r\n", "\n")

    def close(self) -> None:
        self.stream.close()
        os.close(self._screen)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    made = Terminal(monkeypatch)
    yield made
    made.close()


def test_a_line_is_written_over_and_is_gone_at_the_end(terminal: Terminal) -> None:
    terminal.use()
    with status_line() as line:
        assert line is not None
        line.show("one")
        line.show("two")
    assert terminal.written() == f"{WIPED}one{WIPED}two{WIPED}"
    assert sys.stderr is terminal.stream


def test_what_is_printed_finds_the_line_gone_and_the_next_text_stands_below(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal.use()
    monkeypatch.setattr(sys, "stdout", terminal.stream)
    with status_line() as line:
        assert line is not None
        line.show("status")
        print("a result")
        print("error", file=sys.stderr)
        line.show("status")
    assert terminal.written() == f"{WIPED}status{WIPED}a result\nerror\n{WIPED}status{WIPED}"


def test_an_unfinished_line_is_not_overwritten(terminal: Terminal) -> None:
    terminal.use()
    with status_line() as line:
        assert line is not None
        sys.stderr.write("half a ")
        line.show("status")
        sys.stderr.write("line\n")
    assert terminal.written() == "half a line\n"


def test_code_that_writes_past_the_streams_can_wipe_the_line(terminal: Terminal) -> None:
    terminal.use()
    with status_line() as line:
        assert line is not None
        line.show("status")
        wipe()
        assert terminal.written() == f"{WIPED}status{WIPED}"
    wipe()
    assert terminal.written() == ""


def test_a_text_is_cut_to_the_width_of_the_terminal(terminal: Terminal) -> None:
    terminal.use()
    with status_line() as line:
        assert line is not None
        line.show("x" * 500)
    assert len(terminal.written()) < 200


def test_a_second_line_and_a_dumb_terminal_get_none(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal.use()
    with status_line(), status_line() as second:
        assert second is None
    monkeypatch.setenv("TERM", "dumb")
    with status_line() as line:
        assert line is None


def test_output_that_goes_to_a_file_never_sees_the_line(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal.use()
    file = io.StringIO()
    monkeypatch.setattr(sys, "stdout", file)
    with status_line() as line:
        assert line is not None
        line.show("status")
        print("a result")
    assert file.getvalue() == "a result\n"
    monkeypatch.setattr(sys, "stderr", file)
    with status_line() as line:
        assert line is None

"""Where the client writes: results to standard output, errors to standard error, colours on terminals only."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

__all__ = ["Output", "Progress"]

_QUIET_SECONDS = 0.3  # what is done sooner shows no spinner
_TICK_SECONDS = 0.1


@dataclass(frozen=True)
class Progress:
    """What runs, and the lines of its result so far where they may still change."""

    what: str
    lines: Sequence[str] = ()


class Output:
    """Two consoles and a spinner; `wait` draws it while something else works."""

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._out = Console(file=out, highlight=False, markup=False, emoji=False, soft_wrap=True)
        self._err = Console(
            file=err, stderr=err is None, highlight=False, markup=False, emoji=False, soft_wrap=True
        )

    @property
    def is_terminal(self) -> bool:
        return self._out.is_terminal

    @property
    def height(self) -> int:
        return self._out.height

    def lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.line(line)

    def line(self, text: str = "") -> None:
        if self._out.is_terminal:
            self._out.print(Text(text))
        else:  # tables of a million rows need no styling
            self._out.file.write(text + "\n")
            self._out.file.flush()

    def info(self, text: str) -> None:
        self._out.print(Text.assemble(("[INFO] ", "green"), text))

    def warning(self, text: str) -> None:
        self._err.print(Text.assemble(("[WARNING] ", "yellow"), text))

    def error(self, text: Text) -> None:
        self._err.print(text)

    def clear(self) -> None:
        self._out.clear()

    def wait(self, finished: Callable[[float], bool], view: Callable[[], Progress]) -> None:
        """Until `finished(seconds to wait)` is true; on a terminal, shows what runs and for how long."""
        started = time.monotonic()
        if not self._out.is_terminal:
            while not finished(_TICK_SECONDS):
                pass
            return
        if finished(_QUIET_SECONDS):
            return
        spinner = Spinner("dots")
        with Live(spinner, console=self._out, transient=True, refresh_per_second=10) as live:
            while not finished(_TICK_SECONDS):
                progress = view()
                seconds = time.monotonic() - started
                spinner.update(text=Text(f"{progress.what} {seconds:.1f} s  (Ctrl-C cancels)"))
                preview = Text("\n".join(progress.lines), no_wrap=True, overflow="crop")
                live.update(Group(preview, spinner) if progress.lines else spinner)

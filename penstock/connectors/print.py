"""Lines on the driver's standard output: what `DataStream.print()` writes to.

Writers render their records as Flink would show them; the committer, in the driver, prints the lines of an
epoch once the epoch is committed. Each line starts with the sink's name and the number of the subtask, where
there is a name or more than one subtask:

    name:2> value      2> value      name> value      value
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.rendering import render
from penstock.connectors.sink import Committer, Sink, SinkWriter, WriterContext

__all__ = ["PrintSink", "line_prefix"]


@dataclass(frozen=True)
class PrintedLines:
    """What one subtask wrote in one epoch, ready to be printed."""

    epoch: int
    subtask_index: int
    lines: tuple[str, ...]


class PrintSink(Sink):
    """Prints every record.

    Args:
        identifier: Put in front of each line.
        to_stderr: Print to the standard error stream instead.
    """

    def __init__(self, identifier: str | None = None, to_stderr: bool = False) -> None:
        self.identifier = identifier or ""
        self.to_stderr = to_stderr

    def create_writer(self, context: WriterContext, restored: Sequence[Any] = ()) -> SinkWriter:
        return _PrintWriter(context, line_prefix(self.identifier, context.subtask_index, context.parallelism))

    def create_committer(self) -> Committer:
        return _PrintCommitter(self.to_stderr)


def line_prefix(identifier: str, subtask_index: int, parallelism: int) -> str:
    """What Flink's print sink puts in front of each line.

    >>> line_prefix("out", 1, 4), line_prefix("out", 0, 1), line_prefix("", 1, 4), line_prefix("", 0, 1)
    ('out:2> ', 'out> ', '2> ', '')
    """
    parts = [identifier] if identifier else []
    if parallelism > 1:
        parts.append(str(subtask_index + 1))
    return ":".join(parts) + "> " if parts else ""


class _PrintWriter(SinkWriter):
    def __init__(self, context: WriterContext, prefix: str) -> None:
        self._context = context
        self._prefix = prefix
        self._lines: list[str] = []

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        prefix, type_info = self._prefix, self._context.type_info
        self._lines.extend([prefix + render(value, type_info) for value in values])

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        if not self._lines:
            return ()
        return (PrintedLines(int(self._context.epoch), self._context.subtask_index, tuple(self._lines)),)


class _PrintCommitter(Committer):
    """Prints each (epoch, subtask) once. A driver that died while printing prints its last epoch again."""

    def __init__(self, to_stderr: bool) -> None:
        self._to_stderr = to_stderr
        self._printed: set[tuple[int, int]] = set()

    def commit(self, committables: Sequence[Any]) -> None:
        # Looked up now: a program or a test may have replaced the stream meanwhile.
        stream = sys.stderr if self._to_stderr else sys.stdout
        for printed in sorted(committables, key=lambda c: (c.epoch, c.subtask_index)):
            key = (printed.epoch, printed.subtask_index)
            if key in self._printed:
                continue
            self._printed = {seen for seen in self._printed if seen[0] >= printed.epoch - 1}
            self._printed.add(key)
            stream.write("".join(line + "\n" for line in printed.lines))
        stream.flush()

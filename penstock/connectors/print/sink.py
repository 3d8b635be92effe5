"""Lines on the driver's standard output: what `DataStream.print()` and `'connector' = 'print'` write to.

Writers render their records as Flink would show them; the committer, in the driver, prints the lines of an
epoch once the epoch is committed: a worker's own output is nowhere to be seen on a cluster. Each line starts with
the sink's name and the number of the subtask, where there is a name or more than one subtask:

    name:2> value      2> value      name> value      value
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.common.datatypes import RowType
from penstock.common.rendering import render
from penstock.connectors.sink import ArrowWriter, Committer, Sink, SinkWriter, WriterContext
from penstock.formats.arrow_rows import ArrowToRows
from penstock.formats.java_text import row_text

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PrintSink", "RowPrintSink", "line_prefix"]

_KINDS = ("+I", "-U", "+U", "-D")


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


class RowPrintSink(PrintSink):
    """Prints changes of a table: `+I[1, x]`.

    Args:
        row_type: The table's columns.
        numbered: Whether lines say which subtask wrote them, where there are several.
    """

    def __init__(
        self,
        row_type: RowType,
        identifier: str | None = None,
        to_stderr: bool = False,
        numbered: bool = True,
    ) -> None:
        super().__init__(identifier, to_stderr)
        self.row_type = row_type
        self.numbered = numbered

    def create_writer(self, context: WriterContext, restored: Sequence[Any] = ()) -> ArrowWriter:
        parallelism = context.parallelism if self.numbered else 1
        prefix = line_prefix(self.identifier, context.subtask_index, parallelism)
        return _RowWriter(context, prefix, self.row_type)


def line_prefix(identifier: str, subtask_index: int, parallelism: int) -> str:
    """What Flink's print sink puts in front of each line.

    >>> line_prefix("out", 1, 4), line_prefix("out", 0, 1), line_prefix("", 1, 4), line_prefix("", 0, 1)
    ('out:2> ', 'out> ', '2> ', '')
    """
    parts = [identifier] if identifier else []
    if parallelism > 1:
        parts.append(str(subtask_index + 1))
    return ":".join(parts) + "> " if parts else ""


class _LineWriter(SinkWriter):
    """Keeps the lines of an epoch for the committer."""

    def __init__(self, context: WriterContext, prefix: str) -> None:
        self._context = context
        self._prefix = prefix
        self._lines: list[str] = []

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        if not self._lines:
            return ()
        return (PrintedLines(int(self._context.epoch), self._context.subtask_index, tuple(self._lines)),)


class _PrintWriter(_LineWriter):
    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        prefix, type_info = self._prefix, self._context.type_info
        self._lines.extend([prefix + render(value, type_info) for value in values])


class _RowWriter(_LineWriter, ArrowWriter):
    def __init__(self, context: WriterContext, prefix: str, row_type: RowType) -> None:
        super().__init__(context, prefix)
        self._width = len(row_type.fields)
        self._to_rows = ArrowToRows(row_type)
        self._text = row_text(row_type)

    def write_arrow(self, table: pa.Table) -> None:
        prefix, text = self._prefix, self._text
        for batch in table.to_batches():
            kinds = batch.column(self._width).to_pylist()
            rows = self._to_rows.rows(batch.select(range(self._width)))
            lines = (f"{prefix}{_KINDS[k]}{text(row)}" for k, row in zip(kinds, rows, strict=True))
            self._lines.extend(lines)


class _PrintCommitter(Committer):
    """Prints each (epoch, subtask) once. A driver that died while printing prints its last checkpoint again."""

    takes_several_epochs = True
    waits_for_no_checkpoint = True
    repeats_harmlessly = True  # for people, who may see lines again

    def __init__(self, to_stderr: bool) -> None:
        self._to_stderr = to_stderr
        self._printed: set[tuple[int, int]] = set()

    def commit(self, committables: Sequence[Any]) -> None:
        # Looked up now: a program or a test may have replaced the stream meanwhile.
        stream = sys.stderr if self._to_stderr else sys.stdout
        first = min((c.epoch for c in committables), default=0)
        for printed in sorted(committables, key=lambda c: (c.epoch, c.subtask_index)):
            key = (printed.epoch, printed.subtask_index)
            if key in self._printed:
                continue
            self._printed = {seen for seen in self._printed if seen[0] >= first - 1}
            self._printed.add(key)
            stream.write("".join(line + "\n" for line in printed.lines))
        stream.flush()

"""Before an exchange: rows of one key are put together where they are made."""

from __future__ import annotations

import pyarrow as pa

from penstock.delta.local.base import LocalStage
from penstock.runtime.tables.base import TableOperator

LOCAL_ROWS = 1 << 20
"""How many rows a local stage sees at once: the more, the more it can put together."""


class LocalTableOperator(TableOperator):
    """Runs a local stage over large pieces of the epoch."""

    def __init__(self, stage: LocalStage) -> None:
        self._stage = stage
        self._pending: list[pa.Table] = []
        self._rows = 0

    def begin_epoch(self) -> None:
        self._pending, self._rows = [], 0

    def process_table(self, input_index: int, table: pa.Table) -> None:
        self._pending.append(table)
        self._rows += table.num_rows
        if self._rows >= LOCAL_ROWS:
            self._flush()

    def on_watermark(self, watermark: int) -> None:
        self.current_watermark = watermark

    def end_epoch(self) -> None:
        self._flush()
        self.output.emit_watermark(self.current_watermark)

    def _flush(self) -> None:
        if self._pending:
            table = pa.concat_tables(self._pending)
            self._pending, self._rows = [], 0
            self.output.emit_table(self._stage(table))

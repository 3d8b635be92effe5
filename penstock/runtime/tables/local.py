"""Before an exchange: rows of one key are put together where they are made."""

from __future__ import annotations

import pyarrow as pa

from penstock.delta.local.base import LocalStage
from penstock.runtime.tables.base import TableOperator
from penstock.runtime.tables.detail import NET, Detail

LOCAL_ROWS = 1 << 20
"""How many rows a local stage sees at once: the more, the more it can put together."""


class LocalTableOperator(TableOperator):
    """Runs a local stage over large pieces of the epoch.

    Args:
        stage: What puts rows together.
        detail: Up to which size the operator behind the exchange wants to see rows one by one.
    """

    def __init__(self, stage: LocalStage, detail: Detail = NET) -> None:
        self._stage = stage
        self._detail = detail
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
            apart = self._detail.covers(table.num_rows)
            self.output.emit_table(self._stage.apart(table) if apart else self._stage(table))

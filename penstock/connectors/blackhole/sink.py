"""Takes everything and keeps nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.connectors.sink import ArrowWriter, Sink, WriterContext

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["BlackHoleSink"]


class BlackHoleSink(Sink):
    """Records of any type, rows or columns."""

    def create_writer(self, context: WriterContext, restored: Sequence[Any] = ()) -> ArrowWriter:
        return _Nowhere()


class _Nowhere(ArrowWriter):
    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        return None

    def write_arrow(self, table: pa.Table) -> None:
        return None

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        return ()

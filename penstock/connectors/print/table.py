"""`'connector' = 'print'`: rows on standard output (or standard error), in Flink's form `+I[1, x]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.connectors.print.sink import RowPrintSink
from penstock.connectors.table import ChangelogMode, SinkRequest, TableConnector
from penstock.formats.base import Option, boolean

if TYPE_CHECKING:
    from penstock.catalog.objects import CatalogTable


class PrintConnector(TableConnector):
    """The rows are printed by the driver, where the program runs."""

    name = "print"
    all_or_nothing = False  # lines cannot be taken back
    options = (
        Option("print-identifier"),
        Option("standard-error", boolean, False),
        Option("sink.parallelism", int),
    )
    directions = ("sink",)

    def changelog_mode(self, table: CatalogTable) -> ChangelogMode:
        return "changelog"

    def sink(self, table: CatalogTable, request: SinkRequest) -> RowPrintSink:
        return RowPrintSink(
            table.sink_schema,
            self.values["print-identifier"],
            self.values["standard-error"],
            # The tasks of a batch statement are Spark's: their numbers mean nothing to the reader.
            numbered=not request.bounded,
        )

"""What SQL asks about a table WITH ('connector' = 'ledger', ...)."""

from __future__ import annotations

from penstock.common.datatypes import BigIntType, DataTypes, DoubleType, IntType, VarCharType
from penstock.connectors.table import SinkRequirements, TableConnector
from penstock.formats.base import Option, boolean
from penstock_ledger.sink import LedgerSink
from penstock_ledger.source import LedgerSource

_TYPES = (BigIntType, IntType, DoubleType, VarCharType)


class LedgerConnector(TableConnector):
    """Made for every statement that names the table; options were read and checked before."""

    name = "ledger"
    options = (
        Option("path", required=True),
        Option("table", required=True),
        Option("scan.bounded", boolean, False),
    )
    metadata_columns = {"rowid": DataTypes.BIGINT(False)}
    upserts = True
    endless_advice = "set 'scan.bounded' = 'true' to read the rows that are there now"
    update_advice = "declare a PRIMARY KEY for the sink: rows can only be replaced by key"

    def validate(self, table, for_):
        super().validate(table, for_)
        for field in table.physical_schema.fields:
            if not isinstance(field.data_type, _TYPES):
                raise self.refused(f"column '{field.name}' has a type that a ledger cannot keep")

    # --- reading

    def is_bounded(self, table):
        return self.values["scan.bounded"]

    def source(self, table, columns=None):
        """The physical columns in order, NULL for those that the query does not need, then the metadata."""
        names = [
            f'"{name}"' if columns is None or name in columns else "NULL"
            for name in table.physical_schema.names
        ]
        names += ["rowid" for _ in table.requested_metadata]
        return LedgerSource(self.values["path"], self.values["table"], names, self.values["scan.bounded"])

    # --- writing

    def sink_changelog_mode(self, table):
        return "changelog" if table.primary_key else "insert-only"

    def sink_requirements(self, table, request):
        """The changes of a key come to one writer, in order; rows without a key may go anywhere."""
        names = table.sink_schema.names
        return SinkRequirements(tuple(names.index(name) for name in table.primary_key) or None)

    def sink(self, table, request):
        names, key = table.sink_schema.names, list(table.primary_key)
        return LedgerSink(self.values["path"], self.values["table"], names, key, request.changelog)

"""ORC files."""

from __future__ import annotations

from penstock.common.configuration import Configuration
from penstock.common.datatypes import RowType
from penstock.common.serialization import BulkWriterFactory
from penstock.connectors.file.columnar import OrcWriterFactory

__all__ = ["OrcBulkWriters"]


class OrcBulkWriters:
    """Writes rows to ORC files."""

    @staticmethod
    def for_row_type(
        row_type: RowType,
        writer_properties: Configuration | None = None,
        hadoop_config: Configuration | None = None,
    ) -> BulkWriterFactory:
        """`writer_properties` may set 'orc.compress'."""
        if not isinstance(row_type, RowType):
            raise TypeError("row_type must be an instance of RowType")
        compression = (
            writer_properties.get_string("orc.compress", None) if writer_properties else None
        ) or "zstd"
        return OrcWriterFactory(row_type, compression.lower())

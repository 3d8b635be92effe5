"""Tables described in Python, under PyFlink's path; see `penstock.catalog.table_descriptor`."""

from __future__ import annotations

from penstock.catalog.table_descriptor import FormatDescriptor, TableDescriptor

__all__ = ["FormatDescriptor", "TableDescriptor"]

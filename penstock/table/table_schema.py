"""`TableSchema` under PyFlink's path; deprecated there as here."""

from __future__ import annotations

from penstock.catalog.table_schema import TableSchema

__all__ = ["TableSchema"]

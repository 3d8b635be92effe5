"""Declared schemas, under PyFlink's path; see `penstock.catalog.schema`."""

from __future__ import annotations

from penstock.catalog.schema import Schema

__all__ = ["Schema"]

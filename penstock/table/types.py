"""Flink's logical types under PyFlink's path; they are defined in `penstock.common`."""

from __future__ import annotations

from penstock.common.datatypes import *  # noqa: F403
from penstock.common.datatypes import __all__ as _types
from penstock.common.types import Row, RowKind
from penstock.formats.arrow_types import from_arrow_type

__all__ = [*_types, "Row", "RowKind", "from_arrow_type"]

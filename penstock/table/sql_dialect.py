"""Which SQL a session speaks; only Flink's own is built in."""

from __future__ import annotations

import enum

__all__ = ["SqlDialect"]


class SqlDialect(enum.Enum):
    DEFAULT = "default"
    HIVE = "hive"

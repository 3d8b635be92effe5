"""Which SQL a session speaks; only Flink's own is built in."""

from __future__ import annotations

__all__ = ["SqlDialect"]


class SqlDialect:
    """Names of dialects; as in PyFlink they are numbers."""

    DEFAULT = 0
    HIVE = 1

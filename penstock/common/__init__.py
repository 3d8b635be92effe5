"""What every layer shares: rows, types, time, configuration, codecs, errors."""

from penstock.common.time import Duration, Instant, Time
from penstock.common.typeinfo import TypeInformation, Types
from penstock.common.types import Row, RowKind

__all__ = ["Duration", "Instant", "Row", "RowKind", "Time", "TypeInformation", "Types"]

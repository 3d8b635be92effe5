"""Bounds of Java's long, which timestamps and watermarks share."""

from __future__ import annotations

from penstock.common.ids import MAX_TIMESTAMP, MIN_TIMESTAMP

MAX_LONG_VALUE = MAX_TIMESTAMP
MIN_LONG_VALUE = MIN_TIMESTAMP

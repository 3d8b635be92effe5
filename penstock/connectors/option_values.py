"""How the texts of options are read; what several connectors share."""

from __future__ import annotations

from collections.abc import Callable

from penstock.common.config_values import parse_duration, parse_memory

__all__ = ["at_least", "millis", "size_bytes"]


def at_least(low: int) -> Callable[[str], int]:
    """A parser for whole numbers that are not less than `low`."""

    def parse(text: str) -> int:
        number = int(text)
        if number < low:
            raise ValueError(f"it must not be less than {low}")
        return number

    return parse


def millis(text: str) -> int:
    """A duration such as `10 s`, in milliseconds."""
    return parse_duration(text).to_millis()


def size_bytes(text: str) -> int:
    """A size such as `2mb`, in bytes."""
    return parse_memory(text)

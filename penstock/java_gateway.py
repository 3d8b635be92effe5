"""PyFlink's way to its JVM. There is no Flink JVM here."""

from __future__ import annotations

from typing import Any

from penstock.common.errors import NotSupportedError

__all__ = ["get_gateway"]


def get_gateway() -> Any:
    """Refuses: what a program would do through it has a Python form.

    Raises:
        NotSupportedError: Always.
    """
    raise NotSupportedError(
        "get_gateway",
        "there is no Flink JVM behind this program",
        do="use the Python API",
    )

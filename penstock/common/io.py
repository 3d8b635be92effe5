"""Flink's old batch inputs."""

from __future__ import annotations

from typing import Any

from penstock.common.errors import NotSupportedError

__all__ = ["InputFormat"]


class InputFormat:
    """A Java input format: there is no Java program here to take one from."""

    def __init__(self, *args: Any) -> None:
        raise NotSupportedError(
            "InputFormat",
            "it wraps an object of a Flink JVM",
            do="read with a connector's Source, or FileSource",
        )

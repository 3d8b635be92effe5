"""What the modules of systems without a connector share.

Their builders take every setting, so that programs read and type-check as before; `build()` refuses, with the
reason, before anything runs.
"""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from penstock.common.errors import NotSupportedError
from penstock.connectors.sink import Sink
from penstock.connectors.source import Source

_DO = "write a Source or a Sink of your own: docs/custom_connectors.md"

_Self = TypeVar("_Self", bound="Settings")


def refuse(feature: str, because: str, do: str = _DO) -> NoReturn:
    """Raises NotSupportedError."""
    raise NotSupportedError(feature, because, do=do)


class Settings:
    """A builder that remembers what was set."""

    def __init__(self) -> None:
        self._settings: dict[str, Any] = {}

    def _set(self: _Self, name: str, *values: Any) -> _Self:
        self._settings[name] = values[0] if len(values) == 1 else values
        return self


class Choice:
    """One of several ways to do something, such as where to begin reading: its name and arguments."""

    def __init__(self, name: str, *arguments: Any) -> None:
        self.name = name
        self.arguments = arguments

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}({', '.join(map(repr, self.arguments))})"


class UnsupportedSource(Source):
    """A source that nobody can make: its constructor refuses."""

    def create_enumerator(self, context: Any, restored: Any = None) -> NoReturn:
        """Refused."""
        refuse(type(self).__name__, "there is no client for it")

    def create_reader(self) -> NoReturn:
        """Refused."""
        refuse(type(self).__name__, "there is no client for it")


class UnsupportedSink(Sink):
    """A sink that nobody can make: its constructor refuses."""

    def create_writer(self, context: Any, restored: Any = ()) -> NoReturn:
        """Refused."""
        refuse(type(self).__name__, "there is no client for it")

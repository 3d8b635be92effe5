"""Modules under PyFlink's path: what a session's functions come from."""

from __future__ import annotations

import functools
from typing import Any

from penstock.common.errors import NotSupportedError

__all__ = ["HiveModule", "Module", "ModuleEntry"]


class Module:
    """A set of functions that belongs to the system. Subclass it and give it functions:

    class Shop(Module):
        def list_functions(self):
            return ["net"]

        def get_function(self, name):
            return net        # what udf(...) made
    """

    def list_functions(self) -> list[str]:
        """The names of the functions that the module brings."""
        return []

    def get_function(self, name: str) -> Any | None:
        """What `udf`, `udtf` or `udaf` made; called with a name of `list_functions`."""
        return None


class HiveModule(Module):
    """Hive's functions; refused, because they are Java."""

    def __init__(self, hive_version: str | None = None) -> None:
        raise NotSupportedError("HiveModule", "Hive's functions are Java", do="use Flink's own functions")


@functools.total_ordering
class ModuleEntry:
    """A module that is loaded, and whether it is used."""

    def __init__(self, name: str, used: bool) -> None:
        self._name = name
        self._used = used

    def name(self) -> str:
        """The name of the module."""
        return self._name

    def used(self) -> bool:
        """Whether its functions are looked up."""
        return self._used

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModuleEntry) and (self._name, self._used) == (other._name, other._used)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: ModuleEntry) -> bool:
        return self._name < other._name

    def __hash__(self) -> int:
        return hash((self._name, self._used))

    def __repr__(self) -> str:
        return f"ModuleEntry({self._name!r}, {self._used})"

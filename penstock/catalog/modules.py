"""Modules: sets of built-in functions, asked in order when a name is looked up.

`core` has Flink's functions and is used from the start. A module of a program is an object with a name; functions of
its own come by `list_functions()` and `get_function(name)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.errors import ValidationError

__all__ = ["CORE", "Modules"]

CORE = "core"


class Modules:
    """The modules of a session: which are loaded, which are used and in which order."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {CORE: None}
        self.used: list[str] = [CORE]

    @property
    def has_core(self) -> bool:
        """Whether Flink's own functions are there."""
        return CORE in self.used

    def load(self, name: str, module: Any) -> None:
        """Adds a module, used behind all others; a name that is taken is refused."""
        if name in self._loaded:
            raise ValidationError(f"A module with name '{name}' already exists", do="unload it first")
        self._loaded[name] = module
        self.used.append(name)

    def unload(self, name: str) -> None:
        """Removes a module, and it is used no more; a name that is not loaded is refused."""
        if name not in self._loaded:
            raise ValidationError(
                f"No module with name '{name}' exists", do=f"loaded are {', '.join(self._loaded)}"
            )
        del self._loaded[name]
        self.used = [used for used in self.used if used != name]

    def use(self, names: Sequence[str]) -> None:
        """Uses these modules in this order."""
        unknown = [name for name in names if name not in self._loaded]
        if unknown:
            raise ValidationError(f"No module with name '{unknown[0]}' exists", do="load it first")
        twice = [name for name in names if list(names).count(name) > 1]
        if twice:
            raise ValidationError(f"Module '{twice[0]}' appears more than once", do="name each module once")
        self.used = list(names)

    def entries(self) -> list[tuple[str, bool]]:
        """All loaded modules and whether they are used, the used ones first."""
        unused = [name for name in self._loaded if name not in self.used]
        return [(name, True) for name in self.used] + [(name, False) for name in unused]

    def find_function(self, name: str) -> Any | None:
        """A function of a program's module, by its name; those of `core` are found elsewhere."""
        for used in self.used:
            module = self._loaded[used]
            if module is not None and name.lower() in {f.lower() for f in module.list_functions()}:
                return module.get_function(name)
        return None

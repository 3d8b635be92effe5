"""Lets a program that says `import pyflink` run here unchanged.

`install_pyflink_alias()` puts a finder at the front of the import system. Asked for `pyflink.x.y` it imports
`penstock.x.y` and hands out that very module object, so a class reached through either name is one class:
`isinstance` and pickles do not care which spelling a program used.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Sequence

from penstock.common.errors import NotSupportedError

_ALIAS = "pyflink"
_TARGET = "penstock"


def install_pyflink_alias() -> None:
    """Makes every later `import pyflink...` give the penstock module of the same path."""
    if not has_pyflink_alias():
        sys.meta_path.insert(0, _AliasFinder())


def has_pyflink_alias() -> bool:
    """Whether `pyflink` stands for penstock in this process."""
    return any(isinstance(finder, _AliasFinder) for finder in sys.meta_path)


class NoSuchModule(NotSupportedError, ModuleNotFoundError):
    """A module of PyFlink's own machinery, or none at all."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the module {name}",
            "it is not part of PyFlink's public API, or there is none of that name",
            do="use the names of pyflink.common, pyflink.datastream and pyflink.table",
        )
        self.name = name


class _AliasFinder(importlib.abc.MetaPathFinder):
    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _ALIAS and not fullname.startswith(_ALIAS + "."):
            return None
        real = _TARGET + fullname[len(_ALIAS) :]
        found = importlib.util.find_spec(real)
        if found is None:
            raise NoSuchModule(fullname)
        loader = _AliasLoader(real)
        return importlib.machinery.ModuleSpec(
            fullname, loader, is_package=found.submodule_search_locations is not None
        )


class _AliasLoader(importlib.abc.Loader):
    """Gives out an imported module under a second name.

    The import system writes the alias's spec into the module it gets; `exec_module` puts the module's own
    attributes back, because `__name__` and `__spec__` are what pickling and relative imports go by.
    """

    _OWN = ("__name__", "__spec__", "__loader__", "__package__", "__path__", "__file__")

    def __init__(self, real: str) -> None:
        self._real = real
        self._own: dict[str, object] = {}

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = importlib.import_module(self._real)
        self._own = {name: getattr(module, name) for name in self._OWN if hasattr(module, name)}
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        for name, value in self._own.items():
            setattr(module, name, value)

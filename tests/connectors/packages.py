"""Packages for tests: modules with metadata, as an installer leaves them."""

from __future__ import annotations

import pathlib
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType

from penstock import formats
from penstock.connectors import registry


class InstalledPackage:
    """A package in a folder of its own; as a context manager it is on the path."""

    def __init__(
        self,
        folder: pathlib.Path,
        name: str,
        modules: Mapping[str, str],
        connectors: Mapping[str, str] | None = None,
        formats: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder / name
        info = self.folder / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        groups = {"penstock.connectors": connectors or {}, "penstock.formats": formats or {}}
        lines = []
        for group, points in groups.items():
            lines += [f"[{group}]", *(f"{key} = {value}" for key, value in points.items())]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
        self._modules = tuple(modules)
        for module, text in modules.items():
            (self.folder / f"{module}.py").write_text(textwrap.dedent(text))

    def __enter__(self) -> InstalledPackage:
        self._path = on_the_path(self.folder, self._modules)
        self._path.__enter__()
        return self

    def __exit__(
        self,
        failure: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._path.__exit__(failure, error, traceback)


@contextmanager
def on_the_path(folder: pathlib.Path, modules: Iterable[str]) -> Iterator[None]:
    """What is installed in a folder is there for a while; afterwards its modules are forgotten."""
    sys.path.insert(0, str(folder))
    _forget()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for module in modules:
            sys.modules.pop(module, None)
        _forget()


def _forget() -> None:
    """As in a new process: only what comes with Penstock is known."""
    registry._plugins.forget()
    formats._plugins.forget()
    for name in [name for name in registry.CONNECTORS if not registry.comes_with_penstock(name)]:
        del registry.CONNECTORS[name]
    for name in [name for name in formats.FORMATS if name not in formats._OWN]:
        del formats.FORMATS[name]

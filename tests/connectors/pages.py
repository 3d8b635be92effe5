"""The pages of docs/connectors: the program that each of them begins with, and the options that it names."""

from __future__ import annotations

import pathlib
import textwrap
from collections.abc import Iterable

_FOLDER = pathlib.Path(__file__).parents[2] / "docs" / "connectors"


def page(system: str) -> str:
    return (_FOLDER / f"{system}.md").read_text()


def program(system: str, heading: str = "A minimal program") -> str:
    """The first indented block below a heading."""
    lines = page(system).split(f"## {heading}\n", 1)[1].splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("    "))
    end = next(i for i in range(start, len(lines)) if lines[i] and not lines[i].startswith("    "))
    return textwrap.dedent("\n".join(lines[start:end]))


def unnamed(system: str, options: Iterable[str]) -> list[str]:
    """Those options that no table of the page names."""
    rows = [line for line in page(system).splitlines() if line.startswith("| ")]
    return [name for name in options if not any(f"`{name}`" in row for row in rows)]

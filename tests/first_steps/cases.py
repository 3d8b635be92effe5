"""Mistakes as text files: a title, the program or the statements, and everything that is shown.

a sentence that says what is wrong
=== program                      or: program on spark, run OPTIONS, statements streaming, statements batch
…
=== shown
…
"""

from __future__ import annotations

import pathlib
from dataclasses import dataclass

FOLDER = pathlib.Path(__file__).parent / "mistakes"
_MARK = "=== "


@dataclass(frozen=True)
class Mistake:
    path: pathlib.Path
    title: str
    kind: str
    text: str
    shown: str

    def with_shown(self, shown: str) -> str:
        return f"{self.title}\n{_MARK}{self.kind}\n{self.text}{_MARK}shown\n{shown}"


def all_mistakes() -> list[Mistake]:
    return [_read(path) for path in sorted(FOLDER.glob("*.txt"))]


def _read(path: pathlib.Path) -> Mistake:
    title, *rest = path.read_text(encoding="utf-8").split("\n" + _MARK)
    (kind, text), *shown = [part.split("\n", 1) for part in rest]
    return Mistake(path, title, kind, text + "\n", shown[0][1] if shown else "")

"""Reads pages: the code blocks that are to be run, what they print, and links.

```python                    is run, in one namespace with the blocks before it on the page
```text                      right behind it: the lines that it prints, in any order
<!-- not run: why -->        before a block: it only shows something
"""

from __future__ import annotations

import itertools
import pathlib
import re
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).parents[2]
_BLOCK = re.compile(
    r"(?P<skip><!-- not run[^>]*-->\n)?^```(?P<language>\w+)[^\n]*\n(?P<text>.*?)^```$", re.M | re.S
)
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+?)\s*$", re.M)


@dataclass(frozen=True)
class Block:
    """Python to run, and what it prints; None: nobody says."""

    line: int
    text: str
    printed: str | None


def blocks(path: pathlib.Path) -> list[Block]:
    page = path.read_text(encoding="utf-8")
    found = list(_BLOCK.finditer(page))
    made = []
    for match, following in itertools.zip_longest(found, found[1:]):
        if match["language"] != "python" or match["skip"]:
            continue
        printed = following["text"] if following is not None and following["language"] == "text" else None
        made.append(Block(page.count("\n", 0, match.start("text")) + 1, match["text"], printed))
    return made


def pages() -> list[pathlib.Path]:
    found = list((ROOT / "docs").rglob("*.md"))
    return sorted([*found, *ROOT.glob("*.md"), *(ROOT / "examples").rglob("*.md")])


def broken_links(path: pathlib.Path) -> list[str]:
    """Links to files, or headings of files, that are not there."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    broken = []
    for match in _LINK.finditer(text):
        target, _, anchor = match["target"].partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        goal = (path.parent / target).resolve() if target else path
        if not goal.exists() or (anchor and goal.suffix == ".md" and anchor not in anchors(goal)):
            broken.append(match["target"])
    return broken


def anchors(path: pathlib.Path) -> set[str]:
    """The headings of a page as the site and GitHub name them."""
    found = _HEADING.findall(path.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", h)).strip().lower().replace(" ", "-") for h in found}

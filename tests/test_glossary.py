"""The glossary has one meaning for each word, and the classes it names are there, under one name each."""

from __future__ import annotations

import pathlib
import re
from collections import Counter

ROOT = pathlib.Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "glossary.md").read_text()
OURS, SHARED = TEXT.split("## Words with more than one owner")


def words(text: str) -> list[str]:
    rows = re.findall(r"^\| ([^|]+) \|", text, re.M)
    return [word.strip() for row in rows if row not in ("word", "---") for word in row.split(",")]


def classes() -> Counter[str]:
    sources = (path.read_text() for path in (ROOT / "penstock").rglob("*.py"))
    return Counter(name for source in sources for name in re.findall(r"^class (\w+)", source, re.M))


def test_no_word_is_explained_twice() -> None:
    assert [word for word, count in Counter(words(OURS)).items() if count > 1] == []
    assert [word for word, count in Counter(words(SHARED)).items() if count > 1] == []


def test_the_classes_that_are_named_exist() -> None:
    named = {name.rpartition(".")[2] for name in re.findall(r"`([\w.]+)`", TEXT)}
    known = classes()
    assert [name for name in sorted(named) if name[0].isupper() and name not in known] == []


def test_plans_operators_and_connectors_do_not_share_names() -> None:
    """What a query says, what runs, and what talks to a system are different things with different names."""
    rooms = ("sql/plan", "delta", "operators", "connectors/sink.py", "connectors/source.py")
    found: Counter[str] = Counter()
    for room in rooms:
        place = ROOT / "penstock" / room
        for path in [place] if place.is_file() else place.rglob("*.py"):
            found.update(re.findall(r"^class ([A-Z]\w+)", path.read_text(), re.M))
    assert [name for name, count in found.items() if count > 1] == []

"""Final tables of two engines, from the changes that they wrote."""

from __future__ import annotations

import json
import pathlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from nexmark.scripts import Comparison

Row = dict[str, Any]
Change = tuple[int, Row]


Table = Counter[tuple[Any, ...]]


def final_table(folder: pathlib.Path, comparison: Comparison) -> Table:
    """How often each row is there in the end."""
    table: Table = Counter()
    for sign, row in _last_of_each(changes(folder), comparison.key):
        columns = comparison.columns or sorted(row)
        key = tuple(row[column] for column in columns)
        table[key] += sign * (row[comparison.total] if comparison.total else 1)
    return Counter({key: count for key, count in table.items() if count})


def _last_of_each(found: Iterator[Change], key: str | None) -> Iterable[Change]:
    """The changes; if there is a key, the last row of each value of it among those that nobody took back."""
    if key is None:
        return found
    weights: Counter[str] = Counter()
    for sign, row in found:
        weights[json.dumps(row)] += sign
    left = [json.loads(text) for text, weight in weights.items() if weight > 0]
    return [(1, row) for row in {row[key]: row for row in left}.values()]


def changes(folder: pathlib.Path) -> Iterator[Change]:
    """Rows that came (1) and went (-1), with the partition columns of their folders."""
    for path in sorted(folder.rglob("*"), key=_in_order):
        parts = path.relative_to(folder).parts
        if path.is_dir() or any(part.startswith((".", "_")) for part in parts):
            continue
        partition = dict(part.split("=", 1) for part in parts[:-1])
        with open(path) as lines:
            for line in lines:
                change = json.loads(line)
                gone = change["op"] == "d"
                yield (-1 if gone else 1), {**change["before" if gone else "after"], **partition}


def _in_order(path: pathlib.Path) -> list[tuple[int, str]]:
    """Files of a task as it wrote them: part-…-9 before part-…-10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", str(path))]


def difference(left: Table, right: Table) -> str:
    """Nothing if the tables are equal; otherwise how many rows differ, and one of each side."""
    missing, more = left - right, right - left
    if not missing and not more:
        return ""
    shown = [str(next(iter(side)))[:200] for side in (missing, more) if side]
    return f"{missing.total()} only here, {more.total()} only there, such as {' | '.join(shown)}"

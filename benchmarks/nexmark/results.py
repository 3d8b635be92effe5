"""Final tables of two engines, from the changes that they wrote."""

from __future__ import annotations

import json
import pathlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

from nexmark.scripts import Comparison

Row = dict[str, Any]


def final_table(folder: pathlib.Path, comparison: Comparison) -> Counter[tuple[Any, ...]]:
    """How often each row is there in the end."""
    table: Counter[tuple[Any, ...]] = Counter()
    for sign, row in changes(folder):
        columns = comparison.columns or sorted(row)
        key = tuple(row[column] for column in columns)
        table[key] += sign * (row[comparison.total] if comparison.total else 1)
    return Counter({key: count for key, count in table.items() if count})


def changes(folder: pathlib.Path) -> Iterator[tuple[int, Row]]:
    """Rows that came (1) and went (-1), with the partition columns of their folders."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_dir() or any(part.startswith((".", "_")) for part in parts):
            continue
        partition = dict(part.split("=", 1) for part in parts[:-1])
        with open(path) as lines:
            for line in lines:
                change = json.loads(line)
                gone = change["op"] == "d"
                yield (-1 if gone else 1), {**change["before" if gone else "after"], **partition}


def difference(left: Counter[tuple[Any, ...]], right: Counter[tuple[Any, ...]]) -> str:
    """Nothing if the tables are equal; otherwise how many rows differ, and one of each side."""
    missing, more = left - right, right - left
    if not missing and not more:
        return ""
    shown = [str(next(iter(side)))[:200] for side in (missing, more) if side]
    return f"{missing.total()} only here, {more.total()} only there, such as {' | '.join(shown)}"

"""The queries as lists of statements: what stands for the source, the sink and folders is filled in."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

QUERIES = tuple(f"q{number}" for number in range(24))
FOLDER = pathlib.Path(__file__).parent / "queries"
BLACKHOLE = "'connector' = 'blackhole'"


@dataclass(frozen=True)
class Comparison:
    """Which columns of a result are the same on every engine.

    Attributes:
        columns: These; None for all of them.
        total: A number that is added up for equal `columns`, where rows are cut differently.
        key: The last row of each value of this column counts. For changelogs in which an update does not say what it
            replaces: Flink writes q9 so.
    """

    columns: tuple[str, ...] | None = None
    total: str | None = None
    key: str | None = None


def statements(query: str, engine: str, places: Mapping[str, str]) -> list[str]:
    """The tables, then the query; `places` has what `${...}` stands for."""
    text = (FOLDER / "tables.sql").read_text() + _text(query, engine)
    for name, value in places.items():
        text = text.replace("${" + name + "}", value)
    return [
        part.strip() for part in re.sub(r"^--.*$", "", text, flags=re.MULTILINE).split(";") if part.strip()
    ]


def comparison(query: str) -> Comparison:
    """What the head of the query's file says about its result."""
    said = dict(re.findall(r"^-- (compare|total|key): (.*)$", _text(query, ""), re.MULTILINE))
    columns = tuple(said["compare"].split(", ")) if "compare" in said else None
    return Comparison(columns, said.get("total"), said.get("key"))


def _text(query: str, engine: str) -> str:
    own = FOLDER / f"{query}.{engine}.sql"
    return (own if own.exists() else FOLDER / f"{query}.sql").read_text()


def changelog_files(folder: pathlib.Path) -> str:
    """A sink that keeps every change, for comparing results."""
    return f"'connector' = 'filesystem', 'path' = 'file://{folder}', 'format' = 'debezium-json'"

"""Single expressions and what Flink answered, from the files of `expressions/` (its README tells the format).

Cases with the same input are columns of one query, which is fifty times faster than a query each. When such a query
fails, its halves are asked until the column that fails is alone. Each case still counts for itself: `cases` makes
objects that share a `_Batch`, and the first one that is run asks for all.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import struct
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from canonical import canonical

_COLUMNS = 40
"""Columns of one query at most: Spark plans wide ones slowly."""

Answer = tuple[str, Any] | Exception
"""The type and the values of one case, or why there are none."""


@dataclasses.dataclass(frozen=True)
class ExpressionCase:
    """One line of a file."""

    data: Mapping[str, Any]
    batch: _Batch = dataclasses.field(repr=False, compare=False)

    has_ways = False

    @property
    def name(self) -> str:
        return f"expressions/{self.data['id']}"

    def run(self, config: Mapping[str, str], verbose: bool = False, way: object = None) -> str | None:
        """None if the answer is Flink's, else how it differs."""
        answer = self.batch.answer(self.data["id"], config)
        if isinstance(answer, Exception):
            return _failure(self.data, answer, verbose)
        if "error" in self.data:
            return f"{_short(self.data)} was accepted, Flink says: {self.data['message'][:120]}"
        return _difference(self.data, *answer)


def is_file_of_cases(path: pathlib.Path) -> bool:
    """Whether a file is one of expressions, which its first line tells: other kinds of cases are JSON too."""
    if path.suffix != ".json":
        return False
    with path.open() as lines:
        head = lines.readline(400)
    return '"timezone"' in head and '"cases"' in head


def cases(path: pathlib.Path, mode: str | None) -> list[ExpressionCase]:
    """The cases of a file, in its order.

    They were recorded in batch mode. In streaming mode the answers are the same, except that OVER wants a time
    attribute there: those, and whole queries, are left out.
    """
    content = json.loads(path.read_text())
    found = content["cases"]
    if mode == "streaming":
        found = [c for c in found if "expr" in c and " OVER " not in c["expr"]]
    batches = _batches(found, mode or "batch", content["timezone"])
    return [ExpressionCase(case, batches[case["id"]]) for case in found]


def _batches(found: Sequence[Mapping[str, Any]], mode: str, zone: str) -> dict[str, _Batch]:
    """Which cases are asked together, by id."""
    groups: dict[object, list[Mapping[str, Any]]] = {}
    for case in found:
        groups.setdefault(_together(case), []).append(case)
    batches: dict[str, _Batch] = {}
    for members in groups.values():
        for start in range(0, len(members), _COLUMNS):
            part = members[start : start + _COLUMNS]
            batch = _Batch(part, mode, zone)
            batches.update((case["id"], batch) for case in part)
    return batches


def _together(case: Mapping[str, Any]) -> object:
    """Equal for cases that may be one query. A DISTINCT or OVER beside others may change the order of rows."""
    text = case.get("expr", "")
    if "query" in case or "error" in case or " OVER " in text:
        return case["id"]
    return case.get("input"), bool(case.get("aggregate")), bool(case.get("aggregate")) and "DISTINCT" in text


class _Batch:
    """Cases that are asked in one query, when the first of them is needed."""

    def __init__(self, members: Sequence[Mapping[str, Any]], mode: str, zone: str) -> None:
        self._members = members
        self._mode = mode
        self._zone = zone
        self._answers: dict[str, Answer] | None = None

    def answer(self, name: str, config: Mapping[str, str]) -> Answer:
        if self._answers is None:
            env = _environment(self._mode, {**config, "table.local-time-zone": self._zone})
            self._answers = dict(_answers(env, self._members))
        return self._answers[name]


def _environment(mode: str, config: Mapping[str, str]) -> Any:
    from penstock.table import EnvironmentSettings, TableEnvironment

    settings = EnvironmentSettings
    env = TableEnvironment.create(
        settings.in_streaming_mode() if mode == "streaming" else settings.in_batch_mode()
    )
    for key, value in {"parallelism.default": "1", **config}.items():
        env.get_config().set(key, value)
    return env


def _answers(env: Any, members: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Answer]]:
    """Each with its answer: those that are refused first, the others together."""
    accepted = []
    for case in members:
        try:
            env.sql_query(_query([case]))
            accepted.append(case)
        except Exception as error:
            yield case["id"], error
    yield from _halved(env, accepted)


def _halved(env: Any, members: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Answer]]:
    if not members:
        return
    try:
        yield from _asked(env, members)
    except Exception as error:
        if len(members) == 1:
            yield members[0]["id"], error
            return
        middle = len(members) // 2
        yield from _halved(env, members[:middle])
        yield from _halved(env, members[middle:])


def _asked(env: Any, members: Sequence[Mapping[str, Any]]) -> list[tuple[str, Answer]]:
    result = env.execute_sql(_query(members))
    with result.collect() as rows:
        table = [[canonical(field) for field in row] for row in rows]
    types = [data_type.as_summary() for data_type in result.get_resolved_schema().get_column_data_types()]
    if "query" in members[0]:
        return [(members[0]["id"], (json.dumps(types), table))]
    if _numbered(members[0]):
        table = [row[1:] for row in sorted(table, key=lambda row: row[0])]
        types = types[1:]
    return [
        (case["id"], (types[i], [_months(row[i], types[i]) for row in table]))
        for i, case in enumerate(members)
    ]


def _months(value: Any, data_type: str) -> Any:
    """Intervals of months are plain numbers in Python."""
    if isinstance(value, int) and data_type.startswith(("INTERVAL YEAR", "INTERVAL MONTH")):
        return f"interval-months:{value}"
    if isinstance(value, list) and data_type.startswith("ARRAY<"):
        return [_months(item, data_type[len("ARRAY<") :]) for item in value]
    return value


def _query(members: Sequence[Mapping[str, Any]]) -> str:
    first = members[0]
    if "query" in first:
        return str(first["query"])
    columns = [f"{case['expr']} AS e{i}" for i, case in enumerate(members)]
    if _numbered(first):
        columns = ["n", *columns]
    source = f" FROM {first['input']}" if "input" in first else ""
    return f"SELECT {', '.join(columns)}{source}"


def _numbered(case: Mapping[str, Any]) -> bool:
    return "input" in case and not case.get("aggregate")


# -- comparing -----------------------------------------------------------------------------------------------


def _failure(case: Mapping[str, Any], error: Exception, verbose: bool) -> str | None:
    from penstock.common.errors import PenstockError

    refused = "error" in case
    if refused and isinstance(error, PenstockError):
        return None
    if verbose:
        traceback.print_exception(error)
    lines = [line for line in str(error).strip().splitlines() if line.strip()] or [""]
    text = f"{type(error).__name__}: {lines[0][:240]}"
    return f"{_short(case)}: " + ("crashed instead of refusing: " if refused else "") + text


def _difference(case: Mapping[str, Any], data_type: str, values: list[Any]) -> str | None:
    whole = "query" in case
    wanted_type = json.dumps(case["types"]) if whole else case["type"]
    if _bare(data_type) != _bare(wanted_type):
        return f"{_short(case)}: type {_bare(wanted_type)} expected, got {_bare(data_type)}"
    single = "FLOAT" in wanted_type
    have, want = _texts(values, single), _texts(case["rows"] if whole else case["values"], single)
    if whole:
        have, want = sorted(have), sorted(want)
    if len(have) != len(want):
        return f"{_short(case)}: {len(want)} rows expected, got {len(have)}: {', '.join(have)[:200]}"
    wrong = [i for i, (one, other) in enumerate(zip(have, want, strict=True)) if one != other]
    if not wrong:
        return None
    at = wrong[0]
    return (
        f"{_short(case)}: {len(wrong)} wrong, row {at + 1}: {want[at][:200]} expected, got {have[at][:200]}"
    )


def _short(case: Mapping[str, Any]) -> str:
    return str(case.get("query") or case["expr"])[:300]


def _bare(data_type: str) -> str:
    """A type without NOT NULL, which a runner may leave aside."""
    return re.sub(r" NOT NULL\b", "", data_type)


def _texts(values: Sequence[Any], single: bool) -> list[str]:
    """JSON texts tell true from 1, 1 from 1.0 and 0.0 from -0.0, which == does not."""
    return [json.dumps(_rounded(value, single), sort_keys=True, ensure_ascii=False) for value in values]


def _rounded(value: Any, single: bool) -> Any:
    """Numbers with the digits that are compared: those of FLOAT if there may be one, else twelve."""
    if isinstance(value, float):
        return struct.unpack("f", struct.pack("f", value))[0] if single else float(f"{value:.12g}")
    if isinstance(value, list):
        return [_rounded(item, single) for item in value]
    if isinstance(value, dict):
        return {key: _rounded(item, single) for key, item in value.items()}
    return value

"""The answer of a program: what its changelog leaves, what DuckDB says on the final tables, and the difference."""

from __future__ import annotations

import decimal
import pathlib
from collections import Counter
from collections.abc import Iterable
from typing import Any

import duckdb

from penstock.delta.base import WEIGHT
from tests.properties.sql_differential.cases import Case

Row = tuple[Any, ...]
MOST_ROWS = 2000


def duck_answer(case: Case) -> Counter[Row]:
    with duckdb.connect() as connection:
        for table in case.tables:
            connection.execute(table.duck_ddl())
            rows = table.rows()
            if rows:
                marks = ", ".join("?" for _ in table.columns)
                connection.executemany(f"INSERT INTO {table.name} VALUES ({marks})", rows)
        return Counter(_plain(row) for row in connection.execute(case.program.query.duck).fetchall())


def is_worth_running(case: Case) -> bool:
    """Nearly half of the random programs have an empty answer, which few mistakes change; some have a huge one."""
    rows = duck_answer(case).total()
    return rows <= MOST_ROWS and (case.may_be_empty or rows > 0)


def table_after(changelog: Iterable[tuple[int, Row]]) -> Counter[Row]:
    """What the changes leave. A row may not be taken back before it came, at any moment."""
    left: Counter[Row] = Counter()
    for kind, row in changelog:
        key = _plain(row)
        left[key] += WEIGHT[kind]
        assert left[key] >= 0, f"{row} was taken back before it came"
    return +left


def _plain(row: Row) -> Row:
    """1.00 and 1 are the same number, 0.0 and -0.0 too; 1 and True are not."""
    return tuple(
        ("bool", v) if isinstance(v, bool) else v.normalize() + 0 if isinstance(v, decimal.Decimal) else v
        for v in row
    )


def check(case: Case, changelog: list[tuple[int, Row]]) -> None:
    """Fails with everything that is needed to see why."""
    expected = duck_answer(case)
    try:
        found = table_after(changelog)
        _check_types(case, changelog)
    except AssertionError as error:
        raise AssertionError(f"{error}\n\n{report(case)}\n\nchangelog\n{_lines(changelog)}") from None
    if found != expected:
        missing, extra = expected - found, found - expected
        raise AssertionError(
            f"the answers differ\n\nmissing\n{_lines(missing.elements())}\n\nunexpected\n{_lines(extra.elements())}"
            f"\n\nDuckDB\n{_lines(expected.elements())}\n\nPenstock\n{_lines(found.elements())}\n\n{report(case)}"
        )


def _check_types(case: Case, changelog: list[tuple[int, Row]]) -> None:
    for _, row in changelog:
        for value, data_type in zip(row, case.program.types, strict=True):
            assert value is None or type(value) is data_type.python, (
                f"{value!r} as {data_type.flink} in {row}"
            )


def report(case: Case) -> str:
    """The script and its inputs, ready to be run elsewhere."""
    parts = [f"-- @set {key}={value}" for key, value in case.settings().items()]
    parts += [f"{t.ddl(pathlib.Path('/data') / t.name)};" for t in case.tables]
    parts += [f"{case.program.query.flink};", "", f"DuckDB: {case.program.query.duck};", ""]
    for table in case.tables:
        parts += [f"{table.name}:", table.file_text()]
    return "\n".join(parts)


def save(case: Case, folder: pathlib.Path) -> None:
    """A folder with case.sql and data/, as the conformance cases have."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    for table in case.tables:
        (folder / "data" / table.name).write_text(table.file_text())
    script = report(case).split("\n\nDuckDB")[0].replace("file:///data", "${data}")
    (folder / "case.sql").write_text(f"-- @modes: streaming\n{script}\n")


def _lines(rows: Iterable[Any]) -> str:
    return "\n".join(f"  {row}" for row in rows) or "  nothing"

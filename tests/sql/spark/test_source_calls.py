"""The programs of a task that reads: opened once per process, closed when they are not needed, rows in parts."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from penstock.common.datatypes import DataTypes
from penstock.sql.spark import calls_at_source
from penstock.sql.spark.calls_at_source import SourceCalls


class Program:
    """Doubles the column and notes what happens to it."""

    def __init__(self, wants_closing: bool = False) -> None:
        self.wants_closing = wants_closing
        self.notes: list[str] = []

    def open(self, context: Any) -> None:
        self.notes.append(f"open {context.job_parameters}")

    def __call__(self, table: pa.Table) -> pa.Table:
        self.notes.append(f"{table.num_rows} rows")
        return pa.table({"0": pa.array([2 * v for v in table.column("v").to_pylist()], pa.int32())})

    def close(self) -> None:
        self.notes.append("close")


@pytest.fixture(autouse=True)
def nothing_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls_at_source, "_OPENED", {})


def calls_of(program: Any) -> SourceCalls:
    return SourceCalls(["v"], [program], [DataTypes.BIGINT()], {"a": "b"})


def rows(calls: SourceCalls, values: list[int]) -> list[int]:
    batch = pa.record_batch({"u": values, "v": values})
    made = list(calls(iter([batch])))
    assert all(b.schema.field(0).type == pa.int64() for b in made)
    return [v for b in made for v in b.column(0).to_pylist()]


def test_columns_are_taken_by_name_and_come_out_in_their_types() -> None:
    assert rows(calls_of(Program()), [1, 2]) == [2, 4]


def test_programs_stay_open_for_the_next_task_and_go_with_the_next_query() -> None:
    first, second = Program(), Program()
    calls = calls_of(first)
    rows(calls, [1])
    rows(calls, [2])
    assert first.notes == ["open {'a': 'b'}", "1 rows", "1 rows"]
    rows(calls_of(second), [3])
    assert first.notes[-1] == "close"
    assert second.notes == ["open {'a': 'b'}", "1 rows"]


def test_programs_that_want_to_be_closed_live_for_a_task() -> None:
    program = Program(wants_closing=True)
    rows(calls_of(program), [1])
    assert program.notes == ["open {'a': 'b'}", "1 rows", "close"]


def test_they_are_closed_also_if_the_task_ends_early() -> None:
    program = Program(wants_closing=True)
    reading = calls_of(program)(iter([pa.record_batch({"v": [1]}), pa.record_batch({"v": [2]})]))
    next(reading)
    reading.close()  # type: ignore[attr-defined]
    assert program.notes[-1] == "close"


def test_rows_go_through_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls_at_source, "_ROWS", 2)
    program = Program()
    assert rows(calls_of(program), [1, 2, 3, 4, 5]) == [2, 4, 6, 8, 10]
    assert program.notes[1:] == ["2 rows", "2 rows", "1 rows"]

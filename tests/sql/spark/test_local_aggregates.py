"""Partial results of the rows that a task reads, without Spark."""

from __future__ import annotations

import pyarrow as pa

from penstock.sql.spark.local_aggregates import PartialResults


def table(keys: list[str | None], values: list[int | None]) -> pa.Table:
    return pa.table({"0": pa.array(keys, pa.string()), "1": pa.array(values, pa.int32())})


def rows(found: pa.Table) -> list[tuple[object, ...]]:
    return sorted((tuple(row.values()) for row in found.to_pylist()), key=str)


def test_without_keys_there_is_one_row() -> None:
    calls = [("COUNT", None), ("COUNT", 1), ("SUM", 1), ("MIN", 1), ("MAX", 0)]
    found = PartialResults([], calls)(table(["a", None, "b"], [5, None, 2]))
    assert rows(found) == [(3, 2, 7, 2, "b")]


def test_what_is_only_null_has_no_sum() -> None:
    found = PartialResults([], [("SUM", 1), ("COUNT", 1), ("MAX", 1)])(table(["a"], [None]))
    assert rows(found) == [(None, 0, None)]


def test_rows_of_a_key_become_one_and_null_is_a_key() -> None:
    program = PartialResults([0], [("SUM", 1), ("COUNT", None)])
    found = program(table(["a", None, "a", None] * 3, [1, 2, 3, None] * 3))
    assert rows(found) == [("a", 12, 6), (None, 6, 6)]


def test_sums_do_not_end_at_the_type_of_their_column() -> None:
    found = PartialResults([], [("SUM", 1)])(table(["a", "b"], [2147483647, 1]))
    assert rows(found) == [(2147483648,)]


def test_sums_wrap_around_as_in_flink() -> None:
    most = pa.table({"0": pa.array([9223372036854775807, 1])})
    assert rows(PartialResults([], [("SUM", 0)])(most)) == [(-9223372036854775808,)]


def test_rows_that_share_no_keys_are_passed_on() -> None:
    program = PartialResults([0], [("COUNT", 1), ("MIN", 1)])
    keys = [str(i) for i in range(20)]
    assert len(rows(program(table(keys, [1] * 20)))) == 20
    found = program(table(["a", "a", "b"], [1, None, 3]))
    assert rows(found) == [("a", 0, None), ("a", 1, 1), ("b", 1, 3)]

"""A lookup in columns gives what a lookup row by row gives, in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from penstock.common.datatypes import DataType, DataTypes
from penstock.connectors.lookup import Key, LookupSource, Retry, Rows
from penstock.delta.columns import HIDDEN
from penstock.formats.arrow_rows import columns_type
from penstock.runtime.tables.lookup import LookupSpec, LookupTableOperator

KEYS: list[Any] = [3, 1, None, 1, 7, 2, 3, 1]
PEOPLE = {1: ["ada", None], 2: ["bob"], 3: []}


class People(LookupSource):
    def __init__(self) -> None:
        self.asked: list[Key] = []

    def lookup(self, keys: Sequence[Key]) -> Sequence[Rows]:
        self.asked += keys
        return [[(key[0], name) for name in PEOPLE.get(int(key[0]), [])] for key in keys]


class Kept:
    def __init__(self) -> None:
        self.tables: list[pa.Table] = []

    def emit_table(self, table: pa.Table) -> None:
        self.tables.append(table)


def joined(outer: bool, residual: Any, key_type: DataType) -> tuple[list[dict[str, Any]], list[Key]]:
    source = People()
    left = [DataTypes.STRING(), key_type]
    output = columns_type([*left, key_type, DataTypes.STRING(), DataTypes.BOOLEAN(False)])
    spec = LookupSpec(source, None, (1,), outer, residual, Retry())
    operator = LookupTableOperator(spec, columns_type(left), output, 2)
    kept = Kept()
    operator.output = kept  # type: ignore[assignment]
    operator.open()
    kind = pa.float64() if key_type == DataTypes.DOUBLE() else pa.int64()
    hidden = [pa.array([0] * 8, pa.int8()), pa.array([9] * 8), pa.array(range(8))]
    columns = [pa.array(list("abcdefgh")), pa.array(KEYS, kind), *hidden]
    operator.process_table(0, pa.table(columns, names=["c0", "c1", *HIDDEN]))
    operator.close()
    rows = pa.concat_tables(kept.tables).to_pylist() if kept.tables else []
    return rows, source.asked


@pytest.mark.parametrize("outer", [False, True], ids=["inner", "left"])
def test_in_columns_as_row_by_row(outer: bool) -> None:
    in_columns, asked = joined(outer, None, DataTypes.BIGINT())
    by_rows, _ = joined(outer, lambda left, right: True, DataTypes.BIGINT())
    assert in_columns == by_rows
    assert [row["c0"] for row in in_columns] == list("abbcddefghh") if outer else list("bbddfhh")
    assert len(asked) == len(set(asked)) == 4  # each key once, and never NULL


def test_keys_that_arrow_cannot_tell_apart_go_row_by_row() -> None:
    found, _ = joined(False, None, DataTypes.DOUBLE())
    assert [row["c3"] for row in found] == ["ada", None, "ada", None, "bob", "ada", None]

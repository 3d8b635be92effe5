"""Generated rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from penstock.common.datatypes import DataTypes
from penstock.common.errors import ValidationError
from penstock.connectors.datagen.row_source import RowGeneratorSource
from penstock.connectors.datagen.rows import DataGenerator
from penstock.connectors.source import EnumeratorContext

pytestmark = pytest.mark.spark


def test_sequences_count_and_lengths_hold(make_table: Callable[..., Any]) -> None:
    rows = make_table(
        "id INT, s STRING, a ARRAY<INT>, d DOUBLE, t TIMESTAMP(3)",
        {
            "connector": "datagen",
            "number-of-rows": "5",
            "fields.id.kind": "sequence",
            "fields.id.start": "10",
            "fields.id.end": "100",
            "fields.s.length": "4",
            "fields.a.element.min": "7",
            "fields.a.element.max": "7",
            "fields.d.min": "1",
            "fields.d.max": "2",
        },
    ).read()
    assert [row[0] for row in rows] == [10, 11, 12, 13, 14]
    assert all(len(row[1]) == 4 and set(row[1]) <= set("0123456789abcdef") for row in rows)
    assert all(row[2] == [7, 7, 7] and 1 <= row[3] <= 2 for row in rows)


def test_rows_end_with_the_shortest_sequence(make_table: Callable[..., Any]) -> None:
    fields = {"fields.id.kind": "sequence", "fields.id.start": "1", "fields.id.end": "3"}
    rows = make_table("id BIGINT", {"connector": "datagen", "number-of-rows": "9", **fields}).read()
    assert rows == [(1,), (2,), (3,)]


def test_null_rate_one_gives_only_nulls(make_table: Callable[..., Any]) -> None:
    rows = make_table(
        "v INT", {"connector": "datagen", "number-of-rows": "4", "fields.v.null-rate": "1"}
    ).read()
    assert rows == [(None,)] * 4


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({}, "endless table cannot be read in batch"),
        ({"number-of-rows": "1", "fields.id.colour": "x"}, r"no option 'fields\.id\.colour'"),
        ({"number-of-rows": "1", "fields.zz.min": "1"}, r"no option 'fields\.zz\.min'"),
        ({"number-of-rows": "1", "fields.id.kind": "weird"}, "unsupported generator kind 'weird'"),
        ({"number-of-rows": "1", "fields.id.kind": "sequence"}, r"needs 'fields\.id\.start'"),
        ({"number-of-rows": "1", "fields.id.min": "5", "fields.id.max": "1"}, "is above"),
        ({"number-of-rows": "1", "colour": "x"}, "no option 'colour'"),
    ],
)
def test_tables_that_make_no_sense_are_refused(
    make_table: Callable[..., Any], more: dict[str, str], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        make_table("id BIGINT", {"connector": "datagen", **more}).read()


def test_moments_are_those_of_the_epoch_that_makes_them() -> None:
    generator = DataGenerator(
        DataTypes.ROW([DataTypes.FIELD("ts", DataTypes.TIMESTAMP(3))]),
        {},
        7,
        dt.datetime.now(dt.timezone.utc),
    )
    source = RowGeneratorSource(generator, None, 10)
    enumerator = source.create_enumerator(EnumeratorContext(1, {}))
    (split,) = enumerator.discover()
    assert enumerator.plan_read(split, None, 1_000) is None
    position, found = None, []
    for now_ms in (2_000, 3_500):
        limit = enumerator.plan_read(split, position, now_ms)
        assert limit is not None
        for batch in source.create_reader().read_arrow(split, position, limit):
            position = batch.position
            found += batch.batch.column(0).to_pylist()
    epoch = dt.datetime(1970, 1, 1)
    assert found == [epoch + dt.timedelta(seconds=2)] * 10 + [epoch + dt.timedelta(seconds=3.5)] * 15

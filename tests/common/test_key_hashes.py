"""Keys that are columns have the hashes of the same keys as tuples."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from penstock.common.canonical import encode_untyped_key
from penstock.common.key_groups import key_group_for
from penstock.common.key_hashes import key_groups, key_hashes
from penstock.common.xxh3 import LONGEST, hash_rows

EDGES = sorted(
    {s * ((1 << b) + d) for b in (0, 3, 5, 7, 8, 15, 16, 31, 32, 62) for d in (-1, 0, 1) for s in (1, -1)}
)
EDGES += [(1 << 63) - 1, -(1 << 63)]
longs = st.none() | st.integers(-(1 << 63), (1 << 63) - 1) | st.sampled_from(EDGES)
texts = st.none() | st.text(max_size=40) | st.integers(0, 70_000).map(lambda n: "ä" * n)
moments = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1)).map(lambda m: m.replace(fold=0))
CASES = {
    "bigint": (pa.int64(), longs),
    "tinyint": (pa.int8(), st.none() | st.integers(-128, 127)),
    "string": (pa.string(), texts),
    "bytes": (pa.binary(), st.none() | st.binary(max_size=300)),
    "boolean": (pa.bool_(), st.none() | st.booleans()),
    "null": (pa.null(), st.none()),
    "date": (pa.date32(), st.none() | st.dates()),
    "timestamp": (pa.timestamp("us"), st.none() | moments),
    "decimal": (pa.decimal128(10, 2), st.none() | st.decimals(-9999, 9999, places=2).map(Decimal)),
}


def expected(rows):
    return [xxh3_64_intdigest(encode_untyped_key(row)) for row in rows]


@given(st.lists(st.binary(min_size=1, max_size=LONGEST), min_size=1, max_size=20))
def test_short_inputs_have_the_hash_of_the_library(inputs):
    data = np.zeros((len(inputs), LONGEST), np.uint8)
    for row, found in zip(data, inputs, strict=True):
        row[: len(found)] = np.frombuffer(found, np.uint8)
    lengths = np.array([len(i) for i in inputs])
    assert hash_rows(data, lengths).tolist() == [xxh3_64_intdigest(i) for i in inputs]


@pytest.mark.parametrize("name", CASES)
@given(st.data())
def test_a_column_alone(name, data):
    data_type, values = CASES[name]
    column = data.draw(st.lists(values, max_size=12))
    assert key_hashes([pa.array(column, data_type)], len(column)).tolist() == expected([(v,) for v in column])


@given(st.data(), st.lists(st.sampled_from(list(CASES)), min_size=2, max_size=4))
def test_columns_together(data, names):
    rows = data.draw(st.lists(st.tuples(*(CASES[n][1] for n in names)), max_size=8))
    columns = [pa.array([r[i] for r in rows], CASES[n][0]) for i, n in enumerate(names)]
    assert key_hashes(columns, len(rows)).tolist() == expected(rows)


def test_all_edges_of_the_number_formats():
    edges = [e for e in EDGES if -(1 << 63) <= e < 1 << 63]
    found = key_hashes([pa.chunked_array([edges[:9], edges[9:]], pa.int64())], len(edges))
    assert found.tolist() == expected([(e,) for e in edges])
    groups = [key_group_for(encode_untyped_key((e,)), 77) for e in edges]
    assert key_groups(found, 77).tolist() == groups


def test_zoned_moments_are_naive_ones_and_no_columns_are_one_key():
    moment = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)
    zoned = pa.array([moment, None], pa.timestamp("us", "UTC"))
    assert key_hashes([zoned], 2).tolist() == expected([(dt.datetime(2024, 1, 1, 12),), (None,)])
    assert key_hashes([], 2).tolist() == expected([(), ()])

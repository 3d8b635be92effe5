"""Random types and random values: a trip through bytes is `normalize`, for one value and for batches."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Instant, Row, RowKind, Types
from penstock.common.codecs import compile_codec
from penstock.common.shapes import to_float32

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def integers(bits: int) -> st.SearchStrategy:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


SCALARS = [
    (Types.STRING(), TEXT),
    (Types.BOOLEAN(), st.booleans()),
    (Types.BYTE(), integers(8)),
    (Types.SHORT(), integers(16)),
    (Types.INT(), integers(32)),
    (Types.LONG(), integers(64) | st.booleans()),
    (Types.FLOAT(), st.floats(allow_nan=False) | st.integers(-100, 100)),
    (Types.DOUBLE(), st.floats(allow_nan=False) | st.integers(-100, 100)),
    (Types.BIG_INT(), st.integers(-(2**90), 2**90)),
    (Types.BIG_DEC(), st.decimals(allow_nan=False, allow_infinity=False, places=3)),
    (Types.INSTANT(), st.builds(Instant, st.integers(-(2**33), 2**33), st.integers(0, 999_999_999))),
    (Types.SQL_DATE(), st.dates()),
    (Types.SQL_TIME(), st.times()),
    (Types.SQL_TIMESTAMP(), st.datetimes()),
    (Types.PICKLED_BYTE_ARRAY(), st.none() | TEXT | st.tuples(st.integers(), TEXT)),
]
HASHABLE = SCALARS[:6]


def rows(names: list[str] | None, fields: list) -> st.SearchStrategy:
    """Rows as programs write them: positional, named in any order, tuples; fields may be None."""
    values = st.tuples(*(st.none() | field for field in fields))
    kinds = st.sampled_from(list(RowKind))
    positional = st.builds(lambda v, k: Row.of_kind(k, *v), values, kinds)
    if names is None:
        return positional | values
    shuffled = st.builds(
        lambda v, k, order: Row.of_kind(k, **{names[i]: v[i] for i in order}),
        values,
        kinds,
        st.permutations(range(len(names))),
    )
    return positional | shuffled | values


def composites(children: st.SearchStrategy) -> st.SearchStrategy:
    several = st.lists(children, min_size=1, max_size=4)
    return (
        several.map(lambda f: (Types.TUPLE([t for t, _ in f]), st.tuples(*(v for _, v in f))))
        | several.map(lambda f: (Types.ROW([t for t, _ in f]), rows(None, [v for _, v in f])))
        | several.map(
            lambda f: (
                Types.ROW_NAMED([f"n{i}" for i in range(len(f))], [t for t, _ in f]),
                rows([f"n{i}" for i in range(len(f))], [v for _, v in f]),
            )
        )
        | children.map(lambda f: (Types.LIST(f[0]), st.lists(f[1], max_size=3)))
        | children.map(lambda f: (Types.OBJECT_ARRAY(f[0]), st.lists(st.none() | f[1], max_size=3)))
        | st.tuples(st.sampled_from(HASHABLE), children).map(
            lambda f: (Types.MAP(f[0][0], f[1][0]), st.dictionaries(f[0][1], st.none() | f[1][1], max_size=3))
        )
    )


TYPED_VALUES = st.recursive(st.sampled_from(SCALARS), composites, max_leaves=6).flatmap(
    lambda pair: st.tuples(st.just(pair[0]), st.lists(pair[1], max_size=4))
)


@settings(max_examples=300, deadline=None)
@given(TYPED_VALUES)
def test_a_trip_through_bytes_is_normalize(typed):
    type_info, values = typed
    codec = compile_codec(type_info)
    normal = [codec.normalize(value) for value in values]
    assert [codec.decode(codec.encode(value)) for value in values] == normal
    assert codec.decode_batch(codec.encode_batch(values)) == normal


@settings(max_examples=150, deadline=None)
@given(TYPED_VALUES)
def test_a_normalized_value_stays_as_it_is_and_keeps_its_bytes(typed):
    type_info, values = typed
    codec = compile_codec(type_info)
    for value in values:
        normal = codec.normalize(value)
        assert codec.normalize(normal) == normal
        assert codec.encode(normal) == codec.encode(value)


UNTYPED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(TEXT, inner, max_size=3)
        | st.builds(Row, inner, inner)
    ),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(UNTYPED)
def test_untyped_values_come_back_with_their_types(value):
    codec = compile_codec(None)
    for back in (codec.decode(codec.encode(value)), codec.decode(codec.encode_key(value))):
        assert back == value and type(back) is type(value)
    assert codec.decode_batch(codec.encode_batch([value])) == [value]


@settings(max_examples=200, deadline=None)
@given(st.floats(allow_nan=False, width=32))
def test_presented_floats_still_mean_the_same_32_bits(value):
    shown = compile_codec(Types.FLOAT()).present(value)
    assert to_float32(shown) == value or math.isinf(value)
    assert len(repr(abs(shown))) <= len(repr(abs(value)))

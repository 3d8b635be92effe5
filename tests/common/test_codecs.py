"""Codecs: round trips, checks, canonical bytes. The rules were asked of PyFlink 2.3."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import os
import pickle
import subprocess
import sys
from io import BytesIO

import pytest

from penstock.common import Instant, Row, RowKind, Types
from penstock.common.codecs import compile_codec
from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.common.serializer import TypeSerializer
from penstock.common.typeinfo import ExternalTypeInfo, TypeInformation

PERSON = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
PAIR = Types.TUPLE([Types.INT(), Types.STRING()])

FITTING = [
    (Types.STRING(), "é x", "é x"),
    (Types.STRING(), None, None),
    (Types.BOOLEAN(), 1, True),
    (Types.BYTE(), -128, -128),
    (Types.SHORT(), 300, 300),
    (Types.INT(), True, 1),
    (Types.INT(), 2.9, 2),
    (Types.LONG(), -(2**63), -(2**63)),
    (Types.FLOAT(), 0.1, 0.10000000149011612),
    (Types.FLOAT(), 3, 3.0),
    (Types.FLOAT(), 1e300, float("inf")),
    (Types.DOUBLE(), 3, 3.0),
    (Types.CHAR(), "x", "x"),
    (Types.BIG_INT(), -(2**100), -(2**100)),
    (Types.BIG_DEC(), decimal.Decimal("12.340"), decimal.Decimal("12.340")),
    (Types.INSTANT(), Instant(-5, 120_000_000), Instant(-5, 120_000_000)),
    (Types.SQL_DATE(), datetime.date(2024, 2, 29), datetime.date(2024, 2, 29)),
    (Types.SQL_TIME(), datetime.time(1, 2, 3, 456789), datetime.time(1, 2, 3, 456000)),
    (Types.LOCAL_TIME(), datetime.time(1, 2, 3, 456789), datetime.time(1, 2, 3, 456789)),
    (Types.BIG_DEC(), "1.5", decimal.Decimal("1.5")),
    (Types.BIG_DEC(), 0.1, decimal.Decimal("0.1")),
    (Types.DOUBLE(), decimal.Decimal("1.5"), 1.5),
    (
        Types.SQL_TIMESTAMP(),
        datetime.datetime(2024, 2, 29, 12, 30, 1, 123456, datetime.timezone.utc),
        datetime.datetime(2024, 2, 29, 12, 30, 1, 123000),
    ),
    (Types.LOCAL_DATE(), datetime.date(2024, 2, 29), datetime.date(2024, 2, 29)),
    (Types.ROW([Types.INT(), Types.STRING()]), Row(None, None), Row(f0=None, f1=None)),
    (Types.ROW([Types.INT(), Types.STRING()]), (1, "a"), Row(f0=1, f1="a")),
    (PERSON, Row(name="n", id=7), Row(id=7, name="n")),
    (PERSON, {"name": "n", "id": 7}, Row(id=7, name="n")),
    (PERSON, Row(7, "n"), Row(id=7, name="n")),
    (PERSON, Row.of_kind(RowKind.DELETE, 7, "n"), Row.of_kind(RowKind.DELETE, id=7, name="n")),
    (PAIR, [7, "t"], (7, "t")),
    (PAIR, Row(7, "t"), (7, "t")),
    (Types.LIST(Types.INT()), (1, 2), [1, 2]),
    (Types.MAP(Types.STRING(), Types.INT()), {"b": 7, "a": None}, {"b": 7, "a": None}),
    (Types.MAP(PAIR, Types.INT()), {(1, "x"): 2}, {(1, "x"): 2}),
    (Types.MAP(PERSON, Types.INT()), {Row(id=1, name="x"): 2}, {Row(id=1, name="x"): 2}),
    (Types.MAP(Types.BIG_INT(), Types.FLOAT()), {2**80: 0.5}, {2**80: 0.5}),
    (Types.BASIC_ARRAY(Types.STRING()), ["p", None], ["p", None]),
    (Types.PRIMITIVE_ARRAY(Types.INT()), [3, 2], [3, 2]),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x01\xff", b"\x01\xff"),
    (Types.OBJECT_ARRAY(PAIR), [(1, "a"), None], [(1, "a"), None]),
    (Types.TUPLE([]), (), ()),
    (
        Types.TUPLE([Types.ROW([Types.FLOAT()]), Types.LIST(PAIR)]),
        (Row(0.5), [(1, "x")]),
        (Row(f0=0.5), [(1, "x")]),
    ),
    (Types.TUPLE([Types.PICKLED_BYTE_ARRAY(), Types.INT()]), ({1, 2}, 3), ({1, 2}, 3)),
    (Types.PICKLED_BYTE_ARRAY(), {"any": [object]}, {"any": [object]}),
    (ExternalTypeInfo(PERSON), Row(1, "x"), Row(id=1, name="x")),
]


@pytest.mark.parametrize("type_info, value, expected", FITTING, ids=lambda v: repr(v)[:40])
def test_a_value_comes_back_normalized(type_info, value, expected):
    codec = compile_codec(type_info)
    for got in (
        codec.decode(codec.encode(value)),
        codec.decode(memoryview(codec.encode_key(value))),
        codec.decode_batch(codec.encode_batch([value, value]))[1],
        codec.normalize(value),
    ):
        assert got == expected and type(got) is type(expected)
        assert getattr(got, "_fields", None) == getattr(expected, "_fields", None)


@pytest.mark.parametrize(
    "type_info, value, message",
    [
        (Types.INT(), 2**31, "INT holds"),
        (Types.BYTE(), 128, "BYTE holds"),
        (Types.SHORT(), -40000, "SHORT holds"),
        (Types.LONG(), 2**63, "LONG holds"),
        (Types.LONG(), "12", "'12' (str) is not a LONG"),
        (Types.INT(), None, "None (NoneType) is not a INT"),
        (Types.INT(), float("nan"), "is not a INT"),
        (Types.DOUBLE(), "1", "is not a DOUBLE"),
        (Types.STRING(), 1, "is not a STRING"),
        (Types.STRING(), b"x", "is not a STRING"),
        (Types.STRING(), "\ud800", "surrogate"),
        (Types.CHAR(), "ab", "is not a CHAR"),
        (PAIR, (1,), "TUPLE of 2 fields"),
        (PAIR, (1, "a", 3), "TUPLE of 2 fields"),
        (PAIR, None, "is not a TUPLE"),
        (PAIR, (None, "a"), "field 0 of TUPLE"),
        (Types.LIST(Types.INT()), [1, None], "element 1 of LIST"),
        (Types.LIST(Types.INT()), "12", "is not a LIST"),
        (Types.LIST(Types.INT()), {1}, "is not a LIST"),
        (Types.LIST(Types.INT()), [1, 2**31], "element 1 of LIST"),
        (Types.LIST(Types.STRING()), ["a", None], "element 1 of LIST"),
        (Types.ROW([Types.INT(), Types.STRING()]), Row(b=1, a="x"), "no fields named"),
        (Types.BIG_DEC(), "x", "is not a BIG_DEC"),
        (Types.PRIMITIVE_ARRAY(Types.INT()), [None], "element 0 of PRIMITIVE_ARRAY"),
        (Types.MAP(Types.STRING(), Types.INT()), {None: 1}, "key in MAP"),
        (Types.MAP(Types.STRING(), Types.INT()), {"a": "b"}, "value of 'a' in MAP"),
        (PERSON, Row(id=1, nom="x"), "is not a ROW(id, name)"),
        (PERSON, Row(1), "ROW of 2 fields"),
        (PERSON, 3, "is not a ROW"),
        (
            Types.TUPLE([Types.LIST(PAIR)]),
            ([(1, "a"), (1, 2)],),
            "field 1 of TUPLE, element 1 of LIST, field 0",
        ),
    ],
    ids=lambda v: repr(v)[:40],
)
def test_a_value_that_does_not_fit_is_refused_with_its_place(type_info, value, message):
    codec = compile_codec(type_info)
    for refuse in (codec.encode, codec.encode_key, lambda v: codec.encode_batch([v])):
        with pytest.raises(TypeMismatchError) as caught:
            refuse(value)
        assert message in str(caught.value)


def test_maps_with_keys_that_no_dict_takes_are_refused():
    for key in (Types.LIST(Types.FLOAT()), Types.MAP(Types.INT(), Types.INT())):
        with pytest.raises(ValidationError, match=r"cannot have (LIST|MAP) keys"):
            compile_codec(Types.MAP(key, Types.INT()))


def test_error_messages_shorten_long_values():
    with pytest.raises(TypeMismatchError) as caught:
        compile_codec(Types.INT()).encode("x" * 10_000)
    assert len(str(caught.value)) < 500


def test_collected_floats_are_the_shortest_decimals():
    codec = compile_codec(Types.TUPLE([Types.FLOAT(), Types.ROW([Types.FLOAT()]), Types.LIST(Types.FLOAT())]))
    inside = codec.normalize((0.1, Row(None), [0.3, 1e20]))
    assert inside[0] == 0.10000000149011612
    assert codec.present(inside) == (0.1, Row(f0=None), [0.3, 1e20])
    assert compile_codec(PAIR).present((1, "a")) == (1, "a")


def test_collected_values_look_as_pyflink_collects_them():
    show = {
        Types.SQL_TIME(): (datetime.time(1, 2, 3, 456000), datetime.time(1, 2, 3)),
        Types.PRIMITIVE_ARRAY(Types.BYTE()): (b"\x01\xff", [1, -1]),
        Types.BIG_DEC(): (decimal.Decimal("1E+5"), decimal.Decimal("100000")),
    }
    for type_info, (inside, collected) in show.items():
        shown = compile_codec(type_info).present(inside)
        assert shown == collected and str(shown) == str(collected)


def test_keys_of_different_types_have_different_bytes():
    untyped = compile_codec(None)
    keys = [1, True, 1.0, "1", b"1", None, (1,), [1], (True,), ((1,),), frozenset([1])]
    assert len({untyped.encode_key(key) for key in keys}) == len(keys)


@dataclasses.dataclass(frozen=True)
class Point:
    x: str
    y: str


def test_equal_untyped_keys_have_equal_bytes_however_they_were_made():
    untyped = compile_codec(None)
    shared, other = "".join(["a", "b", "c"]), "".join(["ab", "c"])
    assert shared is not other
    for one, two in [
        ((shared, (shared, 1)), (shared, (other, 1))),
        (Point(shared, shared), Point(shared, other)),
        ([shared, shared], [shared, other]),
        ({"a": 1, "b": shared}, {"b": other, "a": 1}),
        (Row(shared, shared), Row(shared, other)),
        (Row(a=shared, b=1), Row(b=1, a=other)),
        (2**100, 2**100),
    ]:
        assert untyped.encode_key(one) == untyped.encode_key(two)
        assert untyped.decode(untyped.encode_key(one)) == two
    assert untyped.encode(Point(shared, shared)) == untyped.encode(Point(shared, other))


def test_untyped_keys_have_the_same_bytes_in_every_process():
    program = (
        "from penstock.common.codecs import compile_codec;"
        "c = compile_codec(None);"
        "print(c.encode_key((frozenset('abcdef'), {'x': {1.5, 'q', None}})).hex())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1


def test_untyped_state_values_keep_shared_references():
    untyped = compile_codec(None)
    inner = [1]
    back = untyped.decode(untyped.encode([inner, inner]))
    assert back[0] is back[1]


def test_untyped_values_may_be_functions_and_classes_of_the_script():
    untyped = compile_codec(None)
    assert untyped.decode_batch(untyped.encode_batch([lambda x: x + 1]))[0](2) == 3


def test_maps_with_the_same_entries_have_the_same_bytes():
    codec = compile_codec(Types.TUPLE([Types.MAP(Types.INT(), Types.MAP(Types.STRING(), Types.INT()))]))
    one = ({1: {"a": 1, "b": 2}, 2: {}},)
    two = ({2: {}, 1: {"b": 2, "a": 1}},)
    assert codec.encode(one) == codec.encode(two)


def test_a_codec_survives_pickling():
    codec = pickle.loads(pickle.dumps(compile_codec(PERSON)))
    assert codec.decode(codec.encode(Row(1, "x"))) == Row(id=1, name="x")


def test_rows_with_other_names_get_a_codec_of_their_own():
    other = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
    assert other == PERSON  # names do not matter for equality in Flink ...
    assert compile_codec(other).normalize(Row(1, "x")).a == 1  # ... but they do for values
    assert compile_codec(PERSON).normalize(Row(1, "x")).id == 1


@pytest.mark.parametrize(
    "now, then, readable",
    [
        (PAIR, PAIR, True),
        (Types.LONG(), Types.INT(), True),
        (Types.INT(), Types.LONG(), False),
        (Types.DOUBLE(), Types.FLOAT(), True),
        (Types.STRING(), Types.INT(), False),
        (Types.LIST(Types.LONG()), Types.LIST(Types.SHORT()), True),
        (Types.LIST(Types.INT()), Types.BASIC_ARRAY(Types.INT()), False),
        (Types.ROW_NAMED(["id", "nom"], [Types.INT(), Types.STRING()]), PERSON, True),
        (Types.ROW([Types.INT(), Types.STRING()]), PERSON, True),
        (
            Types.ROW_NAMED(["b", "a"], [Types.INT(), Types.INT()]),
            Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.INT()]),
            False,
        ),
        (Types.ROW([Types.INT()]), Types.ROW([Types.INT(), Types.INT()]), False),
        (None, Types.PICKLED_BYTE_ARRAY(), True),
        (None, Types.STRING(), False),
    ],
    ids=repr,
)
def test_state_is_readable_where_its_bytes_still_mean_the_same(now, then, readable):
    assert compile_codec(now).is_compatible(compile_codec(then).fingerprint) is readable


def test_bytes_of_another_type_are_reported():
    with pytest.raises(TypeMismatchError, match="stored bytes are not a INT"):
        compile_codec(Types.INT()).decode(compile_codec(Types.STRING()).encode("x"))


class HexSerializer(TypeSerializer):
    def serialize(self, element, stream: BytesIO) -> None:
        stream.write(hex(element).encode())

    def deserialize(self, stream: BytesIO):
        return int(stream.read(), 16)


class HexType(TypeInformation):
    def create_serializer(self) -> TypeSerializer:
        return HexSerializer()


class ScaledType(TypeInformation):
    def __init__(self, factors: list[int]) -> None:
        self.factors = factors


def test_types_of_a_program_compare_by_what_they_hold():
    assert ScaledType([1]) == ScaledType([1]) != ScaledType([2])
    assert len({ScaledType([1]), ScaledType([1]), ScaledType([2])}) == 2
    assert compile_codec(ScaledType([1])).normalize("anything") == "anything"


def test_a_type_may_bring_its_own_serializer():
    codec = compile_codec(HexType())
    assert codec.encode(255) == b"0xff"
    assert codec.decode_batch(codec.encode_batch([1, 2])) == [1, 2]
    assert HexSerializer() == HexSerializer()
    inside = compile_codec(Types.TUPLE([HexType()]))
    assert inside.decode(inside.encode((16,))) == (16,)
    assert "HexSerializer" in codec.fingerprint and "HexSerializer" in inside.fingerprint

from __future__ import annotations

import datetime
import pickle

import pytest

from penstock.common import Instant, Row, RowKind, Types
from penstock.common.errors import ValidationError
from penstock.common.typeinfo import DateTypeInfo, ExternalTypeInfo, RowTypeInfo


def test_types_compare_by_meaning():
    assert Types.INT() == Types.INT() and Types.INT() != Types.LONG()
    assert Types.LIST(Types.INT()) != Types.BASIC_ARRAY(Types.INT())
    assert Types.MAP(Types.INT(), Types.INT()) == Types.MAP(Types.INT(), Types.INT())
    assert Types.SQL_DATE() == DateTypeInfo() and Types.SQL_DATE() != Types.LOCAL_DATE()
    assert Types.INSTANT() == Types.INSTANT() and len({Types.INSTANT(), Types.INSTANT()}) == 1
    assert ExternalTypeInfo(Types.INT()) == ExternalTypeInfo(Types.INT()) != Types.INT()


def test_row_types_compare_without_names_as_in_flink():
    assert Types.ROW_NAMED(["a"], [Types.INT()]) == Types.ROW([Types.INT()])
    assert hash(Types.ROW_NAMED(["a"], [Types.INT()])) == hash(Types.ROW([Types.INT()]))


def test_types_read_as_flink_writes_them():
    row = Types.ROW_NAMED(["id", "tags"], [Types.INT(), Types.LIST(Types.STRING())])
    assert repr(row) == "RowTypeInfo(id: Integer, tags: ListTypeInfo<String>)"
    assert repr(Types.TUPLE([Types.BIG_DEC(), Types.SQL_DATE()])) == "TupleTypeInfo(BigDecimal, DateTypeInfo)"
    assert repr(Types.MAP(Types.STRING(), Types.BOOLEAN())) == "MapTypeInfo<String, Boolean>"


def test_rows_without_names_have_numbered_fields():
    row = Types.ROW([Types.INT(), Types.STRING()])
    assert row.get_field_names() == ["f0", "f1"] and row.get_field_index("f0") == -1
    assert Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.INT()]).get_field_index("b") == 1


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Types.TUPLE([int]), "made of types"),
        (lambda: Types.ROW(Types.INT()), "takes a list"),
        (lambda: Types.LIST(Types.INT), "made of types"),
        (lambda: Types.ROW_NAMED(["a"], [Types.INT(), Types.INT()]), "1 names for 2 types"),
        (lambda: Types.ROW_NAMED(["a", "a"], [Types.INT(), Types.INT()]), "twice"),
        (lambda: Types.PRIMITIVE_ARRAY(Types.STRING()), "element of a PRIMITIVE_ARRAY"),
        (lambda: Types.BASIC_ARRAY(Types.BIG_DEC()), "element of a BASIC_ARRAY"),
    ],
)
def test_types_that_mean_nothing_are_refused_when_they_are_made(make, message):
    with pytest.raises(ValidationError, match=message):
        make()


@pytest.mark.parametrize(
    "type_info, value, internal",
    [
        (Types.SQL_DATE(), datetime.date(1970, 1, 11), 10),
        (Types.SQL_TIME(), datetime.time(0, 0, 1, 5), 1_000_005),
        (Types.SQL_TIMESTAMP(), datetime.datetime(1970, 1, 1, 0, 0, 1), 1_000_000),
        (Types.LOCAL_DATE_TIME(), datetime.datetime(1969, 12, 31), -86_400_000_000),
        (Types.INSTANT(), Instant(1, 0), 1_000_000),
        (Types.TUPLE([Types.SQL_DATE(), Types.INT()]), (datetime.date(1970, 1, 2), 5), (1, 5)),
        (Types.SQL_DATE(), None, None),
    ],
)
def test_internal_forms_go_both_ways(type_info, value, internal):
    assert type_info.to_internal_type(value) == internal
    assert type_info.from_internal_type(internal) == value


def test_the_internal_form_of_a_row_starts_with_its_kind():
    row_type = RowTypeInfo([Types.INT(), Types.SQL_DATE()], ["n", "d"])
    row = Row.of_kind(RowKind.DELETE, d=datetime.date(1970, 1, 2), n=5)
    assert row_type.to_internal_type(row) == (3, 5, 1)
    assert row_type.from_internal_type((3, 5, 1)) == (5, datetime.date(1970, 1, 2))


def test_types_survive_pickling():
    row = Types.ROW_NAMED(["a"], [Types.MAP(Types.STRING(), Types.OBJECT_ARRAY(Types.SQL_TIME()))])
    twin = pickle.loads(pickle.dumps(row))
    assert twin == row and repr(twin) == repr(row)

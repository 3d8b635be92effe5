"""Rows behave as PyFlink's do."""

from __future__ import annotations

import copy
import pickle

import pytest

from penstock.common import Row, RowKind


def test_named_rows_are_read_by_name_position_and_attribute():
    row = Row(name="Alice", age=11)
    assert (row.name, row["age"], row[0], row[-1]) == ("Alice", 11, "Alice", 11)
    assert "name" in row and "Alice" not in row
    assert row.get_field_by_name("age") == 11
    assert row.as_dict() == {"name": "Alice", "age": 11}
    assert list(row) == ["Alice", 11] and len(row) == 2


def test_positional_rows_contain_their_values():
    row = Row("Alice", 11)
    assert "Alice" in row and "name" not in row
    assert repr(row) == "<Row('Alice', 11)>"
    with pytest.raises(TypeError):
        row.as_dict()


def test_a_row_of_names_works_like_a_class():
    person = Row("name", "age")("Alice", 11)
    assert repr(person) == "Row(name='Alice', age=11)"
    with pytest.raises(ValueError, match="2 fields but got 3"):
        Row("name", "age")(1, 2, 3)


def test_fields_are_set_by_name_and_position():
    row = Row(a=1, b=2)
    row["a"], row[1] = 3, 4
    assert row == Row(a=3, b=4)
    with pytest.raises(AttributeError):
        row.a = 5


def test_unknown_names_are_key_value_and_attribute_errors():
    row = Row(a=1)
    with pytest.raises(KeyError):
        row["b"]
    with pytest.raises(ValueError):
        row["b"]
    with pytest.raises(AttributeError):
        row.b
    with pytest.raises(ValueError, match="no fields named \\['b'\\]"):
        row.get_fields_by_names(["b"])


def test_positional_and_named_values_do_not_mix():
    with pytest.raises(ValueError, match="not both"):
        Row(1, b=2)


def test_equality_looks_at_names_values_and_kind_but_not_at_field_order():
    assert Row(a=1, b=2) == Row(b=2, a=1)
    assert hash(Row(a=1, b=2)) == hash(Row(b=2, a=1))
    assert Row(1, 2) != Row(a=1, b=2)
    assert Row(1) != Row.of_kind(RowKind.DELETE, 1)
    assert Row(1) != (1,)


def test_recursive_dicts_reach_into_lists_and_maps():
    row = Row(k=Row(a=1), many=[Row(a=2)], named={"x": Row(a=3)})
    assert row.as_dict(True) == {"k": {"a": 1}, "many": [{"a": 2}], "named": {"x": {"a": 3}}}
    assert row.as_dict()["k"] == Row(a=1)


@pytest.mark.parametrize("row", [Row(1, "x"), Row(a=1), Row.of_kind(RowKind.UPDATE_BEFORE, a=None)], ids=repr)
def test_rows_survive_pickling_and_copying(row):
    for twin in (pickle.loads(pickle.dumps(row)), copy.copy(row), copy.deepcopy(row)):
        assert twin == row and twin.get_row_kind() is row.get_row_kind() and twin is not row


def test_row_kinds_print_as_flink_prints_them():
    assert [str(kind) for kind in RowKind] == ["+I", "-U", "+U", "-D"]
    assert [kind.is_retraction for kind in RowKind] == [False, True, False, True]


def test_field_names_can_be_given_later():
    row = Row(1, 2)
    row.set_field_names(["a", "b"])
    row.set_row_kind(RowKind.UPDATE_AFTER)
    assert row.b == 2 and row.get_field_names() == ["a", "b"]
    assert row.get_fields_by_names(["b", "a"]) == [2, 1]

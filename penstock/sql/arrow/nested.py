"""Rows and arrays: making them and reading their parts."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import (
    ArrayType,
    CharType,
    DataType,
    IntegralType,
    MapType,
    NullType,
    RowType,
    VarCharType,
)
from penstock.sql.arrow.casts import cast_node
from penstock.sql.arrow.compiler import Compiler, NoArrowForm, register, type_of
from penstock.sql.arrow.nodes import Node, apply
from penstock.sql.arrow.text import cut_integer_node, fixed
from penstock.sql.arrow.values import Datum, array, column, is_scalar, nulls, numbers
from penstock.sql.plan.rex import Call, Const


def _rows(data: tuple[Datum, ...]) -> int:
    return next(len(d) for d in data if not is_scalar(d))


# --- rows -----------------------------------------------------------------------------------------------


def build_row(call: Call, compiler: Compiler) -> Node:
    kind = type_of(call)
    if not call.args:
        raise NoArrowForm("a row without fields")
    return apply(partial(_row, kind), kind, *compiler.nodes(call.args))


def _row(kind: pa.DataType, *data: Datum) -> pa.Array:
    """
    >>> _row(pa.struct([("a", pa.int64())]), pa.array([1, None])).to_pylist()
    [{'a': 1}, {'a': None}]
    """
    columns = [array(d, _rows(data)) for d in data]
    return pa.StructArray.from_arrays(columns, fields=list(kind))


def build_dot(call: Call, compiler: Compiler) -> Node:
    """A field of a row, by its name or its place."""
    row, name = call.args[0].type, call.args[1]
    if not isinstance(row, RowType) or not isinstance(name, Const):
        raise NoArrowForm(f"a field of {row}")
    place = name.value if isinstance(name.value, int) else row.names.index(name.value)
    if row.names.count(row.names[place]) > 1:
        raise NoArrowForm("a row with two fields of one name")
    return apply(partial(_field, place), type_of(call), compiler.node(call.args[0]))


def _field(place: int, rows: pa.Array) -> pa.Array:
    """NULL where the row is."""
    return pc.struct_field(rows, [place])


register("ROW", build_row)
register("DOT", build_dot)

# --- arrays ---------------------------------------------------------------------------------------------


def build_array(call: Call, compiler: Compiler) -> Node:
    assert isinstance(call.type, ArrayType)
    element = call.type.element_type
    if isinstance(element, NullType) or not call.args:
        raise NoArrowForm("an array of bare NULLs, or of nothing")
    nodes = [cast_node(compiler.node(arg), arg.type, element, compiler) for arg in call.args]
    return apply(_array, type_of(call), *nodes)


def _array(*data: Datum) -> pa.Array:
    """
    >>> _array(pa.array([1, 2]), pa.scalar(9)).to_pylist()
    [[1, 9], [2, 9]]
    """
    rows, width = _rows(data), len(data)
    values = pa.concat_arrays([array(d, rows) for d in data])
    order = np.arange(rows * width).reshape(width, rows).T.ravel()
    offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(width)
    return pa.ListArray.from_arrays(pa.array(offsets), values.take(pa.array(order)))


def _bounds(lists: pa.Array) -> tuple[Any, Any]:
    offsets = np.asarray(lists.offsets).astype(np.int64)
    return offsets[:-1], offsets[1:]


def build_item(call: Call, compiler: Compiler) -> Node:
    """array[i], counted from 1, or map[key]; NULL where there is none."""
    source, index = call.args
    if isinstance(source.type, ArrayType):
        nodes = [compiler.node(source), cut_integer_node(index, compiler)]
        return apply(_item, type_of(call), *nodes)
    if isinstance(source.type, MapType):
        return _map_item(call, source.type, compiler)
    raise NoArrowForm(f"an item of {source.type}")


def _item(lists: Datum, index: Datum) -> pa.Array:
    lists = array(lists, _rows((lists, index)))
    starts, ends = _bounds(lists)
    places = numbers(index).astype(np.int64) - 1
    missing = (places < 0) | (starts + places >= ends)
    unknown = nulls(lists, index)
    if unknown is not None:
        missing |= unknown
    return lists.values.take(pa.array(np.where(missing, 0, starts + places), mask=missing))


_KEYS: tuple[type[DataType], ...] = (CharType, VarCharType, IntegralType)


def _map_item(call: Call, source: MapType, compiler: Compiler) -> Node:
    key = cast_node(compiler.node(call.args[1]), call.args[1].type, source.key_type, compiler)
    if fixed(key) is None or not isinstance(source.key_type, _KEYS):
        raise NoArrowForm("a key that is no constant text or integer")
    scalar = pa.scalar(fixed(key), key.type)
    return apply(partial(_value_of, scalar), type_of(call), compiler.node(call.args[0]))


def _value_of(key: pa.Scalar, maps: pa.Array) -> pa.Array:
    return pc.map_lookup(maps, key, "first")


def build_cardinality(call: Call, compiler: Compiler) -> Node:
    if not isinstance(call.args[0].type, (ArrayType, MapType)):
        raise NoArrowForm(f"CARDINALITY of {call.args[0].type}")
    return apply(_cardinality, pa.int32(), compiler.node(call.args[0]))


def _cardinality(lists: pa.Array) -> pa.Array:
    starts, ends = _bounds(lists)
    return column(ends - starts, pa.int32(), nulls(lists))


register("ARRAY", build_array)
register("ITEM", build_item)
register("CARDINALITY", build_cardinality)

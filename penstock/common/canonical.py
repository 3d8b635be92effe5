"""Bytes for values that nobody declared a type for: any Python object, and equal keys give equal bytes.

A pickle alone will not do for keys. Pickle writes the second mention of an object as a back reference, so
`("a", "a")` has one form when both are the same object and another when they are merely equal; and the order
of a set depends on the process. So:

- scalars and flat tuples of scalars are written as msgpack, behind a tag byte. Different types differ:
  1, True and 1.0 are three keys, as in Flink;
- other values that compare by content are pickled without back references, with sets and dicts sorted;
- everything else (lists and dicts that are state values, objects with identity, functions) is pickled as
  usual, so that shared references inside it stay shared.
"""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.common.pickling import dumps, dumps_canonical, loads
from penstock.common.types import Row, make_row

_SCALAR, _TUPLE, _PICKLE = b"s", b"t", b"p"
_SCALAR_TAG, _TUPLE_TAG = _SCALAR[0], _TUPLE[0]
_PLAIN = frozenset({str, int, float, bool, bytes, type(None)})
_encode = msgspec.msgpack.Encoder().encode
_decode_any = msgspec.msgpack.Decoder().decode
_decode_tuple = msgspec.msgpack.Decoder(tuple[Any, ...]).decode


def encode_untyped(value: Any) -> bytes:
    """Bytes of one value; canonical for everything that can be a key by content."""
    kind = type(value)
    try:
        if kind in _PLAIN:
            return _SCALAR + _encode(value)
        if kind is tuple and _PLAIN.issuperset(map(type, value)):
            return _TUPLE + _encode(value)
    except (OverflowError, UnicodeEncodeError):
        pass  # beyond msgpack: integers over 64 bits, lone surrogates
    if kind.__hash__ is not None and kind.__eq__ is not object.__eq__:
        return encode_untyped_key(value)
    return _PICKLE + dumps(value)


def encode_untyped_key(value: Any) -> bytes:
    """Like `encode_untyped`, and canonical also for lists, dicts and sets."""
    kind = type(value)
    try:
        if kind in _PLAIN:
            return _SCALAR + _encode(value)
        if kind is tuple and _PLAIN.issuperset(map(type, value)):
            return _TUPLE + _encode(value)
    except (OverflowError, UnicodeEncodeError):
        pass
    try:
        return _PICKLE + dumps_canonical(_sorted(value))
    except RecursionError:
        return _PICKLE + dumps(value)  # a cycle has no canonical form


def decode_untyped(data: bytes | memoryview) -> Any:
    """The value that `encode_untyped` made these bytes of."""
    tag, body = data[0], memoryview(data)[1:]
    if tag == _SCALAR_TAG:
        return _decode_any(body)
    if tag == _TUPLE_TAG:
        return _decode_tuple(body)
    return loads(body)


class _Ordered:
    """Stands for a set or dict while it is pickled, with its items in an order that only they decide."""

    def __init__(self, kind: type, items: list[Any]) -> None:
        self.kind, self.items = kind, items

    def __reduce__(self) -> tuple[Any, ...]:
        return self.kind, (self.items,)


def _sorted(value: Any) -> Any:
    """The value with every set and dict inside tuples, lists, sets and dicts put in order."""
    kind = type(value)
    if kind is tuple or kind is list:
        return kind(_sorted(item) for item in value)
    if kind is frozenset or kind is set:
        return _Ordered(kind, sorted((_sorted(item) for item in value), key=encode_untyped_key))
    if kind is dict:
        pairs = ((_sorted(k), _sorted(v)) for k, v in value.items())
        return _Ordered(dict, sorted(pairs, key=lambda pair: encode_untyped_key(pair[0])))
    if kind is Row:
        names = value.get_field_names()
        fields = names if names is None else sorted(names)  # named rows are equal in any field order
        values = value if fields is None else value.get_fields_by_names(fields)
        return make_row([_sorted(item) for item in values], fields, value.get_row_kind())
    return value

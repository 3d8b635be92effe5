"""Rows and row kinds: the values that tables, changelogs and ROW-typed streams are made of.

A `Row` is a list of values, optionally with field names, and a kind that says what it means in a changelog:
an insertion, the old or the new half of an update, or a deletion. There are three ways to make one:

>>> Row("Alice", 11)
<Row('Alice', 11)>
>>> Row(name="Alice", age=11)
Row(name='Alice', age=11)
>>> Person = Row("name", "age")          # a positional row of names works like a class
>>> Person("Alice", 11)
Row(name='Alice', age=11)
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["Row", "RowKind"]


class RowKind(enum.Enum):
    """What a row says about the table it belongs to; `str()` gives the short form that Flink prints."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    def __str__(self) -> str:
        return _SHORT_FORMS[self.value]

    def __hash__(self) -> int:
        return self._value_  # type: ignore[no-any-return]

    @property
    def is_retraction(self) -> bool:
        """Whether the row takes something back (-U or -D)."""
        return self is RowKind.UPDATE_BEFORE or self is RowKind.DELETE


_SHORT_FORMS = ("+I", "-U", "+U", "-D")
_INSERT = RowKind.INSERT


class Row:
    """Values in order, reachable by position, and by name where the row has field names.

    Two rows are equal when kind and values agree; named rows compare by name, whatever the order of their
    fields, and never equal a row without names.
    """

    __slots__ = ("_fields", "_row_kind", "_values")

    _values: list[Any]
    _fields: Sequence[str] | None
    _row_kind: RowKind

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if kwargs:
            if args:
                raise ValueError("a Row takes either positional or named values, not both")
            self._fields = list(kwargs)
            self._values = list(kwargs.values())
        else:
            self._fields = None
            self._values = list(args)
        self._row_kind = _INSERT

    @staticmethod
    def of_kind(row_kind: RowKind, *args: Any, **kwargs: Any) -> Row:
        """A row like `Row(*args, **kwargs)`, of the given kind."""
        row = Row(*args, **kwargs)
        row._row_kind = row_kind
        return row

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        """Field names to values; with `recursive` the rows inside become dicts too."""
        if self._fields is None:
            raise TypeError("a Row without field names cannot become a dict")
        values = map(_as_plain, self._values) if recursive else self._values
        return dict(zip(self._fields, values, strict=False))

    def get_row_kind(self) -> RowKind:
        """Whether the row is an insertion, an update's old or new row, or a deletion."""
        return self._row_kind

    def set_row_kind(self, row_kind: RowKind) -> None:
        """Makes the row a change of this kind."""
        self._row_kind = row_kind

    def get_field_names(self) -> list[str] | None:
        """The field names, or None for a positional row."""
        return None if self._fields is None else list(self._fields)

    def set_field_names(self, field_names: Sequence[str]) -> None:
        """Gives the fields names, by which they can be asked for."""
        self._fields = field_names

    def get_field_by_name(self, name: str) -> Any:
        """The value of one named field."""
        return self._values[self._index_of(name, KeyError)]

    def get_fields_by_names(self, names: list[str]) -> list[Any]:
        """The values in the order of `names`; a row without names gives them as they are."""
        fields = self._fields
        if fields is None or list(fields) == list(names):
            return self._values
        unknown = sorted(set(names).difference(fields))
        if unknown:
            raise ValueError(f"no fields named {unknown} in a row with {list(fields)}")
        return [self._values[fields.index(name)] for name in names]

    def _index_of(self, name: Any, error: type[Exception]) -> int:
        if self._fields is not None:
            try:
                return self._fields.index(name)
            except ValueError:
                pass
        raise error(name)

    def _named_values(self) -> Iterator[tuple[str, Any]]:
        return zip(self._fields or (), self._values, strict=False)

    def __call__(self, *args: Any) -> Row:
        """A row whose field names are this row's values, so that `Row("a", "b")` works like a class."""
        if len(args) > len(self._values):
            raise ValueError(f"{self!r} names {len(self._values)} fields but got {len(args)} values")
        return make_row(list(args), self._values, self._row_kind)

    def __contains__(self, item: Any) -> bool:
        return item in (self._values if self._fields is None else self._fields)

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, (int, slice)):
            return self._values[item]
        return self._values[self._index_of(item, _NoSuchField)]

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, (int, slice)):
            self._values[key] = value
        else:
            self._values[self._index_of(key, _NoSuchField)] = value

    def __getattr__(self, item: str) -> Any:
        if item.startswith("_"):
            raise AttributeError(item)
        return self._values[self._index_of(item, AttributeError)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        if self.__class__ is not other.__class__:
            return False
        assert isinstance(other, Row)
        if self._row_kind is not other._row_kind:
            return False
        mine, theirs = self._fields, other._fields
        if mine is None or theirs is None:
            return mine is theirs and self._values == other._values
        if mine is theirs or list(mine) == list(theirs):
            return self._values == other._values
        return len(mine) == len(theirs) and self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        if self._fields is None:
            return hash(tuple(self._values))
        return hash(tuple(value for _, value in sorted(self._named_values(), key=_by_name)))

    def __repr__(self) -> str:
        if self._fields is None:
            return f"<Row({', '.join(map(repr, self._values))})>"
        return f"Row({', '.join(f'{k}={v!r}' for k, v in self._named_values())})"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._row_kind is _INSERT:
            return make_row, (self._values, self._fields)
        return make_row, (self._values, self._fields, self._row_kind)

    def __copy__(self) -> Row:
        return make_row(list(self._values), self._fields, self._row_kind)


class _NoSuchField(KeyError, ValueError):
    """Unknown field name: a KeyError to us; PyFlink raises ValueError, and programs may catch that."""


def make_row(values: list[Any], fields: Sequence[str] | None = None, kind: RowKind = _INSERT) -> Row:
    """A row that takes over `values` and `fields` without copying: the fast way for codecs and operators."""
    row = _new_row(Row)
    row._values = values
    row._fields = fields
    row._row_kind = kind
    return row


_new_row = Row.__new__


def _by_name(pair: tuple[str, Any]) -> str:
    return pair[0]


def _as_plain(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict(True)
    if isinstance(value, list):
        return [_as_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _as_plain(item) for key, item in value.items()}
    return value

"""Arrays, maps and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.table.expression_parts.base import Operand

if TYPE_CHECKING:
    from penstock.table.expression import Expression


class Collections(Operand):
    """What can be done with arrays, maps and rows."""

    def get(self, name_or_index: Any) -> Expression:
        """A field of a row, by name or position (from 0)."""
        return self._call("get", name_or_index)

    @property
    def flatten(self) -> Expression:
        """In `select`: a column for each field of the row."""
        return self._call("flatten")

    def at(self, index: Any) -> Expression:
        """An element of an array (from 1), or the value of a map's key."""
        return self._call("at", index)

    @property
    def cardinality(self) -> Expression:
        """How many elements there are."""
        return self._call("cardinality")

    @property
    def element(self) -> Expression:
        """The only element of an array; NULL if it is empty."""
        return self._call("element")

    def array_append(self, addition: Any) -> Expression:
        """With an element at the end."""
        return self._call("ARRAY_APPEND", addition)

    def array_contains(self, needle: Any) -> Expression:
        """Whether the array has an element."""
        return self._call("ARRAY_CONTAINS", needle)

    def array_distinct(self) -> Expression:
        """Without repeated elements."""
        return self._call("ARRAY_DISTINCT")

    def array_position(self, needle: Any) -> Expression:
        """Where an element is first, from 1; 0 if it is not there."""
        return self._call("ARRAY_POSITION", needle)

    def array_prepend(self, addition: Any) -> Expression:
        """With an element at the beginning."""
        return self._call("ARRAY_PREPEND", addition)

    def array_remove(self, needle: Any) -> Expression:
        """Without an element."""
        return self._call("ARRAY_REMOVE", needle)

    def array_reverse(self) -> Expression:
        """From last to first."""
        return self._call("ARRAY_REVERSE")

    def array_slice(self, start_offset: Any, end_offset: Any = None) -> Expression:
        """The elements from one position to another, both included."""
        return self._call("ARRAY_SLICE", start_offset, end_offset)

    def array_sort(self, ascending_order: Any = None, null_first: Any = None) -> Expression:
        """Sorted."""
        return self._call("ARRAY_SORT", ascending_order, null_first)

    def array_union(self, array: Any) -> Expression:
        """The distinct elements of both arrays."""
        return self._call("ARRAY_UNION", array)

    def array_concat(self, *arrays: Any) -> Expression:
        """All arrays, one after the other."""
        return self._call("ARRAY_CONCAT", *arrays)

    def array_max(self) -> Expression:
        """The largest element."""
        return self._call("ARRAY_MAX")

    def array_join(self, delimiter: Any, null_replacement: Any = None) -> Expression:
        """The elements as one text."""
        return self._call("ARRAY_JOIN", delimiter, null_replacement)

    def array_min(self) -> Expression:
        """The smallest element."""
        return self._call("ARRAY_MIN")

    def array_except(self, array: Any) -> Expression:
        """The distinct elements that another array has not."""
        return self._call("ARRAY_EXCEPT", array)

    def array_intersect(self, array: Any) -> Expression:
        """The distinct elements that another array has too."""
        return self._call("ARRAY_INTERSECT", array)

    @property
    def map_keys(self) -> Expression:
        """The keys of a map."""
        return self._call("MAP_KEYS")

    def map_union(self, *maps: Any) -> Expression:
        """All maps as one; later ones win."""
        return self._call("MAP_UNION", *maps)

    @property
    def map_values(self) -> Expression:
        """The values of a map."""
        return self._call("MAP_VALUES")

    @property
    def map_entries(self) -> Expression:
        """The entries of a map, as rows of key and value."""
        return self._call("MAP_ENTRIES")

    def object_update(self, *kv: Any) -> Expression:
        """A structured object with fields replaced."""
        return self._call("OBJECT_UPDATE", *kv)

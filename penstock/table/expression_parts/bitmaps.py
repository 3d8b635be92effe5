"""Bitmaps of whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.table.expression_parts.base import Operand

if TYPE_CHECKING:
    from penstock.table.expression import Expression


class Bitmaps(Operand):
    """What can be done with bitmaps."""

    def bitmap_and(self, bitmap2: Any) -> Expression:
        """What both bitmaps hold."""
        return self._call("BITMAP_AND", bitmap2)

    def bitmap_andnot(self, bitmap2: Any) -> Expression:
        """What another bitmap does not hold."""
        return self._call("BITMAP_ANDNOT", bitmap2)

    def bitmap_and_agg(self) -> Expression:
        """What all bitmaps of a group hold."""
        return self._call("BITMAP_AND_AGG")

    def bitmap_and_cardinality_agg(self) -> Expression:
        """How much all bitmaps of a group hold."""
        return self._call("BITMAP_AND_CARDINALITY_AGG")

    def bitmap_build(self) -> Expression:
        """A bitmap of an array's numbers."""
        return self._call("BITMAP_BUILD")

    def bitmap_build_agg(self) -> Expression:
        """A bitmap of a group's numbers."""
        return self._call("BITMAP_BUILD_AGG")

    def bitmap_build_cardinality_agg(self) -> Expression:
        """How many numbers a group has."""
        return self._call("BITMAP_BUILD_CARDINALITY_AGG")

    def bitmap_cardinality(self) -> Expression:
        """How many numbers the bitmap holds."""
        return self._call("BITMAP_CARDINALITY")

    def bitmap_from_bytes(self) -> Expression:
        """The bitmap that bytes stand for."""
        return self._call("BITMAP_FROM_BYTES")

    def bitmap_or(self, bitmap2: Any) -> Expression:
        """What either bitmap holds."""
        return self._call("BITMAP_OR", bitmap2)

    def bitmap_or_agg(self) -> Expression:
        """What any bitmap of a group holds."""
        return self._call("BITMAP_OR_AGG")

    def bitmap_or_cardinality_agg(self) -> Expression:
        """How much any bitmap of a group holds."""
        return self._call("BITMAP_OR_CARDINALITY_AGG")

    def bitmap_to_array(self) -> Expression:
        """The numbers as an array."""
        return self._call("BITMAP_TO_ARRAY")

    def bitmap_to_bytes(self) -> Expression:
        """The bitmap as bytes."""
        return self._call("BITMAP_TO_BYTES")

    def bitmap_to_string(self) -> Expression:
        """The numbers as text."""
        return self._call("BITMAP_TO_STRING")

    def bitmap_xor(self, bitmap2: Any) -> Expression:
        """What exactly one of the bitmaps holds."""
        return self._call("BITMAP_XOR", bitmap2)

    def bitmap_xor_agg(self) -> Expression:
        """What an odd number of a group's bitmaps hold."""
        return self._call("BITMAP_XOR_AGG")

    def bitmap_xor_cardinality_agg(self) -> Expression:
        """How much an odd number of a group's bitmaps hold."""
        return self._call("BITMAP_XOR_CARDINALITY_AGG")

"""Windows of the Table API: groups of rows by time, and the rows around each row.

    table.window(Tumble.over(lit(10).minutes).on(col("rowtime")).alias("w"))
    table.window(Slide.over(lit(10).minutes).every(lit(5).minutes).on(col("rowtime")).alias("w"))
    table.window(Session.with_gap(lit(10).minutes).on(col("rowtime")).alias("w"))
    table.over_window(Over.partition_by(col("k")).order_by(col("rowtime")).preceding(UNBOUNDED_RANGE).alias("w"))

Each step only remembers what it was told; the table's method makes a plan of it.
"""

from __future__ import annotations

from typing import Any, Literal

from penstock.common.errors import ValidationError
from penstock.table.expression_parts.base import Operand, node_of
from penstock.table.expression_parts.nodes import Node
from penstock.table.window_specs import GroupWindowSpec, OverWindowSpec

__all__ = ["GroupWindow", "Over", "OverWindow", "Session", "Slide", "Tumble"]

_Kind = Literal["TUMBLE", "HOP", "SESSION"]


def _expression(value: Any, what: str) -> Node:
    if not isinstance(value, Operand):
        raise ValidationError(
            f"{what} takes an expression, got {value!r}",
            do="write lit(10).minutes, row_interval(5) or col('ts')",
        )
    return node_of(value)


def _alias(alias: Any) -> str:
    if isinstance(alias, Operand):
        return str(alias)
    if not isinstance(alias, str):
        raise ValidationError(f"the alias of a window is a name, got {alias!r}")
    return alias


class GroupWindow:
    """A window that `Table.window` takes."""

    def __init__(self, spec: GroupWindowSpec) -> None:
        self._spec = spec


class _Timed:
    """A window whose length and time are known."""

    def __init__(self, kind: _Kind, lengths: tuple[Node, ...], time: Node) -> None:
        self._kind: _Kind = kind
        self._lengths = lengths
        self._time = time

    def alias(self, alias: str) -> GroupWindow:
        """The name under which `group_by` and `select` speak of the window."""
        return GroupWindow(GroupWindowSpec(self._kind, self._lengths, self._time, _alias(alias)))


class TumbleWithSizeOnTime(_Timed):
    """A tumbling window that lacks its name."""


class SessionWithGapOnTime(_Timed):
    """A session window that lacks its name."""


class SlideWithSizeAndSlideOnTime(_Timed):
    """A sliding window that lacks its name."""


class Tumble:
    """Windows of one length, one after the other."""

    @classmethod
    def over(cls, size: Any) -> TumbleWithSize:
        """How long a window is: an interval, or a number of rows."""
        return TumbleWithSize(_expression(size, "Tumble.over"))


class TumbleWithSize:
    """A tumbling window that lacks its time."""

    def __init__(self, size: Node) -> None:
        self._size = size

    def on(self, time_field: Any) -> TumbleWithSizeOnTime:
        """The time attribute that says where a row belongs."""
        return TumbleWithSizeOnTime("TUMBLE", (self._size,), _expression(time_field, "on"))


class Session:
    """Windows that end when nothing has come for a while."""

    @classmethod
    def with_gap(cls, gap: Any) -> SessionWithGap:
        """How long nothing may come."""
        return SessionWithGap(_expression(gap, "Session.with_gap"))


class SessionWithGap:
    """A session window that lacks its time."""

    def __init__(self, gap: Node) -> None:
        self._gap = gap

    def on(self, time_field: Any) -> SessionWithGapOnTime:
        """The time attribute that says where a row belongs."""
        return SessionWithGapOnTime("SESSION", (self._gap,), _expression(time_field, "on"))


class Slide:
    """Windows of one length that begin at regular intervals and may overlap."""

    @classmethod
    def over(cls, size: Any) -> SlideWithSize:
        """How long a window is: an interval, or a number of rows."""
        return SlideWithSize(_expression(size, "Slide.over"))


class SlideWithSize:
    """A sliding window that lacks its slide."""

    def __init__(self, size: Node) -> None:
        self._size = size

    def every(self, slide: Any) -> SlideWithSizeAndSlide:
        """How far apart windows begin."""
        return SlideWithSizeAndSlide(self._size, _expression(slide, "every"))


class SlideWithSizeAndSlide:
    """A sliding window that lacks its time."""

    def __init__(self, size: Node, slide: Node) -> None:
        self._size = size
        self._slide = slide

    def on(self, time_field: Any) -> SlideWithSizeAndSlideOnTime:
        """The time attribute that says where a row belongs."""
        lengths = (self._slide, self._size)
        return SlideWithSizeAndSlideOnTime("HOP", lengths, _expression(time_field, "on"))


class Over:
    """For each row, the rows before it."""

    @classmethod
    def order_by(cls, order_by: Any) -> OverWindowPartitionedOrdered:
        """The time attribute by which rows are ordered; in batch, any column."""
        return OverWindowPartitionedOrdered((), _expression(order_by, "order_by"))

    @classmethod
    def partition_by(cls, *partition_by: Any) -> OverWindowPartitioned:
        """Only rows with the same values of these columns see each other."""
        return OverWindowPartitioned(tuple(_expression(p, "partition_by") for p in partition_by))


class OverWindowPartitioned:
    """A partitioned window that lacks its order."""

    def __init__(self, partition: tuple[Node, ...]) -> None:
        self._partition = partition

    def order_by(self, order_by: Any) -> OverWindowPartitionedOrdered:
        """The time attribute by which rows are ordered; in batch, any column."""
        return OverWindowPartitionedOrdered(self._partition, _expression(order_by, "order_by"))


class OverWindowPartitionedOrdered:
    """An ordered window; it begins with its partition unless `preceding` says otherwise."""

    def __init__(self, partition: tuple[Node, ...], order: Node) -> None:
        self._partition = partition
        self._order = order

    def alias(self, alias: str) -> OverWindow:
        """The name under which `over` speaks of the window."""
        return OverWindow(OverWindowSpec(_alias(alias), self._partition, self._order))

    def preceding(self, preceding: Any) -> OverWindowPartitionedOrderedPreceding:
        """How far back the window reaches: an interval, a number of rows, or without end."""
        begin = _expression(preceding, "preceding")
        return OverWindowPartitionedOrderedPreceding(OverWindowSpec("", self._partition, self._order, begin))


class OverWindowPartitionedOrderedPreceding:
    """A window with a beginning; it ends at the row unless `following` says otherwise."""

    def __init__(self, spec: OverWindowSpec) -> None:
        self._spec = spec

    def alias(self, alias: str) -> OverWindow:
        """The name under which `over` speaks of the window."""
        s = self._spec
        return OverWindow(OverWindowSpec(_alias(alias), s.partition, s.order, s.preceding, s.following))

    def following(self, following: Any) -> OverWindowPartitionedOrderedPreceding:
        """How far the window reaches beyond the row."""
        s, end = self._spec, _expression(following, "following")
        return OverWindowPartitionedOrderedPreceding(
            OverWindowSpec("", s.partition, s.order, s.preceding, end)
        )


class OverWindow:
    """A window that `Table.over_window` takes."""

    def __init__(self, spec: OverWindowSpec) -> None:
        self._spec = spec

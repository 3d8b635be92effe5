"""Window joins and co-groups (Java API).

    a.join(b).where(key_a).equal_to(key_b).window(assigner).apply(f)        every pair of a window
    a.co_group(b).where(key_a).equal_to(key_b).window(assigner).apply(f)    both sides of a window

Both are one windowed stream over the union of the two, each element tagged with the stream it is from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.common.typeinfo import TypeInformation
from penstock.datastream.builder import call_site, checked_millis, key_selector_of
from penstock.datastream.keyed_stream import KeyedStream
from penstock.datastream.stream import DataStream
from penstock.datastream.windowed_stream import WindowedStream
from penstock.functions.join import CoGroupFunction, FlatJoinFunction, JoinFunction
from penstock.functions.window_adapters import (
    CoGroupWindowFunction,
    JoinWindowFunction,
    TaggedKeySelector,
    tag_left,
    tag_right,
)
from penstock.functions.wrap import as_function

if TYPE_CHECKING:
    from penstock.windowing.assigner import WindowAssigner
    from penstock.windowing.evictors import Evictor
    from penstock.windowing.trigger import Trigger

__all__ = ["CoGroupedStreams", "JoinedStreams"]


class _Pair:
    """Two streams with their key selectors, as far as they are known."""

    def __init__(self, first: DataStream, second: DataStream) -> None:
        if not isinstance(second, DataStream):
            raise TypeMismatchError(f"expected a DataStream, got {second!r}", where=call_site())
        first._check_same_environment(second)
        self._first = first
        self._second = second
        self._selector1: Any = None
        self._selector2: Any = None
        self._key_type: TypeInformation | None = None

    def where(self, key_selector: Any, key_type: TypeInformation | None = None) -> Any:
        """The key of the first stream's elements."""
        self._selector1 = key_selector_of(key_selector, "where")
        self._key_type = key_type
        return self

    def equal_to(self, key_selector: Any, key_type: TypeInformation | None = None) -> Any:
        """The key of the second stream's elements."""
        if self._selector1 is None:
            raise ValidationError(
                "equal_to before where", where=call_site(), do="join(other).where(...).equal_to(...)"
            )
        self._selector2 = key_selector_of(key_selector, "equal_to")
        if key_type is not None and self._key_type not in (None, key_type):
            raise ValidationError(
                f"keys of different types: {self._key_type} and {key_type}", where=call_site()
            )
        self._key_type = key_type or self._key_type
        return self

    def _windowed(self, assigner: WindowAssigner) -> WindowedStream:
        if self._selector2 is None:
            raise ValidationError(
                "the keys of the two streams are missing",
                where=call_site(),
                do="call where(...).equal_to(...) before window(...)",
            )
        # Two types in one stream: tagged elements travel untyped.
        tagged1 = self._first.map(tag_left).name("Tag left")
        tagged2 = self._second.map(tag_right).name("Tag right")
        selector = TaggedKeySelector(self._selector1, self._selector2)
        return KeyedStream(tagged1.union(tagged2), selector, self._key_type).window(assigner)


class JoinedStreams(_Pair):
    """Made by `DataStream.join`; goes on with `where`, `equal_to` and `window`."""

    def window(self, assigner: WindowAssigner) -> JoinedStreams.WithWindow:
        """Pairs must be in the same window."""
        return JoinedStreams.WithWindow(self._windowed(assigner))

    class WithWindow:
        """A window join, waiting for its function."""

        def __init__(self, windowed: WindowedStream) -> None:
            self._windowed = windowed

        def trigger(self, trigger: Trigger) -> JoinedStreams.WithWindow:
            """When windows fire."""
            self._windowed.trigger(trigger)
            return self

        def evictor(self, evictor: Evictor) -> JoinedStreams.WithWindow:
            """Which (tagged) elements are removed when a window fires."""
            self._windowed.evictor(evictor)
            return self

        def allowed_lateness(self, time_ms: Any) -> JoinedStreams.WithWindow:
            """How long after its end a window still takes elements."""
            self._windowed.allowed_lateness(checked_millis(time_ms, "allowed lateness"))
            return self

        def apply(
            self, function: JoinFunction | FlatJoinFunction | Any, output_type: TypeInformation | None = None
        ) -> DataStream:
            """Calls the function for every pair; a callable is a JoinFunction: one result per pair."""
            user = as_function(function, JoinFunction, FlatJoinFunction, where=call_site())
            return self._windowed.apply(JoinWindowFunction(user), output_type).name("Window Join")


class CoGroupedStreams(_Pair):
    """Made by `DataStream.co_group`; goes on with `where`, `equal_to` and `window`."""

    def window(self, assigner: WindowAssigner) -> CoGroupedStreams.WithWindow:
        """Elements are grouped by window."""
        return CoGroupedStreams.WithWindow(self._windowed(assigner))

    class WithWindow:
        """A co-group, waiting for its function."""

        def __init__(self, windowed: WindowedStream) -> None:
            self._windowed = windowed

        def trigger(self, trigger: Trigger) -> CoGroupedStreams.WithWindow:
            """When windows fire."""
            self._windowed.trigger(trigger)
            return self

        def evictor(self, evictor: Evictor) -> CoGroupedStreams.WithWindow:
            """Which (tagged) elements are removed when a window fires."""
            self._windowed.evictor(evictor)
            return self

        def allowed_lateness(self, time_ms: Any) -> CoGroupedStreams.WithWindow:
            """How long after its end a window still takes elements."""
            self._windowed.allowed_lateness(checked_millis(time_ms, "allowed lateness"))
            return self

        def apply(
            self, function: CoGroupFunction | Any, output_type: TypeInformation | None = None
        ) -> DataStream:
            """Calls the function once for both sides of every key and window."""
            user = as_function(function, CoGroupFunction, where=call_site())
            return self._windowed.apply(CoGroupWindowFunction(user), output_type).name("CoGroup")

"""Interval join of two keyed streams: pairs whose timestamps are near enough.

    left   ------------ l --------------------        r joins l if  l + lower <= r <= l + upper
    right  ---- r ---------- r ----- r -------
               l+lower ......l...... l+upper

Each side is buffered in map state by timestamp. An element is kept until no element of the other side that may
still come (at or after the watermark) can be in its interval; a timer then drops it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.common.errors import ValidationError
from penstock.common.ids import MIN_WATERMARK
from penstock.common.typeinfo import Types
from penstock.functions.join import ProcessJoinFunction
from penstock.functions.timers import TimeDomain
from penstock.operators.failures import raise_user_error
from penstock.operators.function_operator import bound
from penstock.operators.keyed import KeyedOperator
from penstock.state.backend import Timer
from penstock.state.descriptors import MapStateDescriptor

if TYPE_CHECKING:
    from penstock.common.typeinfo import TypeInformation

_LEFT, _RIGHT = "left", "right"


class _JoinContext(ProcessJoinFunction.Context):
    """The timestamps of the pair at hand."""

    def __init__(self) -> None:
        self.left = self.right = MIN_WATERMARK

    def get_left_timestamp(self) -> int:
        return self.left

    def get_right_timestamp(self) -> int:
        return self.right

    def get_timestamp(self) -> int:
        return max(self.left, self.right)


class IntervalJoinOperator(KeyedOperator):
    """Runs a ProcessJoinFunction for every pair; input 0 is the left side.

    Args:
        function: Has `process_element(left, right, ctx)`.
        lower_ms: A right element joins from `left + lower` ...
        upper_ms: ... to `left + upper`, both inclusive unless said otherwise.
        lower_exclusive: The lower bound itself does not join.
        upper_exclusive: The upper bound itself does not join.
        left_late_tag: Side output for left elements behind the watermark; None: counted and dropped.
        right_late_tag: The same for right elements.
        left_type: Type of the left elements; None: any.
        right_type: Type of the right elements; None: any.
    """

    input_count = 2

    def __init__(
        self,
        function: Any,
        lower_ms: int,
        upper_ms: int,
        lower_exclusive: bool,
        upper_exclusive: bool,
        left_late_tag: Any,
        right_late_tag: Any,
        key_selector1: Any,
        key_selector2: Any,
        left_type: TypeInformation | None = None,
        right_type: TypeInformation | None = None,
    ) -> None:
        super().__init__(function, key_selector1, key_selector2)
        self.lower_ms = lower_ms + 1 if lower_exclusive else lower_ms
        self.upper_ms = upper_ms - 1 if upper_exclusive else upper_ms
        if self.lower_ms > self.upper_ms:
            raise ValidationError(
                f"interval join from {lower_ms} to {upper_ms} ms joins nothing",
                do="the lower bound must not be greater than the upper bound",
            )
        self.late_tags = (left_late_tag, right_late_tag)
        self.types = (left_type, right_type)

    def open(self) -> None:
        super().open()
        self._join_context = _JoinContext()
        self._late_dropped = self.context.metrics.counter("numLateRecordsDropped")
        self._buffers = tuple(
            self.runtime_context.get_map_state(
                MapStateDescriptor(f"{side}-buffer", Types.LONG(), _list_of(element_type))
            )
            for side, element_type in zip((_LEFT, _RIGHT), self.types, strict=True)
        )

    def process_elements(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        if timestamps is None:
            if not values:
                return
            raise ValidationError(
                "interval join of elements without timestamps",
                where=f"operator {self.context.name!r}",
                do="call assign_timestamps_and_watermarks(...) on both streams",
            )
        select = self.key_selectors[input_index]
        assert select is not None
        value = None
        try:
            for value, time in zip(values, timestamps, strict=True):
                if self.current_watermark != MIN_WATERMARK and time < self.current_watermark:
                    self._drop_late(input_index, value, time)
                    continue
                self.backend.set_current_key(select(value))
                self._join(input_index, value, time)
        except Exception as error:
            raise_user_error(error, self.context, self.function, value)
        self.results.flush()

    def _join(self, side: int, value: Any, time: int) -> None:
        own, other = self._buffers[side], self._buffers[1 - side]
        own.put(time, [*(own.get(time) or ()), value])
        # How far ahead elements of the other side can lie, seen from this side.
        low, high = (self.lower_ms, self.upper_ms) if side == 0 else (-self.upper_ms, -self.lower_ms)
        call, context = bound(self.function, "process_element"), self._join_context
        for other_time in sorted(t for t in other.keys() if time + low <= t <= time + high):  # noqa: SIM118
            for other_value in other.get(other_time):
                if side == 0:
                    context.left, context.right = time, other_time
                    results = call(value, other_value, context)
                else:
                    context.left, context.right = other_time, time
                    results = call(other_value, value, context)
                self.results.add_all(results, max(time, other_time))
        self.backend.event_timers.register(time + max(high, 0), (_LEFT, _RIGHT)[side])

    def on_timer(self, timer: Timer, domain: TimeDomain) -> None:
        if timer.namespace == _LEFT:
            self._buffers[0].remove(timer.time_ms - max(self.upper_ms, 0))
        else:
            self._buffers[1].remove(timer.time_ms - max(-self.lower_ms, 0))

    def _drop_late(self, side: int, value: Any, time: int) -> None:
        tag = self.late_tags[side]
        if tag is None:
            self._late_dropped.inc()
        else:
            self.results.add_side(getattr(tag, "tag_id", tag), value, time)


def _list_of(element_type: TypeInformation | None) -> TypeInformation:
    return Types.PICKLED_BYTE_ARRAY() if element_type is None else Types.LIST(element_type)

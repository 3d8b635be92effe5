"""Interval joins: pairs of elements with the same key whose timestamps are close (Java API).

left.interval_join(right).between(Time.seconds(-2), Time.seconds(1)).process(f)

left  ──────────────x──────────▶ time
right      [────────┴────]            every right element in [x - 2 s, x + 1 s] makes a pair
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.common.time import to_millis
from penstock.common.typeinfo import TypeInformation
from penstock.datastream.builder import call_site, operator_step
from penstock.datastream.stream import DataStream
from penstock.functions.join import ProcessJoinFunction
from penstock.functions.output_tag import OutputTag
from penstock.functions.wrap import as_function

if TYPE_CHECKING:
    from penstock.datastream.keyed_stream import KeyedStream
    from penstock.operators.base import Operator

__all__ = ["IntervalJoin", "IntervalJoined"]


class IntervalJoin:
    """Two keyed streams, waiting for their bounds."""

    def __init__(self, left: KeyedStream, right: KeyedStream) -> None:
        if left.key_type != right.key_type:
            raise ValidationError(
                f"interval join of keys of different types: {left.key_type} and {right.key_type}",
                where=call_site(),
                do="give both key_by(...) calls the same key_type",
            )
        self._left = left
        self._right = right

    def in_event_time(self) -> IntervalJoin:
        """Joins by event time, which is the only way there is."""
        return self

    def between(self, lower_bound: Any, upper_bound: Any) -> IntervalJoined:
        """A right element pairs if left time + lower <= its time <= left time + upper."""
        lower_ms, upper_ms = to_millis(lower_bound), to_millis(upper_bound)
        if lower_ms > upper_ms:
            raise ValidationError(
                f"lower bound {lower_ms} ms is above upper bound {upper_ms} ms",
                where=call_site(),
                do="between(Time.seconds(-2), Time.seconds(1))",
            )
        return IntervalJoined(self._left, self._right, lower_ms, upper_ms)


class IntervalJoined:
    """Two keyed streams with bounds, waiting for the function."""

    def __init__(self, left: KeyedStream, right: KeyedStream, lower_ms: int, upper_ms: int) -> None:
        self._left = left
        self._right = right
        self._lower_ms = lower_ms
        self._upper_ms = upper_ms
        self._lower_exclusive = False
        self._upper_exclusive = False
        self._left_late_tag: OutputTag | None = None
        self._right_late_tag: OutputTag | None = None

    def lower_bound_exclusive(self) -> IntervalJoined:
        """The lower bound itself does not pair."""
        self._lower_exclusive = True
        return self

    def upper_bound_exclusive(self) -> IntervalJoined:
        """The upper bound itself does not pair."""
        self._upper_exclusive = True
        return self

    def side_output_left_late_data(self, output_tag: OutputTag) -> IntervalJoined:
        """Late elements of the left stream go to this side output."""
        self._left_late_tag = _checked_tag(output_tag)
        return self

    def side_output_right_late_data(self, output_tag: OutputTag) -> IntervalJoined:
        """Late elements of the right stream go to this side output."""
        self._right_late_tag = _checked_tag(output_tag)
        return self

    def process(
        self, process_join_function: ProcessJoinFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Calls the function for every pair."""
        function = as_function(process_join_function, ProcessJoinFunction, where=call_site())
        left, right = self._left, self._right
        settings: dict[str, Any] = {
            "lower_ms": self._lower_ms,
            "upper_ms": self._upper_ms,
            "lower_exclusive": self._lower_exclusive,
            "upper_exclusive": self._upper_exclusive,
            "left_late_tag": self._left_late_tag,
            "right_late_tag": self._right_late_tag,
            "key_selector1": left.key_selector,
            "key_selector2": right.key_selector,
            "left_type": left.get_type(),
            "right_type": right.get_type(),
        }

        def make() -> Operator:
            from penstock.operators.interval_join import IntervalJoinOperator

            return IntervalJoinOperator(function, **settings)

        environment = left.get_execution_environment()
        step = operator_step(
            environment,
            "Interval Join",
            [left.transformation, right.transformation],
            make,
            output_type,
            key_selectors=[left.key_selector, right.key_selector],
            key_type=left.key_type,
        )
        return DataStream(environment, step)


def _checked_tag(output_tag: Any) -> OutputTag:
    if not isinstance(output_tag, OutputTag):
        raise TypeMismatchError(f"expected an OutputTag, got {output_tag!r}", where=call_site())
    return output_tag

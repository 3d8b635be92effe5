"""ProcessFunction and KeyedProcessFunction."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

from penstock.common.ids import MIN_TIMESTAMP
from penstock.functions.timers import TimeDomain
from penstock.operators.dead_letters import bury, whole
from penstock.operators.element_context import ElementContext
from penstock.operators.function_operator import FunctionOperator, bound
from penstock.operators.keyed import KeyedOperator
from penstock.operators.results import Results
from penstock.state.backend import Timer


class UnkeyedProcessOperator(FunctionOperator):
    """What process functions without keys share: a context and the loop."""

    def open(self) -> None:
        super().open()
        self.element_context = ElementContext(self.timer_service)
        self.results = Results(self.output)

    def run_process(self, call: Callable[..., Any], values: list[Any], timestamps: list[int] | None) -> None:
        ctx, results = self.element_context, self.results
        times = repeat(MIN_TIMESTAMP) if timestamps is None else timestamps
        value, timestamp = None, MIN_TIMESTAMP
        call = whole(call, self.context)
        rest = zip(values, times)  # noqa: B905 - `repeat` has no end
        while True:
            try:
                for value, timestamp in rest:
                    ctx.timestamp_ms = timestamp
                    results.add_all(call(value, ctx), timestamp)
                break
            except Exception as error:
                bury(error, self.context, self.function, value, None if timestamps is None else timestamp)
        results.flush(timestamped=timestamps is not None)


class ProcessOperator(UnkeyedProcessOperator):
    """Runs a ProcessFunction."""

    def process_batch(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        self.run_process(bound(self.function, "process_element"), values, timestamps)


class KeyedTimerOperator(KeyedOperator):
    """A keyed operator whose function has `on_timer(timestamp, ctx)`."""

    def on_timer(self, timer: Timer, domain: TimeDomain) -> None:
        ctx = self.element_context
        ctx.timestamp_ms = timer.time_ms
        ctx.domain = domain
        call = whole(self.function.on_timer, self.context)
        self.results.add_all(call(timer.time_ms, ctx), timer.time_ms)


class KeyedProcessOperator(KeyedTimerOperator):
    """Runs a KeyedProcessFunction."""

    def __init__(self, function: Any, key_selector: Any) -> None:
        super().__init__(function, key_selector)

    def process_elements(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        self.run_process(self.function.process_element, self.key_selectors[0], values, timestamps)

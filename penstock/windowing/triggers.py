"""The triggers that come with Flink."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from penstock.common.ids import MAX_TIMESTAMP
from penstock.common.time import Duration, Time, to_millis
from penstock.common.typeinfo import Types
from penstock.state.descriptors import ReducingStateDescriptor, ValueStateDescriptor
from penstock.windowing.trigger import Trigger, TriggerResult

__all__ = [
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "CountTrigger",
    "DeltaTrigger",
    "EndOfStreamTrigger",
    "EventTimeTrigger",
    "NeverTrigger",
    "ProcessingTimeTrigger",
    "ProcessingTimeoutTrigger",
    "PurgingTrigger",
    "Trigger",
    "TriggerResult",
]

CONTINUE, FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE
Context = Trigger.TriggerContext


class _PassiveTrigger(Trigger):
    """Does nothing at all; the triggers below say what they do instead."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Context) -> TriggerResult:
        return CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Context) -> TriggerResult:
        return CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Context) -> TriggerResult:
        return CONTINUE

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        pass

    def clear(self, window: Any, ctx: Context) -> None:
        pass

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class NeverTrigger(_PassiveTrigger):
    """Never fires: the default of GlobalWindows."""

    def can_merge(self) -> bool:
        """Yes: it keeps nothing."""
        return True


class EventTimeTrigger(_PassiveTrigger):
    """Fires when the watermark passes the end of the window, and at once for elements that come later."""

    @staticmethod
    def create() -> EventTimeTrigger:
        """Fires when the watermark passes the end of the window."""
        return EventTimeTrigger()

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Context) -> TriggerResult:
        """Fires if the watermark is behind the window's end already; else a timer will."""
        end = window.max_timestamp()
        if end <= ctx.get_current_watermark():
            return FIRE
        ctx.register_event_time_timer(end)
        return CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Context) -> TriggerResult:
        """Fires at the window's end."""
        return FIRE if time == window.max_timestamp() else CONTINUE

    def can_merge(self) -> bool:
        """Yes: the timer moves to the end of the merged window."""
        return True

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        """Sets the timer of the merged window, unless the watermark has passed it."""
        end = window.max_timestamp()
        if end > ctx.get_current_watermark():
            ctx.register_event_time_timer(end)

    def clear(self, window: Any, ctx: Context) -> None:
        """Removes the timer."""
        ctx.delete_event_time_timer(window.max_timestamp())


class ProcessingTimeTrigger(_PassiveTrigger):
    """Fires when processing time passes the end of the window."""

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        """Fires when the clock passes the end of the window."""
        return ProcessingTimeTrigger()

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Context) -> TriggerResult:
        """Sets a timer for the window's end."""
        ctx.register_processing_time_timer(window.max_timestamp())
        return CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Context) -> TriggerResult:
        """Fires."""
        return FIRE

    def can_merge(self) -> bool:
        """Yes: the timer moves to the end of the merged window."""
        return True

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        """Sets the timer of the merged window, unless its time has passed."""
        end = window.max_timestamp()
        if end > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(end)

    def clear(self, window: Any, ctx: Context) -> None:
        """Removes the timer."""
        ctx.delete_processing_time_timer(window.max_timestamp())


class EndOfStreamTrigger(_PassiveTrigger):
    """Fires when a bounded input has ended."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Context) -> TriggerResult:
        """Sets a timer for the end of all input."""
        ctx.register_event_time_timer(MAX_TIMESTAMP)
        return CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Context) -> TriggerResult:
        """Fires at the end of all input."""
        return FIRE if time == MAX_TIMESTAMP else CONTINUE


class _ContinuousTrigger(_PassiveTrigger):
    """Fires every `interval` milliseconds; remembers the next time in `fire-time`."""

    def __init__(self, interval: int) -> None:
        self.interval = interval
        self._next_fire = ReducingStateDescriptor("fire-time", min, Types.LONG())

    def can_merge(self) -> bool:
        return True

    def register_next_fire_timestamp(
        self, time: int, window: Any, ctx: Context, fire_timestamp_state: Any
    ) -> None:
        """Sets the timer one interval behind `time`, or at the window's end if that comes first."""
        next_fire = min(time + self.interval, window.max_timestamp())
        fire_timestamp_state.add(next_fire)
        self._register(next_fire, ctx)

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self._next_fire)
        next_fire = ctx.get_partitioned_state(self._next_fire).get()
        if next_fire is not None:
            self._register(next_fire, ctx)

    def clear(self, window: Any, ctx: Context) -> None:
        state = ctx.get_partitioned_state(self._next_fire)
        next_fire = state.get()
        if next_fire is not None:
            self._delete(next_fire, ctx)
            state.clear()

    def _start(self, time: int, window: Any, ctx: Context) -> None:
        state = ctx.get_partitioned_state(self._next_fire)
        if state.get() is None:
            self.register_next_fire_timestamp(time - time % self.interval, window, ctx, state)

    def _fire_if_due(self, time: int, window: Any, ctx: Context) -> TriggerResult:
        state = ctx.get_partitioned_state(self._next_fire)
        if state.get() != time:
            return CONTINUE
        state.clear()
        self.register_next_fire_timestamp(time, window, ctx, state)
        return FIRE

    def _register(self, time: int, ctx: Context) -> None:
        raise NotImplementedError

    def _delete(self, time: int, ctx: Context) -> None:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.interval})"


class ContinuousEventTimeTrigger(_ContinuousTrigger):
    """Fires at every interval of event time, and at the end of the window."""

    @staticmethod
    def of(interval: Time | Duration) -> ContinuousEventTimeTrigger:
        """Fires each time event time has moved on by the interval."""
        return ContinuousEventTimeTrigger(to_millis(interval))

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Context) -> TriggerResult:
        """Fires if the window is over already; else sets the timers of the next interval and of the end."""
        if window.max_timestamp() <= ctx.get_current_watermark():
            return FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        self._start(timestamp, window, ctx)
        return CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Context) -> TriggerResult:
        """Fires at the end of an interval and at that of the window."""
        if time == window.max_timestamp():
            return FIRE
        return self._fire_if_due(time, window, ctx)

    def _register(self, time: int, ctx: Context) -> None:
        ctx.register_event_time_timer(time)

    def _delete(self, time: int, ctx: Context) -> None:
        ctx.delete_event_time_timer(time)


class ContinuousProcessingTimeTrigger(_ContinuousTrigger):
    """Fires at every interval of processing time."""

    @staticmethod
    def of(interval: Time | Duration) -> ContinuousProcessingTimeTrigger:
        """Fires each time the clock has moved on by the interval."""
        return ContinuousProcessingTimeTrigger(to_millis(interval))

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Context) -> TriggerResult:
        """Sets the timer of the next interval, with the first element."""
        self._start(ctx.get_current_processing_time(), window, ctx)
        return CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Context) -> TriggerResult:
        """Fires at the end of an interval, and sets the next timer."""
        return self._fire_if_due(time, window, ctx)

    def _register(self, time: int, ctx: Context) -> None:
        ctx.register_processing_time_timer(time)

    def _delete(self, time: int, ctx: Context) -> None:
        ctx.delete_processing_time_timer(time)


class CountTrigger(_PassiveTrigger):
    """Fires when a window has so many elements, and counts anew."""

    def __init__(self, window_size: int) -> None:
        self.window_size = window_size
        self._count = ReducingStateDescriptor("count", operator.add, Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        """Fires whenever so many elements have come."""
        return CountTrigger(window_size)

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Context) -> TriggerResult:
        """Counts; fires at the number asked for, and counts from 0 again."""
        count = ctx.get_partitioned_state(self._count)
        count.add(1)
        if count.get() < self.window_size:
            return CONTINUE
        count.clear()
        return FIRE

    def can_merge(self) -> bool:
        """Yes: counts are added."""
        return True

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        """Adds the counts of the windows that were merged."""
        ctx.merge_partitioned_state(self._count)

    def clear(self, window: Any, ctx: Context) -> None:
        """Forgets the count."""
        ctx.get_partitioned_state(self._count).clear()

    def __repr__(self) -> str:
        return f"CountTrigger({self.window_size})"


class PurgingTrigger(Trigger):
    """Drops the elements of a window whenever the nested trigger fires it."""

    def __init__(self, nested_trigger: Trigger) -> None:
        self.nested_trigger = nested_trigger

    @staticmethod
    def of(nested_trigger: Trigger) -> PurgingTrigger:
        """Fires as the nested trigger does, and drops the content each time."""
        return PurgingTrigger(nested_trigger)

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Context) -> TriggerResult:
        """As the trigger within says; the window is emptied when it fires."""
        return _purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_processing_time(self, time: int, window: Any, ctx: Context) -> TriggerResult:
        """As the trigger within says; the window is emptied when it fires."""
        return _purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def on_event_time(self, time: int, window: Any, ctx: Context) -> TriggerResult:
        """As the trigger within says; the window is emptied when it fires."""
        return _purging(self.nested_trigger.on_event_time(time, window, ctx))

    def can_merge(self) -> bool:
        """Whether the trigger within can."""
        return self.nested_trigger.can_merge()

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        """Asks the trigger within."""
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: Any, ctx: Context) -> None:
        """Clears the trigger within."""
        self.nested_trigger.clear(window, ctx)

    def __repr__(self) -> str:
        return f"PurgingTrigger({self.nested_trigger!r})"


class DeltaTrigger(_PassiveTrigger):
    """Fires when an element differs from the one of the last firing by more than a threshold (Java API).

    `delta_function` is called with the old and the new element, as a callable or by `get_delta`.
    """

    def __init__(self, threshold: float, delta_function: Any, state_type: Any = None) -> None:
        self.threshold = threshold
        self.delta_function = delta_function
        self._last = ValueStateDescriptor("last-element", state_type or Types.PICKLED_BYTE_ARRAY())

    @staticmethod
    def of(threshold: float, delta_function: Any, state_type: Any = None) -> DeltaTrigger:
        """Fires when an element differs from the last one that fired by more than the threshold."""
        return DeltaTrigger(threshold, delta_function, state_type)

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Context) -> TriggerResult:
        """Fires if the element is further than the threshold from the one it fired for last, or from the first."""
        state = ctx.get_partitioned_state(self._last)
        last = state.value()
        if last is None:
            state.update(element)
            return CONTINUE
        if delta_of(self.delta_function)(last, element) > self.threshold:
            state.update(element)
            return FIRE
        return CONTINUE

    def clear(self, window: Any, ctx: Context) -> None:
        """Forgets the element it compares with."""
        ctx.get_partitioned_state(self._last).clear()

    def __repr__(self) -> str:
        return f"DeltaTrigger({self.threshold})"


class ProcessingTimeoutTrigger(Trigger):
    """Fires a window by timeout if the nested trigger has not fired it before (Java API).

    Args:
        nested_trigger: Asked first.
        timeout_ms: Processing time from the first (or, with the reset, the last) element to the firing.
        reset_timer_on_new_record: Every element starts the timeout anew.
        should_clear_on_timeout: Clear the nested trigger's state when the timeout fires.
    """

    def __init__(
        self,
        nested_trigger: Trigger,
        timeout_ms: int,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> None:
        self.nested_trigger = nested_trigger
        self.timeout_ms = timeout_ms
        self.reset_timer_on_new_record = reset_timer_on_new_record
        self.should_clear_on_timeout = should_clear_on_timeout
        self._timeout = ValueStateDescriptor("timeout", Types.LONG())

    @staticmethod
    def of(
        nested_trigger: Trigger,
        timeout: Time | Duration,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> ProcessingTimeoutTrigger:
        """Fires as the nested trigger does, and when nothing has happened for the timeout."""
        return ProcessingTimeoutTrigger(
            nested_trigger, to_millis(timeout), reset_timer_on_new_record, should_clear_on_timeout
        )

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Context) -> TriggerResult:
        """As the trigger within says; sets the timeout if that does not fire."""
        result = self.nested_trigger.on_element(element, timestamp, window, ctx)
        if result.is_fire():
            self.clear(window, ctx)
            return result
        state = ctx.get_partitioned_state(self._timeout)
        timeout = state.value()
        if timeout is not None and self.reset_timer_on_new_record:
            ctx.delete_processing_time_timer(timeout)
            timeout = None
        if timeout is None:
            timeout = ctx.get_current_processing_time() + self.timeout_ms
            state.update(timeout)
            ctx.register_processing_time_timer(timeout)
        return result

    def on_processing_time(self, time: int, window: Any, ctx: Context) -> TriggerResult:
        """Fires when the timeout is over, or as the trigger within says."""
        result = self.nested_trigger.on_processing_time(time, window, ctx)
        return self._fire(result, window, ctx)

    def on_event_time(self, time: int, window: Any, ctx: Context) -> TriggerResult:
        """Fires as the trigger within says."""
        result = self.nested_trigger.on_event_time(time, window, ctx)
        return self._fire(result, window, ctx)

    def _fire(self, result: TriggerResult, window: Any, ctx: Context) -> TriggerResult:
        if self.should_clear_on_timeout:
            self.clear(window, ctx)
        return TriggerResult.FIRE_AND_PURGE if result.is_purge() else FIRE

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        """Asks the trigger within."""
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: Any, ctx: Context) -> None:
        """Removes the timeout and clears the trigger within."""
        state = ctx.get_partitioned_state(self._timeout)
        timeout = state.value()
        if timeout is not None:
            ctx.delete_processing_time_timer(timeout)
            state.clear()
        self.nested_trigger.clear(window, ctx)

    def __repr__(self) -> str:
        return f"ProcessingTimeoutTrigger({self.nested_trigger!r}, {self.timeout_ms})"


def delta_of(delta_function: Any) -> Callable[[Any, Any], float]:
    """A DeltaFunction (`get_delta(old, new)`) or a callable, as something to call."""
    return getattr(delta_function, "get_delta", None) or delta_function


def _purging(result: TriggerResult) -> TriggerResult:
    return TriggerResult.FIRE_AND_PURGE if result.is_fire() else result

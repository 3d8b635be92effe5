"""Windows over keyed streams, as Flink's WindowOperator defines them.

An element is put into each window that its assigner names and that is still open; the trigger then says whether
the window fires. A window is open until its clean-up time, `max_timestamp + allowed lateness`:

    watermark            ------------------|--------------------|------------>
                                     max_timestamp         clean-up time
    an element of the    added, waits      added, fires again   late: dropped, or to the late output
    window that comes

What fires goes to the window function and leaves with the timestamp `max_timestamp`. Merging (session) windows
go through `MergingWindowSet`. For the commonest windows `window_aligned.py`, `window_panes.py` and
`window_sessions.py` do the same with far less work per element.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

from penstock.common.errors import InvariantError, ValidationError
from penstock.common.ids import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.functions.base import RuntimeContext
from penstock.functions.timers import TimeDomain
from penstock.operators.dead_letters import POISONED, bury, bury_what, whole
from penstock.operators.failures import raise_user_error
from penstock.operators.keyed import KeyedOperator
from penstock.operators.merging_window_set import MergingWindowSet
from penstock.operators.runtime_context import StatelessRuntimeContext
from penstock.operators.window_contents import EvictableContents, WindowContents
from penstock.operators.window_context import AssignerContext, EvictorContext, TriggerContext, WindowContext
from penstock.operators.window_function import InternalWindowFunction
from penstock.state.backend import Timer
from penstock.windowing.assigner import MergingWindowAssigner, WindowAssigner
from penstock.windowing.evictors import Evictor
from penstock.windowing.triggers import EventTimeTrigger, Trigger, TriggerResult

_LATE_COUNTER = "numLateRecordsDropped"


class WindowOperator(KeyedOperator):
    """The general window operator: any assigner, trigger and evictor.

    Args:
        assigner: Which windows an element belongs to.
        trigger: When a window fires; None: the assigner's default.
        evictor: Takes elements out before or after the function; the contents must be evictable then.
        allowed_lateness_ms: How long a window stays after the watermark has passed its end.
        late_tag_id: Side output for elements that came too late; None: they are counted and dropped.
        contents: What windows keep of their elements.
        window_function: What happens when one fires.
        key_selector: value -> key.
    """

    stamps_all_results = True

    def __init__(
        self,
        assigner: WindowAssigner,
        trigger: Trigger | None,
        evictor: Evictor | None,
        allowed_lateness_ms: int,
        late_tag_id: str | None,
        contents: WindowContents,
        window_function: InternalWindowFunction,
        key_selector: Any,
    ) -> None:
        super().__init__(window_function.user_function or contents.user_function, key_selector)
        self.assigner = assigner
        self.trigger = trigger or assigner.get_default_trigger(None)
        self.evictor = evictor
        self.allowed_lateness_ms = allowed_lateness_ms
        self.late_tag_id = late_tag_id
        self.contents = contents
        self.window_function = window_function
        self.is_merging = isinstance(assigner, MergingWindowAssigner)
        if allowed_lateness_ms < 0:
            raise ValidationError(f"allowed lateness of {allowed_lateness_ms} ms", do="pass zero or more")
        if self.is_merging and trigger is not None and not trigger.can_merge():
            raise ValidationError(
                f"{trigger!r} cannot be used with merging windows, {assigner!r}",
                do="implement can_merge and on_merge in the trigger, or use windows that do not merge",
            )

    def functions(self) -> dict[str, Any]:
        named = {
            "function": self.window_function.user_function,
            "combiner": self.contents.user_function,
            "trigger": self.trigger,
            "assigner": self.assigner,
            "evictor": self.evictor,
        }
        return {name: function for name, function in named.items() if function is not None}

    def context_for(self, name: str) -> RuntimeContext:
        if name == "combiner":
            return StatelessRuntimeContext(self.context, self.runtime_context.accumulators)
        return super().context_for(name)

    def open(self) -> None:
        super().open()
        self.contents.open(self.backend)
        self.trigger_context = TriggerContext(self)
        self.assigner_context = AssignerContext(self)
        self.evictor_context = EvictorContext(self)
        self.window_context = WindowContext(self)
        self._merging = MergingWindowSet(self.assigner, self.backend) if self.is_merging else None  # type: ignore[arg-type]
        self._late_dropped = self.context.metrics.counter(_LATE_COUNTER)
        self._is_event_time = self.assigner.is_event_time()
        self._poison: Exception | None = None
        # Then the trigger's own timer is the clean-up timer: no need to set and delete it twice.
        self._trigger_cleans_up = (
            self._is_event_time and not self.allowed_lateness_ms and type(self.trigger) is EventTimeTrigger
        )

    # -- elements ---------------------------------------------------------------------------------------------

    def process_elements(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        select = self.key_selectors[0]
        assert select is not None
        set_key, add = self.backend.set_current_key, self.add_element
        times = repeat(MIN_TIMESTAMP) if timestamps is None else timestamps
        rest = zip(values, times)  # noqa: B905 - `repeat` has no end
        while True:
            try:
                for value, timestamp in rest:
                    set_key(select(value))
                    add(value, timestamp)
                break
            except Exception as error:
                bury(error, self.context, self.function, value, None if timestamps is None else timestamp)
        self.results.flush()

    def add_element(self, value: Any, timestamp: int) -> None:
        """Puts one element of the current key into its windows, but for those in which its function raises."""
        self._poison = None
        windows = self.assigner.assign_windows(value, timestamp, self.assigner_context)
        if self._merging is not None:
            added = self._add_merging(value, timestamp, windows)
        else:
            added = False
            for window in windows:
                if not self._is_late(window):
                    added = True
                    self._add_to(window, window, value, timestamp)
        if (
            not added
            and self._is_event_time
            and timestamp + self.allowed_lateness_ms <= self.current_watermark
        ):
            self.drop_late(value, timestamp)
        if self._poison is not None:
            raise self._poison

    def _add_merging(self, value: Any, timestamp: int, windows: Any) -> bool:
        merging = self._merging
        assert merging is not None
        merging.load()
        added = False
        for window in windows:
            actual = merging.add(window, self._merge)
            if self._is_late(actual):
                merging.retire(actual)
                continue
            added = True
            state_window = merging.state_window(actual)
            if state_window is None:
                raise InvariantError(f"window {actual!r} was added but is not in the set of its key")
            self._add_to(actual, state_window, value, timestamp)
            if self._poison is not None and self.contents.is_empty():
                merging.retire(actual)
        merging.persist()
        return added

    def _add_to(self, window: Any, state_window: Any, value: Any, timestamp: int) -> None:
        self.backend.set_current_namespace(state_window)
        try:
            self.contents.add(value, timestamp)
        except Exception as error:
            self._left_out(error, window)
            return
        self.trigger_context.window = window
        try:
            result = self.trigger.on_element(value, timestamp, window, self.trigger_context)
        except Exception as error:  # the element is in the window: it cannot be left out any more
            raise_user_error(error, self.context, self.trigger, value)
        if result is not TriggerResult.CONTINUE:
            self._act(result, window, state_window)
        self._register_cleanup(window)

    def _left_out(self, error: Exception, window: Any) -> None:
        """The window's function has refused the element: the window stays as it is, as long as it needs to."""
        if self.context.dead_letters is None:
            raise error
        self._poison = error
        if self._merging is not None:  # it may have become part of a longer one
            self._register_cleanup(window)

    def drop_late(self, value: Any, timestamp: int) -> None:
        """The element came too late for all its windows."""
        if self.late_tag_id is not None:
            self.results.add_side(self.late_tag_id, value, timestamp)
        else:
            self._late_dropped.inc()

    def _merge(self, result: Any, merged: list[Any], state_window: Any, state_windows: list[Any]) -> None:
        if (
            self._is_event_time
            and result.max_timestamp() + self.allowed_lateness_ms <= self.current_watermark
        ):
            raise ValidationError(
                f"merging gave the window {result!r}, which is over at watermark {self.current_watermark}",
                do="an assigner may only merge windows into one that ends no earlier than they do",
            )
        context = self.trigger_context
        context.window, context.merged = result, merged
        self.trigger.on_merge(result, context)
        for window in merged:
            context.window = window
            self.trigger.clear(window, context)
            self._delete_cleanup(window)
        if state_windows:
            self.contents.merge(state_window, state_windows)

    # -- timers -----------------------------------------------------------------------------------------------

    def on_timer(self, timer: Timer, domain: TimeDomain) -> None:
        window = state_window = timer.namespace
        if self._merging is not None:
            self._merging.load()
            state_window = self._merging.state_window(window)
            if state_window is None:
                return  # the window has become part of another one
        event_time = domain is TimeDomain.EVENT_TIME
        result = self._triggered(timer, window, event_time)
        if result is not TriggerResult.CONTINUE:
            self._act(result, window, state_window)
        if event_time is self._is_event_time and timer.time_ms == self.cleanup_time(window):
            self._drop(window, state_window)
        if self._merging is not None:
            self._merging.persist()

    def _triggered(self, timer: Timer, window: Any, event_time: bool) -> TriggerResult:
        self.trigger_context.window = window
        call = self.trigger.on_event_time if event_time else self.trigger.on_processing_time
        try:
            return call(timer.time_ms, window, self.trigger_context)
        except Exception as error:  # nobody knows what becomes of the window then
            at = f"a timer at {timer.time_ms} of {window!r}"
            raise_user_error(error, self.context, self.trigger, during=at)

    def cleanup_time(self, window: Any) -> int:
        """When the window is dropped; MAX means never."""
        end: int = window.max_timestamp()
        if not self._is_event_time:
            return end
        return min(end + self.allowed_lateness_ms, MAX_TIMESTAMP)

    def _is_late(self, window: Any) -> bool:
        return self._is_event_time and self.cleanup_time(window) <= self.current_watermark

    def _register_cleanup(self, window: Any) -> None:
        time = self.cleanup_time(window)
        if time != MAX_TIMESTAMP and not self._trigger_cleans_up:
            backend = self.backend
            queue = backend.event_timers if self._is_event_time else backend.processing_timers
            queue.register(time, window)

    def _delete_cleanup(self, window: Any) -> None:
        time = self.cleanup_time(window)
        if time != MAX_TIMESTAMP and not self._trigger_cleans_up:
            backend = self.backend
            queue = backend.event_timers if self._is_event_time else backend.processing_timers
            queue.delete(time, window)

    # -- firing -----------------------------------------------------------------------------------------------

    def _act(self, result: TriggerResult, window: Any, state_window: Any) -> None:
        backend = self.backend
        if result.is_fire():
            backend.set_current_namespace(state_window)
            contents = self.evaluated(window, self.contents.get)
            if contents is not None and contents is not POISONED:
                if self.evictor is not None:
                    self._emit_evicted(window, state_window, contents)
                else:
                    self.emit_window(window, contents)
        if result.is_purge():
            backend.set_current_namespace(state_window)
            self.contents.clear()

    def emit_window(self, window: Any, elements: Any) -> None:
        """Runs the window function for the current key."""
        context, key = self.window_context.at(window), self.backend.current_key
        process = whole(self.window_function.process, self.context)
        results = self.evaluated(window, lambda: process(key, context, elements))
        if results is not POISONED:
            self.results.add_all(results, window.max_timestamp())

    def evaluated(self, window: Any, evaluate: Callable[[], Any]) -> Any:
        """What a function makes of a window; POISONED, and a dead letter, where it raises."""
        try:
            return evaluate()
        except Exception as error:
            if self.context.dead_letters is None:
                raise
            what = f"window {window!r} of key {self.backend.current_key!r}"
            bury_what(error, self.context, self.function, what, window.max_timestamp())
            return POISONED

    def _emit_evicted(self, window: Any, state_window: Any, elements: Any) -> None:
        assert self.evictor is not None and isinstance(self.contents, EvictableContents)
        try:
            self.evictor.evict_before(elements, len(elements), window, self.evictor_context)
            self.emit_window(window, [element.value for element in elements])
            self.evictor.evict_after(elements, len(elements), window, self.evictor_context)
        except Exception as error:
            raise_user_error(error, self.context, self.evictor, during=f"window {window!r}")
        self.backend.set_current_namespace(state_window)
        self.contents.replace(elements)

    def _drop(self, window: Any, state_window: Any) -> None:
        self.backend.set_current_namespace(state_window)
        self.contents.clear()
        self.trigger_context.window = window
        self.trigger.clear(window, self.trigger_context)
        self.window_function.clear(self.window_context.at(window))
        if self._merging is not None:
            self._merging.retire(window)

"""Builds the window operator that a windowed stream asks for, and picks the fast one where it may."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.common.errors import ValidationError
from penstock.operators.base import Operator
from penstock.operators.window import WindowOperator
from penstock.operators.window_aligned import AlignedWindowOperator
from penstock.operators.window_contents import (
    AggregateContents,
    EvictableContents,
    ListContents,
    ReduceContents,
    WindowContents,
)
from penstock.operators.window_function import (
    ApplyAllFunction,
    ApplyFunction,
    InternalWindowFunction,
    PassThrough,
    Precombined,
    ProcessAllFunction,
    ProcessFunction,
)
from penstock.operators.window_panes import PaneWindowOperator
from penstock.operators.window_sessions import SessionWindowOperator
from penstock.windowing.assigner import WindowAssigner
from penstock.windowing.evictors import Evictor
from penstock.windowing.session import DynamicEventTimeSessionWindows, EventTimeSessionWindows
from penstock.windowing.sliding import SlidingEventTimeWindows
from penstock.windowing.triggers import EventTimeTrigger, Trigger
from penstock.windowing.tumbling import TumblingEventTimeWindows, WindowStagger

if TYPE_CHECKING:
    from penstock.common.typeinfo import TypeInformation
    from penstock.functions.output_tag import OutputTag


def build_window_operator(
    *,
    assigner: WindowAssigner,
    key_selector: Any,
    trigger: Trigger | None = None,
    evictor: Evictor | None = None,
    allowed_lateness_ms: int = 0,
    late_tag: OutputTag | None = None,
    reduce: Any = None,
    aggregate: Any = None,
    window_function: Any = None,
    process_function: Any = None,
    element_type: TypeInformation | None = None,
    accumulator_type: TypeInformation | None = None,
    result_type: TypeInformation | None = None,
    all_windows: bool = False,
    share_panes: bool = True,
) -> Operator:
    """The operator for one windowed transformation.

    Args:
        assigner: Windows.
        key_selector: value -> key; a constant for `window_all`.
        trigger: None: the assigner's default.
        late_tag: Where late elements go.
        reduce: ReduceFunction (or callable): windows keep one reduced element.
        aggregate: AggregateFunction: windows keep one accumulator.
        window_function: WindowFunction or AllWindowFunction, alone or after reduce/aggregate.
        process_function: ProcessWindowFunction or ProcessAllWindowFunction, likewise.
        element_type: Type of the stream's elements.
        accumulator_type: Type of the aggregate's accumulator.
        result_type: Not needed here: what comes out is typed by the transformation.
        all_windows: The functions are the ones without a key.
        share_panes: False keeps sliding windows apart, each with its own accumulator.
    """
    function = _window_function(window_function, process_function, all_windows)
    if reduce is None and aggregate is None and function.is_pass_through:
        raise ValidationError("a window needs a function", do="reduce, aggregate, apply or process it")
    contents = _contents(evictor, reduce, aggregate, element_type, accumulator_type)
    combiner = reduce if reduce is not None else aggregate
    if evictor is not None and combiner is not None:
        function = Precombined(combiner, function)
        contents.user_function = combiner
    kind = WindowOperator
    if evictor is None and (reduce is not None or aggregate is not None) and _fires_at_end(trigger):
        if _is_plain_tumbling(assigner):
            kind = AlignedWindowOperator
        elif share_panes and allowed_lateness_ms == 0 and _can_share_panes(assigner, aggregate):
            kind = PaneWindowOperator
        elif allowed_lateness_ms == 0 and _is_event_time_session(assigner):
            kind = SessionWindowOperator
    late_tag_id = None if late_tag is None else late_tag.tag_id
    return kind(
        assigner, trigger, evictor, allowed_lateness_ms, late_tag_id, contents, function, key_selector
    )


def _window_function(
    window_function: Any, process_function: Any, all_windows: bool
) -> InternalWindowFunction:
    if process_function is not None:
        return ProcessAllFunction(process_function) if all_windows else ProcessFunction(process_function)
    if window_function is not None:
        return ApplyAllFunction(window_function) if all_windows else ApplyFunction(window_function)
    return PassThrough()


def _contents(
    evictor: Evictor | None,
    reduce: Any,
    aggregate: Any,
    element_type: TypeInformation | None,
    accumulator_type: TypeInformation | None,
) -> WindowContents:
    if evictor is not None:
        return EvictableContents()
    if reduce is not None:
        return ReduceContents(reduce, element_type)
    if aggregate is not None:
        return AggregateContents(aggregate, accumulator_type)
    return ListContents(element_type)


def _fires_at_end(trigger: Trigger | None) -> bool:
    return trigger is None or type(trigger) is EventTimeTrigger


def _is_plain_tumbling(assigner: WindowAssigner) -> bool:
    return type(assigner) is TumblingEventTimeWindows and assigner.window_stagger is WindowStagger.ALIGNED


def _is_event_time_session(assigner: WindowAssigner) -> bool:
    return type(assigner) in (EventTimeSessionWindows, DynamicEventTimeSessionWindows)


def _can_share_panes(assigner: WindowAssigner, aggregate: Any) -> bool:
    if type(assigner) is not SlidingEventTimeWindows or assigner.slide_ms > assigner.size_ms:
        return False
    return aggregate is None or merges_accumulators(aggregate)


def merges_accumulators(aggregate: Any) -> bool:
    """Whether the AggregateFunction's `merge` does something.

    Flink calls it for session windows only, so a program may have left it empty; then windows share nothing.
    It is tried on two new accumulators: raising, or returning None, means that it is not implemented.
    """
    try:
        return aggregate.merge(aggregate.create_accumulator(), aggregate.create_accumulator()) is not None
    except Exception:  # whatever a stub raises: NotImplementedError, or what its `pass` leads to
        return False

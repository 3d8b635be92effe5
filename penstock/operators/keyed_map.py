"""map, flat_map and filter on keyed streams: the same, with the current key's state within reach."""

from __future__ import annotations

from typing import Any

from penstock.operators.dead_letters import POISONED, bury, time_at, whole
from penstock.operators.function_operator import bound
from penstock.operators.keyed import KeyedOperator
from penstock.operators.map import repeat_timestamps, without_poison


class KeyedMapOperator(KeyedOperator):
    """One result per element."""

    def __init__(self, function: Any, key_selector: Any) -> None:
        super().__init__(function, key_selector)

    def process_elements(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        out, poisoned = keyed_calls(self, "map", input_index, values, timestamps)
        if poisoned:
            out, timestamps = without_poison(out, timestamps)
        self.output.emit(out, timestamps)


class KeyedFlatMapOperator(KeyedOperator):
    """Any number of results per element."""

    def __init__(self, function: Any, key_selector: Any) -> None:
        super().__init__(function, key_selector)

    def process_elements(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        keyed_flat_map(self, "flat_map", input_index, values, timestamps)


class KeyedFilterOperator(KeyedOperator):
    """Passes on the elements for which the function answers true."""

    def __init__(self, function: Any, key_selector: Any) -> None:
        super().__init__(function, key_selector)

    def process_elements(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        keep, _ = keyed_calls(self, "filter", input_index, values, timestamps)
        out = [value for value, kept in zip(values, keep, strict=True) if kept]
        if not out:
            return
        if timestamps is not None:
            timestamps = [time for time, kept in zip(timestamps, keep, strict=True) if kept]
        self.output.emit(out, timestamps)


def keyed_calls(
    operator: KeyedOperator, method: str, input_index: int, values: list[Any], timestamps: list[int] | None
) -> tuple[list[Any], bool]:
    """The function's answer for each element, with the element's key set, and whether one of them is `POISONED`."""
    call, select = bound(operator.function, method), operator.key_selectors[input_index]
    assert select is not None
    set_key = operator.backend.set_current_key
    out: list[Any] = []
    append = out.append
    value, rest, poisoned = None, iter(values), False
    while True:
        try:
            for value in rest:
                set_key(select(value))
                append(call(value))
            return out, poisoned
        except Exception as error:
            bury(error, operator.context, operator.function, value, time_at(timestamps, len(out)))
            append(POISONED)
            poisoned = True


def keyed_flat_map(
    operator: KeyedOperator, method: str, input_index: int, values: list[Any], timestamps: list[int] | None
) -> None:
    """Emits the function's results; each generator is run while its element's key is set."""
    select = operator.key_selectors[input_index]
    call = whole(bound(operator.function, method), operator.context)
    assert select is not None
    set_key = operator.backend.set_current_key
    out: list[Any] = []
    counts: list[int] = []
    value, rest = None, iter(values)
    while True:
        try:
            for value in rest:
                before = len(out)
                set_key(select(value))
                result = call(value)
                if result is not None:
                    out.extend(result)
                counts.append(len(out) - before)
            break
        except Exception as error:
            bury(error, operator.context, operator.function, value, time_at(timestamps, len(counts)))
            counts.append(0)
    if out:
        operator.output.emit(out, repeat_timestamps(timestamps, counts))

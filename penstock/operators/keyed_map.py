"""map, flat_map and filter on keyed streams: the same, with the current key's state within reach."""

from __future__ import annotations

from typing import Any

from penstock.operators.failures import user_error
from penstock.operators.function_operator import bound
from penstock.operators.keyed import KeyedOperator
from penstock.operators.map import repeat_timestamps


class KeyedMapOperator(KeyedOperator):
    """One result per element."""

    def __init__(self, function: Any, key_selector: Any) -> None:
        super().__init__(function, key_selector)

    def process_elements(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        out = keyed_calls(self, "map", input_index, values)
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
        keep = keyed_calls(self, "filter", input_index, values)
        out = [value for value, kept in zip(values, keep, strict=True) if kept]
        if not out:
            return
        if timestamps is not None:
            timestamps = [time for time, kept in zip(timestamps, keep, strict=True) if kept]
        self.output.emit(out, timestamps)


def keyed_calls(operator: KeyedOperator, method: str, input_index: int, values: list[Any]) -> list[Any]:
    """The function's answer for each element, with the element's key set."""
    call, select = bound(operator.function, method), operator.key_selectors[input_index]
    assert select is not None
    set_key = operator.backend.set_current_key
    out: list[Any] = []
    append = out.append
    value = None
    try:
        for value in values:
            set_key(select(value))
            append(call(value))
    except Exception as error:
        raise user_error(error, operator.context, operator.function, value) from error
    return out


def keyed_flat_map(
    operator: KeyedOperator, method: str, input_index: int, values: list[Any], timestamps: list[int] | None
) -> None:
    """Emits the function's results; each generator is run while its element's key is set."""
    call, select = bound(operator.function, method), operator.key_selectors[input_index]
    assert select is not None
    set_key = operator.backend.set_current_key
    out: list[Any] = []
    counts: list[int] = []
    value = None
    try:
        for value in values:
            before = len(out)
            set_key(select(value))
            result = call(value)
            if result is not None:
                out.extend(result)
            counts.append(len(out) - before)
    except Exception as error:
        raise user_error(error, operator.context, operator.function, value) from error
    if out:
        operator.output.emit(out, repeat_timestamps(timestamps, counts))

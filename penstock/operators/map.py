"""map, flat_map and filter on streams without keys."""

from __future__ import annotations

from itertools import compress
from typing import Any

from penstock.operators.dead_letters import POISONED, bury, time_at, whole
from penstock.operators.function_operator import FunctionOperator, bound


class MapOperator(FunctionOperator):
    """One result per element."""

    def process_batch(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        call = bound(self.function, "map")
        out: list[Any] = []
        append = out.append
        rest = iter(values)
        poisoned = False
        while True:
            try:
                for value in rest:
                    append(call(value))
                break
            except Exception as error:
                bury(error, self.context, self.function, value, time_at(timestamps, len(out)))
                append(POISONED)
                poisoned = True
        if poisoned:
            out, timestamps = without_poison(out, timestamps)
        self.output.emit(out, timestamps)


class FlatMapOperator(FunctionOperator):
    """Any number of results per element."""

    def process_batch(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        call = whole(bound(self.function, "flat_map"), self.context)
        out: list[Any] = []
        counts: list[int] = []
        rest = iter(values)
        while True:
            try:
                for value in rest:
                    before = len(out)
                    result = call(value)
                    if result is not None:
                        out.extend(result)
                    counts.append(len(out) - before)
                break
            except Exception as error:
                bury(error, self.context, self.function, value, time_at(timestamps, len(counts)))
                counts.append(0)
        if out:
            self.output.emit(out, repeat_timestamps(timestamps, counts))


class FilterOperator(FunctionOperator):
    """Passes on the elements for which the function answers true."""

    def process_batch(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        call = bound(self.function, "filter")
        keep: list[bool] = []
        append = keep.append
        rest = iter(values)
        while True:
            try:
                for value in rest:
                    append(call(value))
                break
            except Exception as error:
                bury(error, self.context, self.function, value, time_at(timestamps, len(keep)))
                append(False)
        out = list(compress(values, keep))
        if out:
            self.output.emit(out, None if timestamps is None else list(compress(timestamps, keep)))


def without_poison(out: list[Any], timestamps: list[int] | None) -> tuple[list[Any], list[int] | None]:
    """The results, and their timestamps, without those of elements that became dead letters."""
    keep = [value is not POISONED for value in out]
    return list(compress(out, keep)), None if timestamps is None else list(compress(timestamps, keep))


def repeat_timestamps(timestamps: list[int] | None, counts: list[int]) -> list[int] | None:
    """Each element's timestamp as many times as it had results.

    >>> repeat_timestamps([10, 20, 30], [2, 0, 1])
    [10, 10, 30]
    """
    if timestamps is None:
        return None
    return [timestamp for timestamp, count in zip(timestamps, counts, strict=True) for _ in range(count)]

"""map, flat_map and filter on streams without keys."""

from __future__ import annotations

from itertools import compress
from typing import Any

from penstock.operators.failures import user_error
from penstock.operators.function_operator import FunctionOperator, bound


class MapOperator(FunctionOperator):
    """One result per element."""

    def process_batch(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        call = bound(self.function, "map")
        out: list[Any] = []
        append = out.append
        try:
            for value in values:
                append(call(value))
        except Exception as error:
            raise user_error(error, self.context, self.function, value) from error
        self.output.emit(out, timestamps)


class FlatMapOperator(FunctionOperator):
    """Any number of results per element."""

    def process_batch(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        call = bound(self.function, "flat_map")
        out: list[Any] = []
        counts: list[int] = []
        try:
            for value in values:
                before = len(out)
                result = call(value)
                if result is not None:
                    out.extend(result)
                counts.append(len(out) - before)
        except Exception as error:
            raise user_error(error, self.context, self.function, value) from error
        if out:
            self.output.emit(out, repeat_timestamps(timestamps, counts))


class FilterOperator(FunctionOperator):
    """Passes on the elements for which the function answers true."""

    def process_batch(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        call = bound(self.function, "filter")
        keep: list[bool] = []
        append = keep.append
        try:
            for value in values:
                append(call(value))
        except Exception as error:
            raise user_error(error, self.context, self.function, value) from error
        out = list(compress(values, keep))
        if out:
            self.output.emit(out, None if timestamps is None else list(compress(timestamps, keep)))


def repeat_timestamps(timestamps: list[int] | None, counts: list[int]) -> list[int] | None:
    """Each element's timestamp as many times as it had results.

    >>> repeat_timestamps([10, 20, 30], [2, 0, 1])
    [10, 10, 30]
    """
    if timestamps is None:
        return None
    return [timestamp for timestamp, count in zip(timestamps, counts, strict=True) for _ in range(count)]

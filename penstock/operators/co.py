"""Operators with two inputs: CoMap, CoFlatMap, CoProcess, with and without keys."""

from __future__ import annotations

from typing import Any

from penstock.operators.dead_letters import bury, time_at, whole
from penstock.operators.function_operator import FunctionOperator
from penstock.operators.keyed import KeyedOperator
from penstock.operators.keyed_map import keyed_flat_map
from penstock.operators.map import repeat_timestamps
from penstock.operators.process import KeyedTimerOperator, UnkeyedProcessOperator


class _CoCalls(FunctionOperator):
    """Two inputs without keys whose function gives any number of results (a map that gives None drops)."""

    input_count = 2
    methods = ("", "")
    single = False

    def process_batch(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        call = getattr(self.function, self.methods[input_index])
        call = call if self.single else whole(call, self.context)
        out: list[Any] = []
        counts: list[int] = []
        value, rest = None, iter(values)
        while True:
            try:
                for value in rest:
                    before = len(out)
                    result = call(value)
                    if result is not None:
                        if self.single:
                            out.append(result)
                        else:
                            out.extend(result)
                    counts.append(len(out) - before)
                break
            except Exception as error:
                bury(error, self.context, self.function, value, time_at(timestamps, len(counts)))
                counts.append(0)
        if out:
            self.output.emit(out, repeat_timestamps(timestamps, counts))


class CoMapOperator(_CoCalls):
    """Runs map1 on the first input, map2 on the second. None means no result, as in PyFlink."""

    methods = ("map1", "map2")
    single = True


class CoFlatMapOperator(_CoCalls):
    """Runs flat_map1 on the first input, flat_map2 on the second."""

    methods = ("flat_map1", "flat_map2")


class CoProcessOperator(UnkeyedProcessOperator):
    """Runs a CoProcessFunction on two inputs without keys."""

    input_count = 2

    def process_batch(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        call = self.function.process_element2 if input_index else self.function.process_element1
        self.run_process(call, values, timestamps)


class KeyedCoMapOperator(KeyedOperator):
    """CoMap on two inputs keyed alike: both see the state of the current key."""

    input_count = 2

    def __init__(self, function: Any, key_selector1: Any, key_selector2: Any) -> None:
        super().__init__(function, key_selector1, key_selector2)

    def process_elements(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        call = self.function.map2 if input_index else self.function.map1
        select = self.key_selectors[input_index]
        assert select is not None
        set_key = self.backend.set_current_key
        out: list[Any] = []
        counts: list[int] = []
        value, rest = None, iter(values)
        while True:
            try:
                for value in rest:
                    set_key(select(value))
                    result = call(value)
                    counts.append(0 if result is None else 1)
                    if result is not None:
                        out.append(result)
                break
            except Exception as error:
                bury(error, self.context, self.function, value, time_at(timestamps, len(counts)))
                counts.append(0)
        if out:
            self.output.emit(out, repeat_timestamps(timestamps, counts))


class KeyedCoFlatMapOperator(KeyedOperator):
    """CoFlatMap on two inputs keyed alike."""

    input_count = 2

    def __init__(self, function: Any, key_selector1: Any, key_selector2: Any) -> None:
        super().__init__(function, key_selector1, key_selector2)

    def process_elements(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        keyed_flat_map(self, "flat_map2" if input_index else "flat_map1", input_index, values, timestamps)


class KeyedCoProcessOperator(KeyedTimerOperator):
    """Runs a KeyedCoProcessFunction."""

    input_count = 2

    def __init__(self, function: Any, key_selector1: Any, key_selector2: Any) -> None:
        super().__init__(function, key_selector1, key_selector2)

    def process_elements(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        call = self.function.process_element2 if input_index else self.function.process_element1
        self.run_process(call, self.key_selectors[input_index], values, timestamps)

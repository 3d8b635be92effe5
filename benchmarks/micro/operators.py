"""What an element costs inside one operator: no Spark, no exchange, state in memory, one process.

    python benchmarks/micro/operators.py [case ...]

Elements are (key, number) with 10,000 keys, 100,000 elements per second of event time; a watermark follows each
batch of 5,000 and an epoch ends after each 100,000. Reported is CPU time, so that a busy machine does not
matter much; what fires after the last element is not counted.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from penstock.common.typeinfo import Types
from penstock.functions import AggregateFunction, KeyedProcessFunction
from penstock.operators.base import Operator, Output
from penstock.operators.map import MapOperator
from penstock.operators.process import KeyedProcessOperator
from penstock.operators.reduce import ReduceOperator
from penstock.operators.window_factory import build_window_operator
from penstock.state.descriptors import ValueStateDescriptor
from penstock.testing.harness import KeyedOneInputOperatorTestHarness
from penstock.windowing import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows

COUNT = 1_000_000
KEYS = 10_000
BATCH = 5_000
EPOCH = 100_000
PER_MILLISECOND = 100


class Nowhere(Output):
    """Counts what comes out."""

    def __init__(self) -> None:
        self.count = 0

    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.count += len(values)

    def emit_side(self, tag_id: str, values: list[Any], timestamps: list[int] | None) -> None:
        pass

    def emit_watermark(self, watermark: int) -> None:
        pass

    def emit_idle(self, idle: bool) -> None:
        pass


class CountPerKey(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield count


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


def key_of(value: Any) -> Any:
    return value[0]


def windowed(assigner: Any) -> Operator:
    return build_window_operator(
        assigner=assigner, aggregate=Count(), key_selector=key_of, accumulator_type=Types.LONG()
    )


CASES: dict[str, Callable[[], Operator]] = {
    "map": lambda: MapOperator(lambda value: value),
    "keyed process, count in ValueState": lambda: KeyedProcessOperator(CountPerKey(), key_of),
    "reduce": lambda: ReduceOperator(lambda a, b: (a[0], a[1] + b[1]), key_of),
    "tumbling 10 s count": lambda: windowed(TumblingEventTimeWindows(10_000, 0)),
    "sliding 60 s / 1 s count": lambda: windowed(SlidingEventTimeWindows(60_000, 1_000, 0)),
    "session 100 ms count": lambda: windowed(EventTimeSessionWindows(100)),
}


def run(operator: Operator, values: list[Any], timestamps: list[int]) -> dict[str, float]:
    harness = KeyedOneInputOperatorTestHarness(operator, key_type=Types.LONG())
    out = harness.operator.output = Nowhere()
    if hasattr(harness.operator, "results"):
        harness.operator.results._output = out
    spent = 0.0
    for first in range(0, len(values), BATCH):
        batch, times = values[first : first + BATCH], timestamps[first : first + BATCH]
        started = time.process_time()
        harness.operator.process_batch(0, batch, times)
        harness.operator.on_watermark(times[-1] - 1)
        if (first + BATCH) % EPOCH == 0:
            harness.cut()
        spent += time.process_time() - started
    return {"elements_per_cpu_second": round(len(values) / spent), "results": out.count}


def main(chosen: list[str]) -> None:
    rng = random.Random(7)
    values = [(rng.randrange(KEYS), n) for n in range(COUNT)]
    timestamps = [n // PER_MILLISECOND for n in range(COUNT)]
    for name, make in CASES.items():
        if not chosen or any(word in name for word in chosen):
            print(json.dumps({"case": name, **run(make(), values, timestamps)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

"""What keyed state costs: one access, and one epoch over little and over much existing state.

    python benchmarks/micro/state_access.py [--large 5000000]

1. Read-modify-write of a ValueState: live (the slot is decoded), and first touch per epoch (store read, then
   encoding and the delta file at the end).
2. An epoch that touches 1,000 keys, begun and ended, over 10,000 and over `--large` existing keys. It should
   cost the same (within 1.5 times): work is proportional to the change, not to the state.

Prints one JSON object. Times are medians, of CPU time unless `--clock wall` is given: on a busy machine only
that can be compared, but it leaves out waiting for the disk (one fsync per delta file).
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

from penstock.checkpoint.handles import KeyedStateHandle
from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.codecs import compile_codec
from penstock.common.typeinfo import Types
from penstock.state.backend import KeyedStateRestore, next_handle
from penstock.state.descriptors import ValueStateDescriptor
from penstock.state.factory import open_keyed_backend

GROUPS = 128
clock: Callable[[], float] = time.process_time
COUNT = ValueStateDescriptor("count", Types.LONG())


class Driver:
    """Runs epochs of one subtask and commits each."""

    def __init__(self, kind: str, folder: str, cached_entries: int) -> None:
        storage = CheckpointStorage(folder + "/checkpoints", "bench")
        self.backend = open_keyed_backend(
            kind,
            local_dir=folder + "/local",
            job_id="bench",
            uid="count",
            subtask=0,
            first_key_group=0,
            last_key_group=GROUPS - 1,
            max_parallelism=GROUPS,
            key_codec=compile_codec(Types.STRING()),
            storage=storage,
            file_prefix="shared/count/0",
            cached_entries=cached_entries,
        )
        self.handles: tuple[KeyedStateHandle, ...] = ()
        self.epoch = 0
        self.begin_ms: list[float] = []
        self.end_ms: list[float] = []

    def run(self, keys: list[str]) -> float:
        """One epoch; returns the seconds of its record loop."""
        restore = KeyedStateRestore(self.epoch, 0, GROUPS - 1, self.handles)
        start = clock()
        snapshot = self.backend.begin_epoch(restore, 0)
        begun = clock()
        count_all(self.backend, keys)
        looped = clock()
        delta = self.backend.end_epoch(self.epoch + 1)
        ended = clock()
        self.begin_ms.append((begun - start) * 1e3)
        self.end_ms.append((ended - looped) * 1e3)
        self.epoch += 1
        self.handles = (next_handle(restore, snapshot, self.epoch, delta),)
        return looped - begun


def count_all(backend: Any, keys: list[str]) -> None:
    count = backend.get_partitioned_state(COUNT)
    set_key, read, update = backend.set_current_key, count.value, count.update
    for key in keys:
        set_key(key)
        update((read() or 0) + 1)


def access(kind: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        driver = Driver(kind, folder, cached_entries=0)
        keys = [f"user-{i % 10_000}" for i in range(200_000)]
        driver.run(keys[:10_000])
        live = min(driver.run(keys) for _ in range(3)) / len(keys)
        first = min(driver.run(keys[:10_000]) for _ in range(3)) / 10_000
        driver.backend.close()
        return {"live_rmw_ns": round(live * 1e9), "first_touch_rmw_ns": round(first * 1e9)}


def epoch_over(kind: str, existing: int, epochs: int = 15) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        driver = Driver(kind, folder, cached_entries=0)
        for start in range(0, existing, 250_000):
            driver.run([f"user-{i}" for i in range(start, min(start + 250_000, existing))])
        chosen = random.Random(1)
        for _ in range(10):  # until what the loading left to the disk and the page tables has settled
            driver.run([f"user-{chosen.randrange(existing)}" for _ in range(1000)])
        driver.begin_ms.clear(), driver.end_ms.clear()
        loops = []
        for _ in range(epochs):
            keys = [f"user-{chosen.randrange(existing)}" for _ in range(1000)]
            loops.append(driver.run(keys) * 1e3)
        driver.backend.close()
        totals = [b + e + r for b, e, r in zip(driver.begin_ms, driver.end_ms, loops, strict=True)]
        return {
            "begin_ms": round(statistics.median(driver.begin_ms), 2),
            "records_ms": round(statistics.median(loops), 2),
            "end_ms": round(statistics.median(driver.end_ms), 2),
            "total_ms": round(statistics.median(totals), 2),
        }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--large", type=int, default=5_000_000)
    parser.add_argument("--clock", choices=("cpu", "wall"), default="cpu")
    options = parser.parse_args()
    if options.clock == "wall":
        global clock
        clock = time.perf_counter
    result: dict[str, Any] = {"access": {kind: access(kind) for kind in ("memory", "lmdb")}}
    small, large = epoch_over("lmdb", 10_000), epoch_over("lmdb", options.large)
    result["epoch_of_1000_keys"] = {
        "over_10000": small,
        f"over_{options.large}": large,
        "ratio": round(large["total_ms"] / small["total_ms"], 2),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()

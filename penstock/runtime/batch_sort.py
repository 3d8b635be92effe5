"""Sorts the input of a keyed operator in BATCH mode (FLIP-140), so that one key's state is alive at a time.

Elements are ordered by key, then timestamp, then arrival. What does not fit into memory is written out in
sorted runs and merged while it is read back.
"""

from __future__ import annotations

import heapq
import pickle
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

from penstock.common.codecs import Codec
from penstock.common.ids import MIN_TIMESTAMP

RUN_ELEMENTS = 500_000
_READ_ELEMENTS = 5_000

# key bytes, timestamp, arrival number, input, value, has a timestamp
_Element = tuple[bytes, int, int, int, Any, bool]


def _order(element: _Element) -> tuple[bytes, int, int]:
    return element[:3]


class KeySortedBuffer:
    """Takes batches of all inputs and gives them back, sorted, as batches of one input each."""

    def __init__(self, codec: Codec, selectors: Sequence[Callable[[Any], Any] | None]) -> None:
        self._encode = codec.encode_key
        self._selectors = selectors
        self._run: list[_Element] = []
        self._spilled: list[IO[bytes]] = []
        self._arrivals = 0

    def add(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        selector, encode = self._selectors[input_index], self._encode
        assert selector is not None, "only keyed inputs are sorted"
        clock = timestamps or [MIN_TIMESTAMP] * len(values)
        timed = timestamps is not None
        n = self._arrivals
        self._run.extend(
            (encode(selector(value)), timestamp, n + i, input_index, value, timed)
            for i, (value, timestamp) in enumerate(zip(values, clock, strict=True))
        )
        self._arrivals += len(values)
        if len(self._run) >= RUN_ELEMENTS:
            self._spill()

    def _spill(self) -> None:
        self._run.sort(key=_order)
        file = tempfile.TemporaryFile(prefix="penstock-sort-")  # noqa: SIM115 (read back in batches())
        for start in range(0, len(self._run), _READ_ELEMENTS):
            pickle.dump(self._run[start : start + _READ_ELEMENTS], file, protocol=5)
        self._spilled.append(file)
        self._run = []

    def batches(self) -> Iterator[tuple[int, list[Any], list[int] | None]]:
        """(input index, values, timestamps): a new batch wherever the input or the presence of time changes."""
        self._run.sort(key=_order)
        runs = [_read_run(file) for file in self._spilled]
        elements = heapq.merge(*runs, self._run, key=_order) if runs else iter(self._run)
        shape: tuple[int, bool] | None = None
        values: list[Any] = []
        clock: list[int] = []
        for _, timestamp, _, input_index, value, timed in elements:
            if values and (shape != (input_index, timed) or len(values) >= _READ_ELEMENTS):
                assert shape is not None
                yield shape[0], values, clock if shape[1] else None
                values, clock = [], []
            shape = (input_index, timed)
            values.append(value)
            clock.append(timestamp)
        if values and shape is not None:
            yield shape[0], values, clock if shape[1] else None
        for file in self._spilled:
            file.close()


def _read_run(file: IO[bytes]) -> Iterator[_Element]:
    file.seek(0)
    while True:
        try:
            yield from pickle.load(file)
        except EOFError:
            return

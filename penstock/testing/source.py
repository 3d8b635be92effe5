"""A source for tests of whole jobs whose items include what goes wrong.

    source = TestSource([element("a", 1), element("b", 7), watermark(5), ABORT, PAUSE, element("c", 9)])
    env.from_source(source, source.watermark_strategy(), "test")

An item is an element, or:

    watermark(w)   this watermark follows the element before it
    ABORT          reading fails here, once; `abort(3)`: three times. Later tries pass.
    PAUSE          the epoch ends here; the next one goes on
    EOF            the input ends here, whatever follows

How often an ABORT has happened is kept in files, so that it survives restarts of workers and of the job.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import ExternalSystemError, ValidationError
from penstock.common.ids import MIN_TIMESTAMP
from penstock.common.watermark_generators import Watermark, WatermarkGenerator, WatermarkOutput
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    ReadLimit,
    Source,
    SourceBatch,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
)
from penstock.testing.output import StreamRecord, WatermarkMark

__all__ = ["ABORT", "EOF", "PAUSE", "TestSource", "abort", "element"]


@dataclass(frozen=True)
class _Abort:
    times: int


@dataclass(frozen=True)
class _Stop:
    name: str

    def __repr__(self) -> str:
        return self.name


ABORT = _Abort(1)
PAUSE = _Stop("PAUSE")
EOF = _Stop("EOF")


def abort(times: int) -> _Abort:
    """An ABORT that happens so many times."""
    return _Abort(times)


def element(value: Any, timestamp: int | None = None) -> StreamRecord:
    """An element with its event time. A bare value is an element without."""
    return StreamRecord(value, timestamp)


@dataclass(frozen=True)
class _TestSplit(SourceSplit):
    number: int


class TestSource(Source):
    """Plays a list of items, or several lists as splits of their own (`TestSource.of_splits`).

    >>> source = TestSource(["a", PAUSE, "b"])
    >>> enumerator = source.create_enumerator(EnumeratorContext(1, {}))
    >>> [split] = enumerator.discover()
    >>> limit = enumerator.plan_read(split, None, 0)
    >>> [batch] = source.create_reader().read(split, None, limit)
    >>> batch.values, batch.position
    (['a'], 2)
    """

    __test__ = False  # not a test, whatever pytest thinks of the name

    def __init__(
        self,
        items: Sequence[Any],
        *,
        bounded: bool = True,
        batch_size: int = 1_000,
        marker_dir: str | None = None,
        type_info: Any = None,
    ) -> None:
        self._splits: list[list[Any]] = [list(items)]
        self._bounded = bounded
        self._batch_size = batch_size
        self._marker_dir = marker_dir or tempfile.mkdtemp(prefix="penstock-test-source-")
        self._type_info = type_info

    @staticmethod
    def of_splits(splits: Sequence[Sequence[Any]], **options: Any) -> TestSource:
        """A source with several splits, each with its own items."""
        source = TestSource([], **options)
        source._splits = [list(items) for items in splits]
        return source

    @property
    def boundedness(self) -> Boundedness:
        """Bounded: it ends behind its last step."""
        return Boundedness.BOUNDED if self._bounded else Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> SplitEnumerator:
        """Called by the runtime in the driver."""
        return _TestEnumerator(self._splits, self._bounded, restored)

    def create_reader(self) -> SourceReader:
        """Called by the runtime in tasks."""
        return _TestReader(self._splits, self._batch_size, self._marker_dir)

    def produced_type(self) -> Any:
        """The type of the elements, None if it was not given."""
        return self._type_info

    def watermark_strategy(self) -> WatermarkStrategy:
        """Timestamps as they are, watermarks where the items say (of a source with one split)."""
        if len(self._splits) != 1:
            raise ValidationError(
                "watermarks between the items of a source with several splits",
                do="give one split, or a watermark strategy of your own",
            )
        marks: dict[int, int] = {}
        count = 0
        for item in self._splits[0]:
            if isinstance(item, WatermarkMark):
                if count == 0:
                    raise ValidationError("the first item of a TestSource is a watermark")
                marks[count] = item.timestamp
            elif not isinstance(item, (_Abort, _Stop)):
                count += 1
        return WatermarkStrategy.for_generator(_ScriptFactory(marks))


class _TestEnumerator(SplitEnumerator):
    """Plans reading up to the next PAUSE."""

    def __init__(self, splits: list[list[Any]], bounded: bool, restored: Any) -> None:
        self._splits = splits
        self._bounded = bounded
        self._reported = bool(restored)

    def discover(self) -> Sequence[SourceSplit]:
        if self._reported:
            return ()
        self._reported = True
        return [_TestSplit(f"test-{number}", number) for number in range(len(self._splits))]

    def plan_read(self, split: SourceSplit, position: Any, now_ms: int) -> ReadLimit | None:
        assert isinstance(split, _TestSplit)
        items = self._splits[split.number]
        end = _end(items)
        position = position or 0
        stop = next((i for i in range(position, end) if items[i] is PAUSE or items[i] == PAUSE), end)
        if position >= end and not self._bounded:
            return None
        return ReadLimit(end_position=min(stop + 1, end), split_ends=self._bounded and stop >= end)

    def snapshot(self) -> Any:
        return self._reported


class _TestReader(SourceReader):
    """Reads items; control items are no elements."""

    def __init__(self, splits: list[list[Any]], batch_size: int, marker_dir: str) -> None:
        self._splits = splits
        self._batch_size = batch_size
        self._marker_dir = marker_dir

    def read(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[SourceBatch]:
        assert isinstance(split, _TestSplit)
        items = self._splits[split.number]
        position = position or 0
        end = _end(items) if limit.end_position is None else limit.end_position
        batch: list[StreamRecord] = []
        for index in range(position, end):
            item = items[index]
            if isinstance(item, _Abort):
                if batch:
                    yield _as_batch(batch, index)
                    batch = []
                self._fail(split, index, item.times)
            elif not isinstance(item, (WatermarkMark, _Stop)):
                batch.append(item if isinstance(item, StreamRecord) else StreamRecord(item))
                if len(batch) >= self._batch_size:
                    yield _as_batch(batch, index + 1)
                    batch = []
        if batch or end > position:
            yield _as_batch(batch, end)

    def _fail(self, split: _TestSplit, index: int, times: int) -> None:
        marker = os.path.join(self._marker_dir, f"{split.split_id}-{index}")
        happened = os.path.getsize(marker) if os.path.exists(marker) else 0
        if happened < times:
            with open(marker, "ab") as file:
                file.write(b"x")
            raise ExternalSystemError(
                f"ABORT of a TestSource, time {happened + 1} of {times}",
                where=f"split {split.split_id}, item {index}",
            )


class _ScriptFactory:
    """Makes the generator; a class, because it has to be pickled."""

    def __init__(self, marks: dict[int, int]) -> None:
        self._marks = marks

    def __call__(self) -> WatermarkGenerator:
        return _ScriptedWatermarks(self._marks)


class _ScriptedWatermarks(WatermarkGenerator):
    """Emits after the n-th element what the script says."""

    def __init__(self, marks: dict[int, int]) -> None:
        self._marks = marks
        self._count = 0

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        self._count += 1
        if self._count in self._marks:
            output.emit_watermark(Watermark(self._marks[self._count]))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


def _end(items: list[Any]) -> int:
    return next((i for i, item in enumerate(items) if item == EOF and isinstance(item, _Stop)), len(items))


def _as_batch(records: list[StreamRecord], position: int) -> SourceBatch:
    values = [record.value for record in records]
    if all(record.timestamp is None for record in records):
        return SourceBatch(values, None, position)
    times = [MIN_TIMESTAMP if record.timestamp is None else record.timestamp for record in records]
    return SourceBatch(values, times, position)

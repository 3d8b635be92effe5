"""Sources (FLIP-27): an enumerator in the driver finds splits, readers in tasks read them.

One epoch reads, for each split, from the committed position up to wherever the reader got when the epoch's
budget was used up:

    driver   enumerator.discover()                 which splits are there (new ones each time)
             enumerator.plan_read(split, position) is there something to read? up to where?
    task     reader.read(split, position, limit)   yields batches, each with the position after it
    driver   positions become part of the checkpoint; enumerator.on_committed(positions)

A position is whatever the connector likes, as long as it is picklable and reading from it again gives the
same records. A task that is retried starts from the same committed position, so nothing else is needed for
exactly-once.

Programs and SQL tables use the same sources. A source of a table reads tuples, or columns if its reader is an
`ArrowReader`: a capability that whoever drives the reader asks for, and that a connector may leave out.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.common.datatypes import RowType

START = None
"""Position of a split of which nothing was read yet."""


class Boundedness(enum.Enum):
    """Whether a source ends by itself."""

    BOUNDED = 0
    CONTINUOUS_UNBOUNDED = 1


@dataclass(frozen=True)
class SourceSplit:
    """A part of a source that is read by one subtask, in order. Connectors subclass it."""

    split_id: str


@dataclass(frozen=True)
class SourceBatch:
    """Records read together.

    Attributes:
        values: The records.
        timestamps: Their event times if the connector knows them (Kafka does), else None.
        position: Where to go on after these records.
        may_stop: False if reading cannot go on from there: whoever reads has to take the next batch too, whatever
            the limit. For systems that give the records of a split in another order each time.
    """

    values: list[Any]
    timestamps: list[int] | None
    position: Any
    may_stop: bool = True


@dataclass(frozen=True)
class ArrowBatch:
    """Records read together, in columns; `position` and `may_stop` are those of a `SourceBatch`."""

    batch: pa.RecordBatch
    position: Any
    may_stop: bool = True


@dataclass(frozen=True)
class ReadLimit:
    """How far one epoch reads in one split; None means no limit of that kind.

    `end_position` comes from the enumerator (e.g. the newest offset when the epoch was planned) and is
    exclusive; `max_records` is the coordinator's pacing. A reader may overshoot `max_records` by a batch.
    `payload` is whatever the enumerator wants to hand to the reader, such as the records themselves.

    `split_ends` says what it means that the reader's iterator ends by itself: True, the split is finished;
    False, there is (or may be) more after `end_position`; None, the source's boundedness decides. A source
    has ended when `no_more_splits` is true and all its splits are finished, whatever its boundedness.
    """

    end_position: Any = None
    max_records: int | None = None
    payload: Any = None
    split_ends: bool | None = None


@dataclass(frozen=True)
class EnumeratorContext:
    """What an enumerator may know: the parallelism of its readers and the job's configuration."""

    parallelism: int
    configuration: Mapping[str, str]


@dataclass(frozen=True)
class BadRecord:
    """A record that cannot be decoded: its bytes, why, and where it was."""

    raw: bytes
    error: Exception
    split: str
    offset: str
    timestamp: int | None = None


@dataclass(frozen=True)
class ReaderContext:
    """What a reader may know about where it runs.

    `poison`, if it is there, takes a record that cannot be decoded; the reader then goes on without it instead of
    raising. It may raise itself, when there are too many.
    """

    subtask_index: int
    parallelism: int
    configuration: Mapping[str, str]
    processing_time_ms: int
    poison: Callable[[BadRecord], None] | None = None


class SplitEnumerator(ABC):
    """Lives in the driver for the whole job; called by the epoch loop only, never concurrently.

    `reads_committed_again`: what `on_committed` has told can still be read: nothing was acknowledged that the system
    then forgets. Without `on_committed` that is taken for granted.
    """

    reads_committed_again = False

    @abstractmethod
    def discover(self) -> Sequence[SourceSplit]:
        """Splits not returned before. Called before every epoch: throttle expensive look-ups yourself."""

    def plan_read(self, split: SourceSplit, position: Any, now_ms: int) -> ReadLimit | None:
        """How far the next epoch may read in `split`, or None if there is nothing to read now."""
        return ReadLimit()

    def next_wakeup_ms(self, now_ms: int) -> int | None:
        """When it is worth asking again although nothing is there now; None: use the default poll interval."""
        return None

    @property
    def no_more_splits(self) -> bool:
        """True when `discover` will never return anything again: a bounded source ends with its splits."""
        return True

    @property
    def remembers_splits(self) -> bool:
        """True if `snapshot` knows what `discover` has returned: finished splits are then kept nowhere else.

        A source whose splits never stop coming must say so, else every checkpoint is larger than the last.
        """
        return False

    def on_committed(self, positions: Mapping[str, Any]) -> None:
        """The positions are durable now (e.g. commit them to Kafka)."""
        return None

    def pending_records(self, split: SourceSplit, position: Any) -> int | None:
        """How many records of a split are known to be there behind `position`; None if nobody knows.

        For the metric of that name. Asked after every epoch: answer from what is known anyway.
        """
        return None

    def snapshot(self) -> Any:
        """Picklable state of the enumerator itself, such as the splits it has already reported."""
        return None

    def close(self) -> None:
        """The job is over."""
        return None


class SourceReader(ABC):
    """Lives in a task process, for several epochs if it can; one per source subtask."""

    def open(self, context: ReaderContext) -> None:
        """Called before the first read in this process."""
        return None

    @abstractmethod
    def read(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[SourceBatch]:
        """Reads on from `position`, in batches of some hundreds to some thousands of records.

        The caller stops iterating when the epoch's budget is used up. When the iterator ends by itself, a
        bounded split is finished, and an unbounded one has nothing more at the moment, unless
        `limit.split_ends` says otherwise.
        """

    def close(self) -> None:
        """The process or the job ends; may never come."""
        return None


class ArrowReader(SourceReader):
    """A reader that can give columns; `row_type` says which. Each row is also a tuple of their values."""

    row_type: RowType

    @abstractmethod
    def read_arrow(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[ArrowBatch]:
        """The same as `read`, in columns of the Arrow types of `row_type` (`formats/arrow_rows.py`).

        It gives no more than `limit.max_records` rows, unless it cannot stop there: then it ends with the batch
        in which it has had enough. Going on from a batch's position gives exactly the rows after it.
        """

    def read(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[SourceBatch]:
        from penstock.formats.arrow_rows import ArrowToRows

        to_rows = ArrowToRows(self.row_type)
        for found in self.read_arrow(split, position, limit):
            rows = list(to_rows.rows(found.batch))
            yield SourceBatch(rows, None, found.position, found.may_stop)


class Source(ABC):
    """Describes a source; picklable. Subclass it to write your own: see docs/custom_connectors.md."""

    @property
    def boundedness(self) -> Boundedness:
        """Whether the source ends by itself."""
        return Boundedness.CONTINUOUS_UNBOUNDED

    def get_boundedness(self) -> Boundedness:
        """Whether the source ends by itself."""
        return self.boundedness

    @abstractmethod
    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> SplitEnumerator:
        """Called once in the driver; `restored` is what `snapshot()` of an earlier one returned."""

    @abstractmethod
    def create_reader(self) -> SourceReader:
        """Called in tasks."""

    def produced_type(self) -> Any:
        """TypeInformation of the records, if known."""
        return None

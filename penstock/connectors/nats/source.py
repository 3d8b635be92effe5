"""`NatsStreamSource`: the messages of a JetStream stream, exactly once.

A stream keeps its messages, numbered. A split is a subject of the stream (or a pattern of subjects), its position is
the next number, and positions are in the checkpoint; the server is told of nothing. An epoch reads up to the number
that was the stream's last when it was planned.

That needs a stream whose messages stay until its limits remove them. Streams of the retention `workqueue` and
`interest` forget a message when it is acknowledged, and are refused.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import ExternalSystemError, MalformedRecordError, PenstockError, ValidationError
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.nats.client import NatsAddress, NatsConnection, nats_library
from penstock.connectors.nats.cursor import StreamCursor
from penstock.connectors.source import (
    BadRecord,
    Boundedness,
    EnumeratorContext,
    ReaderContext,
    ReadLimit,
    Source,
    SourceBatch,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
)

__all__ = ["Decode", "NatsReading", "NatsStreamSource"]

LOG = logging.getLogger(__name__)
Decode = Callable[[Any], Sequence[Any]]
"""A message of the library to its records."""
_POLL_MS = 50


@dataclass(frozen=True)
class NatsReading:
    """What is read.

    Attributes:
        subjects: Each is a split; none: all subjects of the stream, as one.
        begin: `earliest`, `latest`, a sequence number, or a moment.
        bounded: The source ends with the last message that there is when the job starts.
        skip_missing: Go on where messages were removed before they were read, instead of failing.
    """

    address: NatsAddress
    stream: str
    subjects: tuple[str, ...] = ()
    begin: str | int | dt.datetime = "earliest"
    bounded: bool = False
    skip_missing: bool = False

    def __post_init__(self) -> None:
        nats_library()
        if not self.stream:
            raise ValidationError("there is no stream to read", do="name it")

    @property
    def where(self) -> str:
        return f"stream '{self.stream}', {self.address.where}"


@dataclass(frozen=True)
class NatsSplit(SourceSplit):
    """A subject, read from the number `start` up to `stop`, if that is known. A position is the next number."""

    subject: str = ">"
    start: int = 1
    stop: int | None = None


@dataclass(frozen=True)
class NatsStreamSource(Source):
    """Reads a stream. `decoder` makes what turns messages into records; it is called in tasks."""

    reading: NatsReading
    decoder: Callable[[], Decode]
    type_info: TypeInformation | None = None

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.reading.bounded else Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> SplitEnumerator:
        return _Enumerator(self.reading, restored)

    def create_reader(self) -> SourceReader:
        return _Reader(self)

    def produced_type(self) -> Any:
        return self.type_info


class _Enumerator(SplitEnumerator):
    """Asks the server how far the stream has come, once for each plan."""

    def __init__(self, reading: NatsReading, restored: Any) -> None:
        self._reading = reading
        self._connection = NatsConnection(reading.address)
        self._found = restored is not None
        self._asked_ms: int | None = None
        self._first, self._end = 1, 1

    def discover(self) -> Sequence[SourceSplit]:
        if self._found:
            return ()
        self._look()
        start = self._begin()
        stop = self._end if self._reading.bounded else None
        self._found = True
        subjects = self._reading.subjects or (">",)
        return [NatsSplit(f"{self._reading.stream}:{s}", s, start, stop) for s in subjects]

    def _look(self) -> None:
        info = self._call(lambda stream: stream.stream_info(self._reading.stream))
        policy = nats_library().js.api.RetentionPolicy.LIMITS
        if info.config.retention not in (None, policy, policy.value):
            raise self._refused(info.config.retention)
        self._first, self._end = max(1, info.state.first_seq), info.state.last_seq + 1

    def _call(self, work: Callable[[Any], Any]) -> Any:
        try:
            return self._connection.call(work(self._connection.jetstream))
        except nats_library().js.errors.NotFoundError:
            missing = ExternalSystemError(
                f"there is no stream '{self._reading.stream}'",
                where=self._reading.address.where,
                do="create it, or correct its name: nats stream add ...",
            )
            missing.retryable = False
            raise missing from None
        except self._connection.errors() as error:
            raise self._reading.address.failed(
                f"cannot read the stream '{self._reading.stream}'", error
            ) from error

    def _refused(self, policy: Any) -> PenstockError:
        return ValidationError(
            f"the stream has the retention '{getattr(policy, 'value', policy)}': it forgets messages when they are "
            "acknowledged, so what an epoch has read could not be read again",
            where=self._reading.where,
            do="read a stream with the retention 'limits'; it may have the other one as its source",
        )

    def _begin(self) -> int:
        begin = self._reading.begin
        if isinstance(begin, int):
            return max(1, begin)
        if isinstance(begin, dt.datetime):
            return self._first_after(begin)
        return self._first if begin == "earliest" else self._end

    def _first_after(self, moment: dt.datetime) -> int:
        """The number of the first message that was stored at that moment or later."""
        api = nats_library().js.api
        config = api.ConsumerConfig(
            deliver_policy=api.DeliverPolicy.BY_START_TIME,
            opt_start_time=moment.astimezone(dt.timezone.utc),
            ack_policy=api.AckPolicy.NONE,
            inactive_threshold=10.0,
        )
        stream = self._reading.stream
        consumer = self._call(lambda js: js.pull_subscribe(">", stream=stream, config=config))
        try:
            [message] = self._connection.call(consumer.fetch(1, timeout=1))
        except nats_library().errors.TimeoutError:
            return self._end
        number: int = message.metadata.sequence.stream
        return number

    def plan_read(self, split: SourceSplit, position: Any, now_ms: int) -> ReadLimit | None:
        assert isinstance(split, NatsSplit)
        at = split.start if position is None else position
        if split.stop is not None and at >= split.stop:
            return ReadLimit(end_position=at, split_ends=True)
        if self._asked_ms != now_ms:
            self._look()
            self._asked_ms = now_ms
        self._check_missing(at, position is not None)
        end = self._end if split.stop is None else min(self._end, split.stop)
        if at >= end:
            return None
        return ReadLimit(end_position=end, split_ends=split.stop is not None and end >= split.stop)

    def _check_missing(self, at: int, begun: bool) -> None:
        if not begun or at >= self._first:
            return
        what = f"messages {at} to {self._first - 1} were removed by the stream's limits before they were read"
        if self._reading.skip_missing:
            LOG.warning("%s; reading goes on behind them: %s", what, self._reading.where)
            return
        gone = ExternalSystemError(
            what,
            where=self._reading.where,
            do="raise the stream's limits, or set 'scan.on-missing' to 'skip' to go on without them",
        )
        gone.retryable = False
        raise gone

    def next_wakeup_ms(self, now_ms: int) -> int | None:
        return now_ms + _POLL_MS

    @property
    def no_more_splits(self) -> bool:
        return self._found

    def snapshot(self) -> Any:
        return True if self._found else None

    def close(self) -> None:
        self._connection.close()


class _Reader(SourceReader):
    """Messages to records, with the times at which the stream has stored them."""

    def __init__(self, source: NatsStreamSource) -> None:
        self._source = source
        self._cursors: dict[str, StreamCursor] = {}

    def open(self, context: ReaderContext) -> None:
        self._decode = self._source.decoder()
        self._poison = context.poison

    def read(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[SourceBatch]:
        assert isinstance(split, NatsSplit)
        cursor = self._cursors.get(split.split_id)
        if cursor is None:
            reading = self._source.reading
            cursor = self._cursors[split.split_id] = StreamCursor(
                reading.address, reading.stream, split.subject
            )
        most, taken = limit.max_records, 0

        def wanted() -> int | None:
            return None if most is None else most - taken

        start = split.start if position is None else position
        for messages, after in cursor.read(start, limit.end_position, wanted):
            values, times = self._records(split, messages)
            taken += len(values)
            yield SourceBatch(values, times, after)

    def _records(self, split: NatsSplit, messages: Sequence[Any]) -> tuple[list[Any], list[int]]:
        values: list[Any] = []
        times: list[int] = []
        for message in messages:
            stored_ms = int(message.metadata.timestamp.timestamp() * 1000)
            try:
                found = self._decode(message)
            except ValueError as error:
                self._bury(split, message, stored_ms, error)
                continue
            values += found
            times += [stored_ms] * len(found)
        return values, times

    def _bury(self, split: NatsSplit, message: Any, stored_ms: int, error: ValueError) -> None:
        number = message.metadata.sequence.stream
        if self._poison is not None:
            self._poison(BadRecord(message.data, error, split.split_id, str(number), stored_ms))
            return
        where = f"message {number}, {self._source.reading.where}"
        what = error.what if isinstance(error, PenstockError) else str(error)
        raise MalformedRecordError(f"a message cannot be read: {what}", where=where) from error

    def close(self) -> None:
        while self._cursors:
            self._cursors.popitem()[1].close()

"""A tiny epoch loop: what the coordinator and its tasks do with a source and a sink, without Spark.

`SourceLoop` plans, reads, and commits or crashes; everything that would travel or be stored is pickled on the
way. `SinkLoop` does the same for writers and committers. Both keep exactly what a checkpoint would keep.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.checkpoint.epoch_files import EpochFiles
from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.ids import EpochId, OperatorUid
from penstock.connectors.sink import Moment, Sink, WriterContext
from penstock.connectors.source import Boundedness, EnumeratorContext, ReaderContext, Source


def travelled(value: Any) -> Any:
    """The value as it arrives in another process."""
    return pickle.loads(pickle.dumps(value))


@dataclass
class _SplitState:
    split: Any
    position: Any = None
    finished: bool = False


@dataclass
class SourceLoop:
    """Drives a source epoch by epoch.

    Attributes:
        max_records: The budget of an epoch in each split.
        collected: Values of the committed epochs, per split id, in order.
        timestamps: Their event times.
    """

    source: Source
    parallelism: int = 1
    max_records: int | None = None
    configuration: Mapping[str, str] = field(default_factory=dict)
    now_ms: int = 1_000
    collected: dict[str, list[Any]] = field(default_factory=dict)
    timestamps: dict[str, list[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._splits: dict[str, _SplitState] = {}
        self._checkpoint: bytes | None = None
        self.enumerator = self._create_enumerator(None)

    def _create_enumerator(self, restored: Any) -> Any:
        return self.source.create_enumerator(
            EnumeratorContext(self.parallelism, self.configuration), restored
        )

    @property
    def ended(self) -> bool:
        return self.enumerator.no_more_splits and all(s.finished for s in self._splits.values())

    @property
    def values(self) -> list[Any]:
        """All committed values, split by split."""
        return [value for split in self.collected.values() for value in split]

    def run_epoch(self, crash: bool = False) -> int:
        """Plans and reads; commits unless told to crash before that. Returns the number of records read."""
        for split in self.enumerator.discover():
            assert split.split_id not in self._splits, f"split {split.split_id} was discovered twice"
            self._splits[split.split_id] = _SplitState(travelled(split))
        results = {}
        for split_id, state in self._splits.items():
            if state.finished:
                continue
            limit = self.enumerator.plan_read(state.split, state.position, self.now_ms)
            if limit is not None:
                results[split_id] = (self._read(state, travelled(limit)), limit)
        if crash:
            return sum(len(values) for (values, _, _, _), _ in results.values())
        return self._commit(results)

    def _read(self, state: _SplitState, limit: Any) -> tuple[list[Any], list[Any], Any, bool]:
        reader = travelled(self.source).create_reader()
        reader.open(ReaderContext(0, self.parallelism, self.configuration, self.now_ms))
        budgets = [n for n in (self.max_records, limit.max_records) if n is not None]
        budget = min(budgets) if budgets else None
        values: list[Any] = []
        times: list[Any] = []
        position, exhausted = state.position, True
        limit = replace(limit, max_records=budget)
        for batch in reader.read(state.split, travelled(state.position), limit):
            values.extend(batch.values)
            times.extend(batch.timestamps or [None] * len(batch.values))
            position = travelled(batch.position)
            if budget is not None and len(values) >= budget and batch.may_stop:
                exhausted = False
                break
        reader.close()
        return values, times, position, exhausted

    def _commit(self, results: dict[str, Any]) -> int:
        read = 0
        bounded = self.source.boundedness is Boundedness.BOUNDED
        for split_id, ((values, times, position, exhausted), limit) in results.items():
            state = self._splits[split_id]
            state.position = position
            ends = bounded if limit.split_ends is None else limit.split_ends
            state.finished = exhausted and ends
            self.collected.setdefault(split_id, []).extend(values)
            self.timestamps.setdefault(split_id, []).extend(times)
            read += len(values)
        self._checkpoint = pickle.dumps((self.enumerator.snapshot(), self._splits))
        self.enumerator.on_committed({split_id: state.position for split_id, state in self._splits.items()})
        return read

    def recover(self) -> None:
        """The driver died: a new enumerator starts from the last checkpoint."""
        self.enumerator.close()
        restored, self._splits = pickle.loads(self._checkpoint) if self._checkpoint else (None, {})
        self.enumerator = self._create_enumerator(restored)

    def run_to_end(self, max_epochs: int = 10_000, advance_ms: int = 10) -> list[Any]:
        for _ in range(max_epochs):
            self.run_epoch()
            if self.ended:
                return self.values
            self.now_ms += advance_ms
        raise AssertionError(f"the source has not ended after {max_epochs} epochs")


@dataclass
class SinkLoop:
    """Drives a sink epoch by epoch; `write` gets one list of values per subtask."""

    sink: Sink
    parallelism: int = 1
    now_ms: int = 1_000
    type_info: Any = None
    job_id: str = "job"
    storage: CheckpointStorage | None = None

    def __post_init__(self) -> None:
        self.epoch = 0
        self._attempts = 0
        self._run = uuid.uuid4().hex
        self._states: bytes = pickle.dumps([()] * self.parallelism)
        self._last_committables: bytes = pickle.dumps([])
        self._committer = self.sink.create_committer()
        self._coordinator = self.sink.create_coordinator()
        self._coordinator_state: bytes = pickle.dumps(None)

    def run_epoch(
        self,
        per_subtask: Sequence[Sequence[Any]],
        end_of_input: bool = False,
        crash: str | None = None,
        between: Callable[[], None] | None = None,
    ) -> None:
        """Writes an epoch.

        Args:
            crash: None; "writing": the tasks die half-way, and nothing is prepared; "prepared": the tasks
                are done but the metadata is not written; "publishing": the metadata is durable, nothing is
                committed yet (`recover` then commits).
            between: Called between prepare and commit.
        """
        restored = pickle.loads(self._states)
        writers = [self._writer(i, restored[i]) for i in range(self.parallelism)]
        for writer, values in zip(writers, per_subtask, strict=True):
            half = len(values) // 2 if crash == "writing" else len(values)
            if half:
                writer.write(list(values[:half]), None)
        if crash == "writing":
            return
        committables = [c for w in writers for c in w.prepare_commit(end_of_input)]
        committables, coordinated = self._coordinate(committables, end_of_input)
        states = [() if (s := w.snapshot()) is None else (s,) for w in writers]
        prepared = pickle.dumps(committables), pickle.dumps(states), coordinated
        if crash == "prepared":
            return
        self._last_committables, self._states, self._coordinator_state = prepared
        self.epoch += 1
        if between:
            between()
        if crash == "publishing":
            return
        self._publish()

    def _coordinate(self, committables: list[Any], final: bool) -> tuple[list[Any], bytes]:
        """What the driver makes of the committables, and what it wants to know in the next epoch."""
        state = pickle.loads(self._coordinator_state)
        if self._coordinator is None:
            return committables, pickle.dumps(state)
        moment = Moment(self.now_ms, 0, final)
        taken = self._coordinator.at_epoch_end(travelled(committables), moment, state)
        return list(taken.committables), pickle.dumps(taken.state)

    def _writer(self, subtask: int, restored: Sequence[Any]) -> Any:
        self._attempts += 1
        context = WriterContext(
            subtask_index=subtask,
            parallelism=self.parallelism,
            epoch=EpochId(self.epoch + 1),
            attempt=f"{self._run}-{self._attempts}",
            processing_time_ms=self.now_ms,
            job_id=self.job_id,
            type_info=self.type_info,
            files=self.storage and EpochFiles(self.storage, OperatorUid("sink"), EpochId(self.epoch + 1)),
        )
        return travelled(self.sink).create_writer(context, restored)

    def _publish(self) -> None:
        if self._committer is not None:
            self._committer.commit(pickle.loads(self._last_committables))

    def recover(self) -> None:
        """The driver died: a new committer commits the last epoch again."""
        self._committer = self.sink.create_committer()
        self._coordinator = self.sink.create_coordinator()
        self._publish()

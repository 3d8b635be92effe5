"""What every user function has: `open`, `close`, and the runtime context it is opened with.

A function object is built in the driver, pickled, and opened in the worker that runs it. It is opened once
per worker process and subtask and lives from epoch to epoch; `functions/carried.py` says which of its
attributes survive a change of process.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.common.subscripts import Subscriptable
from penstock.state.interfaces import OperatorStateStore as BroadcastStateStore

if TYPE_CHECKING:
    from penstock.functions.accumulators import Accumulator, DoubleCounter, Histogram, IntCounter, LongCounter
    from penstock.metrics import MetricGroup
    from penstock.state.descriptors import (
        AggregatingState,
        AggregatingStateDescriptor,
        ListState,
        ListStateDescriptor,
        MapState,
        MapStateDescriptor,
        ReducingState,
        ReducingStateDescriptor,
        ValueState,
        ValueStateDescriptor,
    )

__all__ = ["Function", "KeyedStateStore", "OperatorStateStore", "RuntimeContext"]


class KeyedStateStore(ABC):
    """Gives state objects for descriptors; each acts on the key of the element at hand."""

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState:
        """One value per key."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState:
        """A list per key; adding is cheap."""

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState:
        """A map per key; its entries are read and written one by one."""

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState:
        """One value per key, into which every added value is reduced."""

    @abstractmethod
    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState:
        """One accumulator per key; reading gives the aggregate's result."""


class OperatorStateStore(BroadcastStateStore):
    """State that belongs to a subtask rather than to a key (Java API; see `CheckpointedFunction`).

    PyFlink's store has broadcast state only; the lists are Java's.
    """

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState:
        """A list whose elements are dealt out again, round-robin, when the parallelism changes."""

    @abstractmethod
    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> ListState:
        """A list of which every subtask sees all elements after a restore."""


class RuntimeContext(KeyedStateStore):
    """Where a function finds out about its place in the job; handed to `open`.

    State may be asked for only by functions of a keyed stream; elsewhere it is refused with a message.
    """

    @abstractmethod
    def get_task_name(self) -> str:
        """Name of the operator, without subtask numbers."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """Parallelism of the operator."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """Max parallelism: the number of key groups."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """Which of the parallel instances this is, from 0."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """How often the job was restarted before."""

    @abstractmethod
    def get_task_name_with_subtasks(self) -> str:
        """Such as `Map (2/4)#0`: subtasks count from 1 here."""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A global job parameter (`ExecutionConfig.set_global_job_parameters`)."""

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """Where the function registers its own counters, gauges, distributions and meters."""

    @abstractmethod
    def add_accumulator(self, name: str, accumulator: Accumulator) -> None:
        """Registers an accumulator; its value over all subtasks is part of the job's result (Java API)."""

    @abstractmethod
    def get_accumulator(self, name: str) -> Accumulator:
        """The accumulator this subtask registered under `name` (Java API)."""

    def get_int_counter(self, name: str) -> IntCounter:
        """The counter registered under `name`, made if there is none yet (Java API)."""
        return self._accumulator(name, "IntCounter")  # type: ignore[return-value]

    def get_long_counter(self, name: str) -> LongCounter:
        """The counter registered under `name`, made if there is none yet (Java API)."""
        return self._accumulator(name, "LongCounter")  # type: ignore[return-value]

    def get_double_counter(self, name: str) -> DoubleCounter:
        """The counter registered under `name`, made if there is none yet (Java API)."""
        return self._accumulator(name, "DoubleCounter")  # type: ignore[return-value]

    def get_histogram(self, name: str) -> Histogram:
        """The histogram registered under `name`, made if there is none yet (Java API)."""
        return self._accumulator(name, "Histogram")  # type: ignore[return-value]

    def _accumulator(self, name: str, kind: str) -> Accumulator:
        from penstock.functions import accumulators

        try:
            return self.get_accumulator(name)
        except (KeyError, ValueError):  # nobody has registered it yet
            accumulator: Accumulator = getattr(accumulators, kind)()
            self.add_accumulator(name, accumulator)
            return accumulator

    def get_metric_group(self) -> MetricGroup:
        """`get_metrics_group` in Java's spelling."""
        return self.get_metrics_group()

    @abstractmethod
    def get_operator_state_store(self) -> OperatorStateStore:
        """State of the subtask rather than of a key (Java API)."""

    @abstractmethod
    def get_global_job_parameters(self) -> Mapping[str, str]:
        """All global job parameters (Java API)."""

    @abstractmethod
    def get_job_id(self) -> str:
        """The job's id as hexadecimal text (Java API)."""

    @abstractmethod
    def get_distributed_cache(self) -> DistributedCache:
        """The files registered with `env.register_cached_file` (Java API)."""


class DistributedCache:
    """Files that every worker can read, by the name they were registered under."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = dict(files)

    def get_file(self, name: str) -> str:
        """Local path of the registered file."""
        if name not in self._files:
            raise KeyError(f"no cached file {name!r}; registered are {sorted(self._files)}")
        return self._files[name]


class Function(Subscriptable, ABC):
    """Base of all user functions. Type arguments, as in `MapFunction[int, str]`, are for readers."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called before the first element, once per worker process and subtask.

        The place to get state objects and to acquire resources (a connection, a model).
        """

    def close(self) -> None:
        """Called when the job ends; may never come if the process is killed."""

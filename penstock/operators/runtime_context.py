"""`RuntimeContext` for user functions inside an element operator.

Keyed state is there only if the operator's input is keyed; otherwise each accessor says what is missing.
Accumulators are plain objects of the subtask; the runtime reads `accumulators` when the epoch ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from penstock.common.errors import ValidationError
from penstock.functions.base import DistributedCache, RuntimeContext
from penstock.operators.base import OperatorContext
from penstock.operators.state_latency import StateLatency

if TYPE_CHECKING:
    from penstock.metrics import MetricGroup
    from penstock.state.descriptors import StateDescriptor


class StreamingRuntimeContext(RuntimeContext):
    """What a user function may know and use: its place in the job, state, metrics, accumulators."""

    def __init__(self, context: OperatorContext) -> None:
        self._context = context
        self.accumulators: dict[str, Any] = {}
        self.keyed_states: dict[str, Any] = {}
        self._tracked: dict[str, Any] = {}

    def get_task_name(self) -> str:
        return self._context.name

    def get_task_name_with_subtasks(self) -> str:
        context = self._context
        return f"{context.name} ({context.subtask_index + 1}/{context.parallelism})#{context.attempt_number}"

    def get_number_of_parallel_subtasks(self) -> int:
        return self._context.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        return self._context.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        return self._context.subtask_index

    def get_attempt_number(self) -> int:
        return self._context.attempt_number

    def get_job_id(self) -> str:
        return self._context.job_id

    def get_job_name(self) -> str:
        return self._context.job_name

    def get_job_parameter(self, key: str, default_value: str) -> str:
        return self._context.job_parameters.get(key, default_value)

    def get_global_job_parameters(self) -> Mapping[str, str]:
        return self._context.job_parameters

    def get_distributed_cache(self) -> DistributedCache:
        return DistributedCache(cached_files(self._context.configuration.get("pipeline.cached-files", "")))

    def get_operator_state_store(self) -> Any:
        return self._context.operator_state

    def get_metrics_group(self) -> MetricGroup:
        return self._context.metrics

    def get_state(self, state_descriptor: StateDescriptor) -> Any:
        return self._keyed_state(state_descriptor)

    def get_list_state(self, state_descriptor: StateDescriptor) -> Any:
        return self._keyed_state(state_descriptor)

    def get_map_state(self, state_descriptor: StateDescriptor) -> Any:
        return self._keyed_state(state_descriptor)

    def get_reducing_state(self, state_descriptor: StateDescriptor) -> Any:
        return self._keyed_state(state_descriptor)

    def get_aggregating_state(self, state_descriptor: StateDescriptor) -> Any:
        return self._keyed_state(state_descriptor)

    def add_accumulator(self, name: str, accumulator: Any) -> None:
        """Registers an accumulator under a name that is free in this operator."""
        if name in self.accumulators:
            raise ValidationError(
                f"accumulator {name!r} was added twice",
                where=f"operator {self._context.name!r}",
                do="add it once, in open(), and keep the object",
            )
        self.accumulators[name] = accumulator

    def get_accumulator(self, name: str) -> Any:
        if name not in self.accumulators:
            raise ValidationError(
                f"no accumulator {name!r} in operator {self._context.name!r}",
                do=f"add it with add_accumulator in open(); there are {sorted(self.accumulators)}",
            )
        return self.accumulators[name]

    def _keyed_state(self, descriptor: StateDescriptor) -> Any:
        backend = self._context.keyed_state
        if backend is None:
            raise ValidationError(
                f"keyed state {descriptor.name!r} on a stream without keys",
                where=f"operator {self._context.name!r}",
                do="call key_by(...) first: this kind of state is kept per key",
            )
        state = backend.get_partitioned_state(descriptor)
        self.keyed_states[descriptor.name] = state
        if self._latency is None:
            return state
        if descriptor.name not in self._tracked:
            self._tracked[descriptor.name] = self._latency.tracked(
                state, descriptor.kind, descriptor.name, self._context.metrics
            )
        return self._tracked[descriptor.name]

    @cached_property
    def _latency(self) -> StateLatency | None:
        """Found once: functions may ask for their state with every element."""
        return StateLatency.of(self._context.configuration)


class StatelessRuntimeContext(StreamingRuntimeContext):
    """For functions that combine the elements of a window: everything but state.

    Flink refuses rich functions there, because which key and window are current is the operator's business: a
    call of `merge` may be about several windows. What the function has to remember belongs in its accumulator.
    """

    def __init__(self, context: OperatorContext, accumulators: dict[str, Any]) -> None:
        super().__init__(context)
        self.accumulators = accumulators

    def get_operator_state_store(self) -> Any:
        raise self._no_state("operator state")

    def _keyed_state(self, descriptor: StateDescriptor) -> Any:
        raise self._no_state(f"state {descriptor.name!r}")

    def _no_state(self, what: str) -> ValidationError:
        return ValidationError(
            f"{what} in a function that reduces or aggregates the elements of a window",
            where=f"operator {self._context.name!r}",
            do="keep it in the accumulator, or pass a ProcessWindowFunction too, which has state",
        )


def cached_files(option: str) -> dict[str, str]:
    """Registered files by name, from the value of `pipeline.cached-files`.

    >>> cached_files("name:words,path:/data/words.txt;name:model,path:s3://b/m,executable:false")
    {'words': '/data/words.txt', 'model': 's3://b/m'}
    """
    files = {}
    for entry in filter(None, option.split(";")):
        fields = dict(part.split(":", 1) for part in entry.split(","))
        files[fields["name"]] = fields["path"]
    return files

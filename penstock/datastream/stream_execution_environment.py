"""`StreamExecutionEnvironment`: where a program begins (sources) and ends (`execute`).

The environment holds the configuration and the list of steps that were added. `execute()` hands the ends of
the program to the runtime and starts over with an empty list; streams made before stay usable.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from penstock.common.configuration import Configuration
from penstock.common.errors import NotSupportedError, TypeMismatchError, ValidationError
from penstock.common.execution_config import ExecutionConfig
from penstock.common.job_client import JobClient
from penstock.common.job_execution_result import JobExecutionResult
from penstock.common.options import CheckpointingOptions, ExecutionOptions, PipelineOptions, option
from penstock.common.time import Duration
from penstock.common.typeinfo import TypeInformation
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.connectors.source import Source
from penstock.datastream.builder import call_site, checked_parallelism, checked_type
from penstock.datastream.checkpoint_config import CheckpointConfig
from penstock.datastream.checkpointing_mode import CheckpointingMode
from penstock.datastream.context import context_configuration
from penstock.datastream.execution_mode import RuntimeExecutionMode
from penstock.datastream.job_handle import job_client
from penstock.datastream.job_listener import JobListener, announced
from penstock.datastream.legacy_environment import LegacyEnvironment
from penstock.datastream.shipped_files import ShippedFiles
from penstock.datastream.slot_sharing_group import SlotSharingGroup
from penstock.datastream.stream import DataStream
from penstock.graph.transformations import SourceTransformation, Transformation

if TYPE_CHECKING:
    from penstock.datastream.cached_stream import CachedDataStream

__all__ = ["StreamExecutionEnvironment"]

_CHAIN_DIFFERENT_MAX = option("pipeline.operator-chaining.chain-operators-with-different-max-parallelism")

_default_local_parallelism = os.cpu_count() or 1


class StreamExecutionEnvironment(ShippedFiles, LegacyEnvironment):
    """A program: its configuration, its sources, and the way to run it."""

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = context_configuration()
        if configuration is not None:
            self._configuration.add_all(configuration)
        self._config = ExecutionConfig(self._configuration)
        self._checkpoint_config = CheckpointConfig(self._configuration)
        self._transformations: list[Transformation] = []
        self._caches: list[CachedDataStream] = []
        self._submission_listeners: list[Callable[[Any], None]] = []
        self._job_listeners: list[JobListener] = []
        self._slot_sharing_groups: dict[str, SlotSharingGroup] = {}

    @staticmethod
    def get_execution_environment(configuration: Configuration | None = None) -> StreamExecutionEnvironment:
        """A new environment, with `configuration` over what the program was started with.

        Example:
            ```python
            env = StreamExecutionEnvironment.get_execution_environment()
            env.from_collection([1, 2, 3]).map(lambda n: n * n).print()
            env.execute("squares")
            ```
        """
        return StreamExecutionEnvironment(configuration)

    @staticmethod
    def create_local_environment(
        parallelism: int | None = None, configuration: Configuration | None = None
    ) -> StreamExecutionEnvironment:
        """A new environment with a parallelism of its own; where Spark runs is Spark's setting (Java API)."""
        env = StreamExecutionEnvironment(configuration)
        return env if parallelism is None else env.set_parallelism(parallelism)

    # -- settings --------------------------------------------------------------------------------------

    def get_config(self) -> ExecutionConfig:
        """Execution settings."""
        return self._config

    def get_checkpoint_config(self) -> CheckpointConfig:
        """Checkpoint settings."""
        return self._checkpoint_config

    def get_configuration(self) -> Configuration:
        """All settings as configuration entries; changing it changes the environment."""
        return self._configuration

    def configure(self, configuration: Configuration) -> StreamExecutionEnvironment:
        """Takes over all entries of `configuration`."""
        self._configuration.add_all(configuration)
        return self

    def get_parallelism(self) -> int:
        """Parallelism of operators that do not set their own."""
        return self.configured_parallelism() or self.get_default_local_parallelism()

    def set_parallelism(self, parallelism: int) -> StreamExecutionEnvironment:
        """How many subtasks operators have unless they say otherwise; a subtask owns a share of the keys.

        Example:
            ```python
            env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
            ```
        """
        self._config.set_parallelism(checked_parallelism(parallelism))
        return self

    def configured_parallelism(self) -> int | None:
        """The parallelism that was set, or None."""
        parallelism = self._config.get_parallelism()
        return parallelism if parallelism > 0 else None

    def get_max_parallelism(self) -> int:
        """Into how many key groups keyed state is cut; -1 if nobody has said."""
        return self._config.get_max_parallelism()

    def set_max_parallelism(self, max_parallelism: int) -> StreamExecutionEnvironment:
        """Into how many key groups keyed state is cut: the largest parallelism that it can ever have."""
        self._config.set_max_parallelism(checked_parallelism(max_parallelism, "max parallelism"))
        return self

    def get_default_local_parallelism(self) -> int:
        """Parallelism where none is set: the number of processors unless changed."""
        return _default_local_parallelism

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """The parallelism of environments that are made after this call."""
        global _default_local_parallelism
        _default_local_parallelism = checked_parallelism(parallelism)

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
        """STREAMING, BATCH, or AUTOMATIC: batch if all sources are bounded.

        Example:
            ```python
            env.set_runtime_mode(RuntimeExecutionMode.BATCH)  # each key's final result once
            ```
        """
        if not isinstance(execution_mode, RuntimeExecutionMode):
            raise TypeMismatchError(
                f"expected a RuntimeExecutionMode, got {execution_mode!r}", where=call_site()
            )
        self._configuration.set(ExecutionOptions.RUNTIME_MODE, execution_mode.name)
        return self

    def get_buffer_timeout(self) -> int:
        """Milliseconds that were set; latency follows `execution.epoch.target`."""
        return self._configuration.get(ExecutionOptions.BUFFER_TIMEOUT).to_millis()  # type: ignore[no-any-return]

    def set_buffer_timeout(self, timeout_millis: int) -> StreamExecutionEnvironment:
        """Kept, without effect: `execution.epoch.target` is what latency depends on here."""
        if timeout_millis < -1:
            raise ValidationError(
                f"buffer timeout must be -1 or more, got {timeout_millis}", where=call_site()
            )
        self._configuration.set(ExecutionOptions.BUFFER_TIMEOUT, Duration.of_millis(timeout_millis))
        return self

    def disable_operator_chaining(self) -> StreamExecutionEnvironment:
        """Kept, without effect on results: operators of one stage run in one task."""
        self._configuration.set(PipelineOptions.OPERATOR_CHAINING, False)
        return self

    def is_chaining_enabled(self) -> bool:
        """What was set."""
        return bool(self._configuration.get(PipelineOptions.OPERATOR_CHAINING))

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        """What was set."""
        return bool(self._configuration.get(_CHAIN_DIFFERENT_MAX))

    def auto_watermark_interval_ms(self) -> int:
        """How often watermark generators are asked."""
        return self._config.get_auto_watermark_interval()

    def register_slot_sharing_group(self, slot_sharing_group: SlotSharingGroup) -> StreamExecutionEnvironment:
        """The resources of a group that operators name; see `OperatorSettings.slot_sharing_group`."""
        self._slot_sharing_groups[slot_sharing_group.get_name()] = slot_sharing_group
        return self

    # -- checkpoints -----------------------------------------------------------------------------------

    def enable_checkpointing(
        self, interval: int | None = None, mode: CheckpointingMode | None = None
    ) -> StreamExecutionEnvironment:
        """Checkpoints at least every `interval` milliseconds; a failed job restarts from the last one.

        Example:
            ```python
            env.enable_checkpointing(10_000)  # every 10 s
            env.get_checkpoint_config().set_checkpoint_storage_dir("file:///var/penstock/orders")
            ```
        """
        self._checkpoint_config.set_checkpoint_interval(500 if interval is None else interval)
        if mode is not None:
            self._checkpoint_config.set_checkpointing_mode(mode)
        return self

    def get_checkpoint_interval(self) -> int:
        """Milliseconds between checkpoints; -1 if none is set."""
        return self._checkpoint_config.get_checkpoint_interval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """EXACTLY_ONCE unless something else was set."""
        return self._checkpoint_config.get_checkpointing_mode()

    def get_checkpointing_consistency_mode(self) -> CheckpointingMode:
        """EXACTLY_ONCE unless something else was set."""
        return self._checkpoint_config.get_checkpointing_mode()

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """What was set; without effect here, there are no barriers to align."""
        return self._checkpoint_config.is_unaligned_checkpoints_enabled()

    def is_force_unaligned_checkpoints(self) -> bool:
        """What was set; it has no effect: there are no barriers to align."""
        return self._checkpoint_config.is_force_unaligned_checkpoints()

    def get_default_savepoint_directory(self) -> str | None:
        """Where savepoints go that name no directory; None if nobody has said."""
        return self._configuration.get(CheckpointingOptions.SAVEPOINT_DIRECTORY)  # type: ignore[no-any-return]

    def set_default_savepoint_directory(self, directory: str) -> StreamExecutionEnvironment:
        """Where savepoints go that name no directory."""
        self._configuration.set(CheckpointingOptions.SAVEPOINT_DIRECTORY, str(directory))
        return self

    def enable_changelog_state_backend(self, enabled: bool) -> StreamExecutionEnvironment:
        """Kept, without effect: every checkpoint here already is a log of changes."""
        self._configuration.set_boolean("state.changelog.enabled", bool(enabled))
        return self

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """What was set; without effect here, every epoch writes only its changes."""
        return self._configuration.get_boolean("state.changelog.enabled", None)

    # -- sources ---------------------------------------------------------------------------------------

    def from_collection(
        self, collection: Iterable[Any], type_info: TypeInformation | None = None
    ) -> DataStream:
        """A bounded stream of the given elements, in order.

        Example:
            ```python
            orders = env.from_collection(
                [("apples", 3), ("pears", 5)], type_info=Types.TUPLE([Types.STRING(), Types.INT()])
            )
            ```
        """
        from penstock.connectors.collection import CollectionSource

        checked_type(type_info)
        if isinstance(collection, dict) or not isinstance(collection, Iterable):
            raise TypeMismatchError(
                f"from_collection takes a list of elements, got {type(collection).__name__}",
                where=call_site(),
            )
        source = CollectionSource(collection, type_info)
        return self._add_source("Collection Source", source, type_info=type_info, parallel=False)

    def from_elements(self, *elements: Any, type_info: TypeInformation | None = None) -> DataStream:
        """Java's spelling of `from_collection`."""
        return self.from_collection(list(elements), type_info)

    def from_data(self, *data: Any, type_info: TypeInformation | None = None) -> DataStream:
        """Java's spelling of `from_collection`: elements one by one, or a single list of them."""
        elements = data[0] if len(data) == 1 and isinstance(data[0], list) else list(data)
        return self.from_collection(elements, type_info)

    def from_sequence(self, start: int, end: int) -> DataStream:
        """The numbers from `start` to `end`, both included (Java API)."""
        from penstock.connectors.number_sequence import NumberSequenceSource

        source = NumberSequenceSource(start, end)
        return self._add_source("Sequence Source", source, WatermarkStrategy.no_watermarks())

    def from_source(
        self,
        source: Source,
        watermark_strategy: WatermarkStrategy,
        source_name: str,
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """A stream of what `source` reads, with timestamps and watermarks by the strategy.

        Example:
            ```python
            numbers = env.from_source(
                NumberSequenceSource(1, 1_000), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()
            )
            ```
        """
        if not isinstance(source, Source):
            raise TypeMismatchError(f"from_source takes a Source, got {source!r}", where=call_site())
        if not isinstance(watermark_strategy, WatermarkStrategy):
            raise TypeMismatchError(
                f"expected a WatermarkStrategy, got {watermark_strategy!r}",
                where=call_site(),
                do="WatermarkStrategy.no_watermarks() if the stream needs no event time",
            )
        return self._add_source(source_name, source, watermark_strategy, type_info)

    def create_input(self, input_format: Any, type_info: TypeInformation | None = None) -> DataStream:
        """A stream of what an input format reads. `AvroInputFormat` is the one there is; others are Java classes."""
        make = getattr(input_format, "to_source", None)
        if make is None:
            raise NotSupportedError(
                f"create_input with {input_format!r}",
                "its input format is a Java class",
                where=call_site(),
                do="use from_source(...)",
            )
        return self._add_source(
            "Custom File Source", make(), type_info=type_info or input_format.get_produced_type()
        )

    def _add_source(
        self,
        name: str,
        source: Source,
        watermark_strategy: WatermarkStrategy | None = None,
        type_info: TypeInformation | None = None,
        parallel: bool = True,
    ) -> DataStream:
        transformation = SourceTransformation(
            name=name,
            output_type=checked_type(type_info) or source.produced_type(),
            parallelism=self.configured_parallelism() if parallel else 1,
            max_parallelism=None if parallel else 1,
            call_site=call_site(),
            source=source,
            watermark_strategy=watermark_strategy,
        )
        return DataStream(self, transformation)

    # -- running ---------------------------------------------------------------------------------------

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Runs the program and waits for its end.

        Example:
            ```python
            result = env.execute("orders per minute")
            print(result.get_net_runtime(), "ms")
            ```
        """
        job = self.submit(job_name)
        with announced(self._job_listeners) as announcement:
            announcement.result = job.wait()
        return announcement.result  # type: ignore[return-value]

    def execute_async(self, job_name: str | None = None) -> JobClient:
        """Starts the program and returns at once.

        Example:
            ```python
            job = env.execute_async("orders per minute")
            job.cancel().result()
            ```
        """
        return job_client(self.submit(job_name))

    def get_execution_plan(self) -> str:
        """The program's operators as JSON."""
        from penstock.runtime.submit import execution_plan_json

        return execution_plan_json(self._ends(), self._job_configuration())

    def register_job_listener(self, job_listener: JobListener) -> None:
        """Tells `job_listener` about every job of this environment (Java API)."""
        self._job_listeners.append(job_listener)

    def get_job_listeners(self) -> list[JobListener]:
        """The registered listeners (Java API)."""
        return list(self._job_listeners)

    def clear_job_listeners(self) -> None:
        """Forgets all listeners (Java API)."""
        self._job_listeners.clear()

    def add_operator(self, transformation: Transformation) -> None:
        """Adds a step that was made by hand (Java API)."""
        self.register_transformation(transformation)

    def __reduce__(self) -> Any:
        raise ValidationError(
            "a function refers to the execution environment, which stays in the driver",
            do="give the function what it needs as plain values; in a worker, ask the runtime context in open()",
        )

    def close(self) -> None:
        """Forgets the steps that were not executed."""
        self._transformations.clear()

    def submit(self, job_name: str | None = None) -> Any:
        """Starts the program and returns the running job; the environment is empty again afterwards."""
        from penstock.runtime.submit import submit_job

        ends = self._ends()
        ends += [extra for cache in self._caches for extra in cache.prepare(ends)]
        listeners, self._submission_listeners = self._submission_listeners, []
        for step in self._transformations:
            group = self._slot_sharing_groups.get(step.slot_sharing_group or "")
            if group is not None and step.slot_resources is None:
                step.slot_resources = group.resources()
        self._transformations = []
        try:
            job = submit_job(ends, self._job_configuration(), self._job_name(job_name))
        except Exception as error:
            if isinstance(error, ValidationError):
                error.where = error.where or call_site()
            for listener in self._job_listeners:
                listener.on_job_submitted(None, error)
            raise
        for listener in self._job_listeners:
            listener.on_job_submitted(job_client(job), None)
        for notify in (*listeners, *(cache.submitted for cache in self._caches)):
            notify(job)
        return job

    def register_transformation(self, transformation: Transformation) -> None:
        """Adds a step to the program."""
        self._transformations.append(transformation)

    def register_cache(self, cache: CachedDataStream) -> None:
        """Adds a stream whose elements are kept."""
        self._caches.append(cache)

    def on_next_submission(self, notify: Callable[[Any], None]) -> None:
        """Calls `notify(running_job)` when the program is submitted next."""
        self._submission_listeners.append(notify)

    def _ends(self) -> list[Transformation]:
        """Steps that no other step follows: sinks, and operators without one."""
        consumed: set[int] = set()
        stack = [step for transformation in self._transformations for step in transformation.inputs]
        while stack:
            step = stack.pop()
            if step.id not in consumed:
                consumed.add(step.id)
                stack.extend(step.inputs)
        return [step for step in self._transformations if step.id not in consumed]

    def _job_configuration(self) -> Configuration:
        configuration = Configuration(self._configuration)
        configuration.set(ExecutionOptions.PARALLELISM, self.get_parallelism())
        return configuration

    def _job_name(self, job_name: str | None) -> str:
        return job_name or self._configuration.get(PipelineOptions.NAME) or "Streaming Job"

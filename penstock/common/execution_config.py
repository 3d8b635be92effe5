"""Settings of a program's execution: typed access to the part of its configuration that it sets itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.common.config_options import ConfigOption
from penstock.common.configuration import Configuration
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.common.key_groups import UPPER_BOUND_MAX_PARALLELISM
from penstock.common.options import ExecutionOptions, PipelineOptions, option
from penstock.common.time import Duration

__all__ = ["ExecutionConfig"]

_CLOSURE_CLEANER = option("pipeline.closure-cleaner-level")
_LATENCY_INTERVAL = option("metrics.latency.interval")
_CANCELLATION_INTERVAL = option("task.cancellation.interval")
_CANCELLATION_TIMEOUT = option("task.cancellation.timeout")
_SNAPSHOT_COMPRESSION = option("execution.checkpointing.snapshot-compression")


class ExecutionConfig:
    """Every setting is an entry of `configuration`, so both ways of setting it agree.

    Args:
        configuration: Where the settings live: the environment's own, or a new one.
    """

    PARALLELISM_DEFAULT = -1
    PARALLELISM_UNKNOWN = -2

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    @property
    def configuration(self) -> Configuration:
        """The configuration that this object reads and writes."""
        return self._configuration

    def _set(self, known: ConfigOption, value: Any) -> ExecutionConfig:
        self._configuration.set(known, value)
        return self

    def _get(self, known: ConfigOption) -> Any:
        return self._configuration.get(known)

    def get_parallelism(self) -> int:
        """The default parallelism; -1 when the program did not set one."""
        known = ExecutionOptions.PARALLELISM
        return self._get(known) if self._configuration.contains(known) else self.PARALLELISM_DEFAULT

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """How many subtasks operators have unless they say otherwise."""
        if parallelism == self.PARALLELISM_DEFAULT:
            self._configuration.remove_config(ExecutionOptions.PARALLELISM.key)
            return self
        if parallelism < 1:
            raise ValidationError(f"parallelism {parallelism}", do="pass 1 or more")
        return self._set(ExecutionOptions.PARALLELISM, parallelism)

    def get_max_parallelism(self) -> int:
        """The number of key groups; -1 when it follows from the parallelism."""
        return self._get(PipelineOptions.MAX_PARALLELISM)  # type: ignore[no-any-return]

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Into how many key groups keyed state is cut: the largest parallelism that it can ever have."""
        if not 0 < max_parallelism <= UPPER_BOUND_MAX_PARALLELISM:
            raise ValidationError(
                f"max parallelism {max_parallelism}", do=f"pass 1 to {UPPER_BOUND_MAX_PARALLELISM}"
            )
        return self._set(PipelineOptions.MAX_PARALLELISM, max_parallelism)

    def get_auto_watermark_interval(self) -> int:
        """Milliseconds between watermarks that generators are asked for."""
        return self._get(PipelineOptions.AUTO_WATERMARK_INTERVAL).to_millis()  # type: ignore[no-any-return]

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """How often, in milliseconds, periodic watermark generators are asked."""
        if interval < 0:
            raise ValidationError(f"auto watermark interval of {interval} ms", do="pass zero or more")
        return self._set(PipelineOptions.AUTO_WATERMARK_INTERVAL, Duration.of_millis(interval))

    def get_latency_tracking_interval(self) -> int:
        """Milliseconds between two latency markers of a source; 0: none are sent."""
        return self._get(_LATENCY_INTERVAL).to_millis()  # type: ignore[no-any-return]

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """How often, in milliseconds, a source sends a marker that measures the way to each operator; 0: never."""
        return self._set(_LATENCY_INTERVAL, Duration.of_millis(max(0, interval)))

    def get_global_job_parameters(self) -> dict[str, str]:
        """What every function can read from its runtime context."""
        return self._get(PipelineOptions.GLOBAL_JOB_PARAMETERS) or {}

    def set_global_job_parameters(self, global_job_parameters_dict: Mapping[str, Any]) -> ExecutionConfig:
        """Texts that every function finds in its runtime context."""
        texts = {str(key): str(value) for key, value in global_job_parameters_dict.items()}
        return self._set(PipelineOptions.GLOBAL_JOB_PARAMETERS, texts)

    def enable_object_reuse(self) -> ExecutionConfig:
        """Kept, without effect: elements are never copied between chained functions here."""
        return self._set(PipelineOptions.OBJECT_REUSE, True)

    def disable_object_reuse(self) -> ExecutionConfig:
        """Kept, without effect: elements are never copied between chained functions here."""
        return self._set(PipelineOptions.OBJECT_REUSE, False)

    def is_object_reuse_enabled(self) -> bool:
        """Whether object reuse was asked for."""
        return self._get(PipelineOptions.OBJECT_REUSE)  # type: ignore[no-any-return]

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Operators without a uid get one from their place in the program (the default)."""
        return self._set(PipelineOptions.AUTO_GENERATE_UIDS, True)

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Refuse programs with an operator that has no `uid`."""
        return self._set(PipelineOptions.AUTO_GENERATE_UIDS, False)

    def has_auto_generated_uids_enabled(self) -> bool:
        """Whether operators without a uid get one."""
        return self._get(PipelineOptions.AUTO_GENERATE_UIDS)  # type: ignore[no-any-return]

    def get_task_cancellation_interval(self) -> int:
        """Milliseconds between attempts to cancel a task; kept, Spark cancels tasks."""
        return self._get(_CANCELLATION_INTERVAL)  # type: ignore[no-any-return]

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """Kept, without effect here: Spark cancels tasks."""
        return self._set(_CANCELLATION_INTERVAL, interval)

    def get_task_cancellation_timeout(self) -> int:
        """Milliseconds until a task that does not stop is fatal; kept, Spark cancels tasks."""
        return self._get(_CANCELLATION_TIMEOUT)  # type: ignore[no-any-return]

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Kept, without effect here: Spark cancels tasks."""
        return self._set(_CANCELLATION_TIMEOUT, timeout)

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        """Kept, without effect here: snapshots are always compressed."""
        return self._set(_SNAPSHOT_COMPRESSION, use_snapshot_compression)

    def is_use_snapshot_compression(self) -> bool:
        """What was set; snapshots are compressed in any case."""
        return self._get(_SNAPSHOT_COMPRESSION)  # type: ignore[no-any-return]

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Kept, without effect: Python functions have no closures to clean."""
        return self._set(_CLOSURE_CLEANER, "RECURSIVE")

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Kept, without effect here: Python functions have no closures to clean."""
        return self._set(_CLOSURE_CLEANER, "NONE")

    def is_closure_cleaner_enabled(self) -> bool:
        """What was set; it has no effect: Python functions have no closures to clean."""
        return self._get(_CLOSURE_CLEANER) != "NONE"

    def enable_force_kryo(self) -> ExecutionConfig:
        """Refused: there is no Kryo here."""
        raise _java_serializers("enable_force_kryo")

    def disable_force_kryo(self) -> ExecutionConfig:
        """Changes nothing: there is no Kryo here."""
        return self

    def is_force_kryo_enabled(self) -> bool:
        """Always False: there is no Kryo here."""
        return False

    def enable_force_avro(self) -> ExecutionConfig:
        """Refused: types decide how values are encoded."""
        raise _java_serializers("enable_force_avro")

    def disable_force_avro(self) -> ExecutionConfig:
        """Changes nothing: Avro is only used where a format says so."""
        return self

    def is_force_avro_enabled(self) -> bool:
        """Always False: Avro is only used where a format says so."""
        return False

    def disable_generic_types(self) -> ExecutionConfig:
        """Refused: values of undeclared type are always pickled."""
        raise _java_serializers("disable_generic_types")

    def enable_generic_types(self) -> ExecutionConfig:
        """Changes nothing: undeclared values are always pickled."""
        return self

    def has_generic_types_disabled(self) -> bool:
        """Always False: values of undeclared type are always pickled."""
        return False

    def get_default_kryo_serializer_classes(self) -> dict[str, str]:
        """Always empty: there is no Kryo here."""
        return {}

    def get_registered_kryo_types(self) -> list[str]:
        """Always empty: there is no Kryo here."""
        return []

    def get_registered_pojo_types(self) -> list[str]:
        """Always empty: there are no Java objects here."""
        return []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionConfig) and self._configuration == other._configuration

    def __hash__(self) -> int:
        """Of the settings as they are now."""
        return hash(self._configuration)


def _java_serializers(feature: str) -> NotSupportedError:
    return NotSupportedError(
        feature,
        "it chooses between Java serializers",
        do="declare types with penstock.common.Types, or give a type its own create_serializer",
    )

"""`CheckpointConfig`: the checkpoint settings of an environment, as entries of its configuration.

Every epoch ends with a checkpoint, so the interval bounds how long an epoch may take; what is durable after
the program has ended depends on `execution.checkpointing.dir`.
"""

from __future__ import annotations

from typing import Any

from penstock.common.config_options import ConfigOption
from penstock.common.configuration import Configuration
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.common.options import CheckpointingOptions, option
from penstock.common.time import Duration
from penstock.datastream.builder import call_site, checked_millis, checked_parallelism, deprecated
from penstock.datastream.checkpoint_storage import CheckpointStorage
from penstock.datastream.checkpointing_mode import CheckpointingMode
from penstock.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention

__all__ = ["CheckpointConfig"]

_MAX_CONCURRENT = option("execution.checkpointing.max-concurrent-checkpoints")
_ALIGNED_TIMEOUT = option("execution.checkpointing.aligned-checkpoint-timeout")
_UNALIGNED = option("execution.checkpointing.unaligned.enabled")
_FORCE_UNALIGNED = option("execution.checkpointing.unaligned.forced")
_DISABLED = -1


class CheckpointConfig:
    """Made by `env.get_checkpoint_config()`."""

    DEFAULT_MODE = CheckpointingMode.EXACTLY_ONCE
    DEFAULT_TIMEOUT = 10 * 60 * 1000
    DEFAULT_MIN_PAUSE_BETWEEN_CHECKPOINTS = 0
    DEFAULT_MAX_CONCURRENT_CHECKPOINTS = 1

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    def is_checkpointing_enabled(self) -> bool:
        """Whether an interval is set."""
        return self.get_checkpoint_interval() > 0

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """EXACTLY_ONCE unless something else was set."""
        return CheckpointingMode[str(self._configuration.get(CheckpointingOptions.MODE))]

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """What a checkpoint promises; every epoch here is exactly once, whatever is set."""
        return self._set(CheckpointingOptions.MODE, checkpointing_mode.name)

    def get_checkpointing_consistency_mode(self) -> CheckpointingMode:
        """The mode, as Java's API spells it."""
        return self.get_checkpointing_mode()

    def get_checkpoint_interval(self) -> int:
        """Milliseconds between checkpoints; -1 if none is set."""
        interval = self._configuration.get(CheckpointingOptions.INTERVAL)
        return _DISABLED if interval is None else interval.to_millis()

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        """Milliseconds between checkpoints; without a checkpoint directory every epoch is one."""
        millis = checked_millis(checkpoint_interval, "checkpoint interval", minimum=1)
        return self._set_millis(CheckpointingOptions.INTERVAL, millis)

    def get_checkpoint_timeout(self) -> int:
        """Milliseconds after which a checkpoint is given up."""
        return self._millis(CheckpointingOptions.TIMEOUT)

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        """Kept, without effect here: an epoch that does not end is not committed."""
        millis = checked_millis(checkpoint_timeout, "checkpoint timeout", minimum=1)
        return self._set_millis(CheckpointingOptions.TIMEOUT, millis)

    def get_min_pause_between_checkpoints(self) -> int:
        """Milliseconds of pause that were asked for."""
        return self._millis(CheckpointingOptions.MIN_PAUSE)

    def set_min_pause_between_checkpoints(self, min_pause_between_checkpoints: int) -> CheckpointConfig:
        """Kept, without effect here: the end of an epoch is its checkpoint."""
        millis = checked_millis(min_pause_between_checkpoints, "min pause between checkpoints")
        return self._set_millis(CheckpointingOptions.MIN_PAUSE, millis)

    def get_max_concurrent_checkpoints(self) -> int:
        """How many checkpoints may be under way; here it is always one."""
        return self._configuration.get(_MAX_CONCURRENT)  # type: ignore[no-any-return]

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Kept, without effect: epochs follow one another, so there is never more than one."""
        checked_parallelism(max_concurrent_checkpoints, "max concurrent checkpoints")
        return self._set(_MAX_CONCURRENT, max_concurrent_checkpoints)

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """How many failed checkpoints do not fail the job."""
        return self._configuration.get(CheckpointingOptions.TOLERABLE_FAILURES) or 0

    def set_tolerable_checkpoint_failure_number(
        self, tolerable_checkpoint_failure_number: int
    ) -> CheckpointConfig:
        """Kept, without effect here: what fails an epoch is left to the restart strategy."""
        if tolerable_checkpoint_failure_number < 0:
            raise ValidationError(
                f"tolerable checkpoint failures must be 0 or more, got {tolerable_checkpoint_failure_number}",
                where=call_site(),
            )
        return self._set(CheckpointingOptions.TOLERABLE_FAILURES, tolerable_checkpoint_failure_number)

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Whether the first failed checkpoint fails the job."""
        return self.get_tolerable_checkpoint_failure_number() == 0

    def set_fail_on_checkpointing_errors(self, fail_on_checkpointing_errors: bool) -> CheckpointConfig:
        """Older spelling of `set_tolerable_checkpoint_failure_number`."""
        return self.set_tolerable_checkpoint_failure_number(0 if fail_on_checkpointing_errors else 2**31 - 1)

    # -- what is left when the job has ended -----------------------------------------------------------

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """Whether checkpoints stay when the job is cancelled."""
        name = self._configuration.get(CheckpointingOptions.EXTERNALIZED_RETENTION)
        return ExternalizedCheckpointRetention[str(name)]

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Whether checkpoints stay when the job is cancelled; a failed job always keeps them."""
        return self._set(CheckpointingOptions.EXTERNALIZED_RETENTION, retention_mode.name)

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Whether a retention was chosen."""
        none = ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        return self.get_externalized_checkpoint_retention() is not none

    def enable_externalized_checkpoints(
        self, cleanup_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Flink 1.x's spelling of `set_externalized_checkpoint_retention`."""
        deprecated("enable_externalized_checkpoints(...)", "set_externalized_checkpoint_retention(...)")
        return self.set_externalized_checkpoint_retention(cleanup_mode)

    def set_checkpoint_storage_dir(self, checkpoint_path: str) -> CheckpointConfig:
        """Flink 1.x's spelling of the option `execution.checkpointing.dir`."""
        deprecated("set_checkpoint_storage_dir(...)", "the option execution.checkpointing.dir")
        return self._set(CheckpointingOptions.DIRECTORY, checkpoint_path)

    def set_checkpoint_storage(self, storage: CheckpointStorage) -> CheckpointConfig:
        """Flink 1.x's spelling of the option `execution.checkpointing.dir`."""
        deprecated("set_checkpoint_storage(...)", "the option execution.checkpointing.dir")
        for key, value in storage.entries().items():
            self._configuration.set_string(key, value)
        return self

    # -- unaligned checkpoints -------------------------------------------------------------------------

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """What was set; it has no effect: there are no barriers to align."""
        return bool(self._configuration.get(_UNALIGNED))

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """Kept, without effect: at the end of an epoch nothing is under way that would have to be aligned."""
        return self._set(_UNALIGNED, bool(enabled))

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Kept, without effect here: there are no barriers to align."""
        return self.enable_unaligned_checkpoints(False)

    def is_force_unaligned_checkpoints(self) -> bool:
        """What was set; it has no effect: there are no barriers to align."""
        return bool(self._configuration.get(_FORCE_UNALIGNED))

    def set_force_unaligned_checkpoints(self, force_unaligned_checkpoints: bool = True) -> CheckpointConfig:
        """Kept, without effect: there are no barriers to align."""
        return self._set(_FORCE_UNALIGNED, bool(force_unaligned_checkpoints))

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """What was set; it has no effect: nothing is aligned."""
        return self._configuration.get(_ALIGNED_TIMEOUT)  # type: ignore[no-any-return]

    def set_aligned_checkpoint_timeout(self, alignment_timeout: Any) -> CheckpointConfig:
        """Kept, without effect: nothing is aligned."""
        return self._set_millis(_ALIGNED_TIMEOUT, checked_millis(alignment_timeout, "alignment timeout"))

    def get_alignment_timeout(self) -> Duration:
        """Older spelling of `get_aligned_checkpoint_timeout`."""
        return self.get_aligned_checkpoint_timeout()

    def set_alignment_timeout(self, alignment_timeout: Any) -> CheckpointConfig:
        """Older spelling of `set_aligned_checkpoint_timeout`."""
        return self.set_aligned_checkpoint_timeout(alignment_timeout)

    def set_prefer_checkpoint_for_recovery(self, prefer_checkpoint_for_recovery: bool) -> CheckpointConfig:
        """Refused, as in Flink since 1.15: recovery always takes the newest checkpoint or savepoint."""
        raise NotSupportedError("set_prefer_checkpoint_for_recovery", "Flink removed it", where=call_site())

    def _millis(self, known: ConfigOption) -> int:
        return self._configuration.get(known).to_millis()  # type: ignore[no-any-return]

    def _set_millis(self, known: ConfigOption, millis: int) -> CheckpointConfig:
        return self._set(known, Duration.of_millis(millis))

    def _set(self, known: ConfigOption, value: Any) -> CheckpointConfig:
        self._configuration.set(known, value)
        return self

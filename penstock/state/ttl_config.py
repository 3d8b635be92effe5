"""How long state lives: `StateTtlConfig` and its builder, in PyFlink's spelling.

Time to live is judged by the epoch's processing time, which is the same for every record of the epoch: state
is expired when `last access + ttl <= processing time`.
"""

from __future__ import annotations

import datetime
import enum
from dataclasses import dataclass, field

from penstock.common.errors import ValidationError
from penstock.common.time import Duration, Time, to_millis

__all__ = ["StateTtlConfig"]


class _UpdateType(enum.Enum):
    """When the last access time of a value is set anew."""

    Disabled = 0
    OnCreateAndWrite = 1
    OnReadAndWrite = 2


class _StateVisibility(enum.Enum):
    """Whether expired state that was not cleaned up yet may still be seen."""

    ReturnExpiredIfNotCleanedUp = 0
    NeverReturnExpired = 1


class _TtlTimeCharacteristic(enum.Enum):
    """Which clock is meant; Flink knows one."""

    ProcessingTime = 0


class _Strategies(enum.Enum):
    """Names of the ways in which expired state is removed."""

    FULL_STATE_SCAN_SNAPSHOT = 0
    INCREMENTAL_CLEANUP = 1
    ROCKSDB_COMPACTION_FILTER = 2


class _CleanupStrategy:
    """Base of the cleanup settings."""


class _EmptyCleanupStrategy(_CleanupStrategy):
    """A strategy without settings."""


@dataclass(frozen=True)
class _IncrementalCleanupStrategy(_CleanupStrategy):
    """Looks at some more entries with every access. See `state/cleanup.py`."""

    _cleanup_size: int
    _run_cleanup_for_every_record: bool

    def __init__(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> None:
        object.__setattr__(self, "_cleanup_size", cleanup_size)
        object.__setattr__(self, "_run_cleanup_for_every_record", run_cleanup_for_every_record)

    def get_cleanup_size(self) -> int:
        return self._cleanup_size

    def run_cleanup_for_every_record(self) -> bool:
        return self._run_cleanup_for_every_record


@dataclass(frozen=True)
class _RocksdbCompactFilterCleanupStrategy(_CleanupStrategy):
    """Accepted for Flink's sake; here it means the same as incremental cleanup."""

    query_time_after_num_entries: int
    periodic_compaction_time: Duration | Time | None = None

    def get_query_time_after_num_entries(self) -> int:
        return self.query_time_after_num_entries

    def get_periodic_compaction_time(self) -> Duration | Time:
        return self.periodic_compaction_time or Duration.of_days(30)


_DEFAULT_INCREMENTAL = _IncrementalCleanupStrategy(5, False)
_DEFAULT_COMPACTION = _RocksdbCompactFilterCleanupStrategy(1000)


@dataclass(frozen=True)
class _CleanupStrategies:
    """How expired state is removed when nobody reads it."""

    strategies: dict[_Strategies, _CleanupStrategy] = field(default_factory=dict)
    cleanup_in_background: bool = True

    def is_cleanup_in_background(self) -> bool:
        return self.cleanup_in_background

    def in_full_snapshot(self) -> bool:
        """Whether a full snapshot leaves expired state out."""
        return _Strategies.FULL_STATE_SCAN_SNAPSHOT in self.strategies

    def get_incremental_cleanup_strategy(self) -> _IncrementalCleanupStrategy | None:
        default = _DEFAULT_INCREMENTAL if self.cleanup_in_background else None
        return self.strategies.get(_Strategies.INCREMENTAL_CLEANUP, default)  # type: ignore[return-value]

    def get_rocksdb_compact_filter_cleanup_strategy(self) -> _RocksdbCompactFilterCleanupStrategy | None:
        default = _DEFAULT_COMPACTION if self.cleanup_in_background else None
        return self.strategies.get(_Strategies.ROCKSDB_COMPACTION_FILTER, default)  # type: ignore[return-value]


class _NestedStrategies(_CleanupStrategies):
    """`StateTtlConfig.CleanupStrategies` with the names that PyFlink nests in it."""

    Strategies = _Strategies
    CleanupStrategy = _CleanupStrategy
    EmptyCleanupStrategy = _EmptyCleanupStrategy
    IncrementalCleanupStrategy = _IncrementalCleanupStrategy
    RocksdbCompactFilterCleanupStrategy = _RocksdbCompactFilterCleanupStrategy
    EMPTY_STRATEGY = _EmptyCleanupStrategy()


class _Builder:
    """Collects the settings; every method returns the builder."""

    def __init__(self, ttl: Time | Duration | datetime.timedelta) -> None:
        self._ttl = ttl
        self._update_type = _UpdateType.OnCreateAndWrite
        self._visibility = _StateVisibility.NeverReturnExpired
        self._characteristic = _TtlTimeCharacteristic.ProcessingTime
        self._strategies: dict[_Strategies, _CleanupStrategy] = {}
        self._in_background = True

    def set_update_type(self, update_type: _UpdateType) -> _Builder:
        self._update_type = update_type
        return self

    def update_ttl_on_create_and_write(self) -> _Builder:
        return self.set_update_type(_UpdateType.OnCreateAndWrite)

    def update_ttl_on_read_and_write(self) -> _Builder:
        return self.set_update_type(_UpdateType.OnReadAndWrite)

    def set_state_visibility(self, state_visibility: _StateVisibility) -> _Builder:
        self._visibility = state_visibility
        return self

    def return_expired_if_not_cleaned_up(self) -> _Builder:
        return self.set_state_visibility(_StateVisibility.ReturnExpiredIfNotCleanedUp)

    def never_return_expired(self) -> _Builder:
        return self.set_state_visibility(_StateVisibility.NeverReturnExpired)

    def set_ttl_time_characteristic(self, ttl_time_characteristic: _TtlTimeCharacteristic) -> _Builder:
        self._characteristic = ttl_time_characteristic
        return self

    def use_processing_time(self) -> _Builder:
        return self.set_ttl_time_characteristic(_TtlTimeCharacteristic.ProcessingTime)

    def cleanup_full_snapshot(self) -> _Builder:
        """Leaves expired state out of full snapshots."""
        self._strategies[_Strategies.FULL_STATE_SCAN_SNAPSHOT] = _NestedStrategies.EMPTY_STRATEGY
        return self

    def cleanup_incrementally(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> _Builder:
        """Removes expired state a few entries at a time, the more the more state is accessed."""
        if cleanup_size <= 0:
            raise ValidationError(f"cleanup_size must be positive, not {cleanup_size}")
        self._strategies[_Strategies.INCREMENTAL_CLEANUP] = _IncrementalCleanupStrategy(
            cleanup_size, run_cleanup_for_every_record
        )
        return self

    def cleanup_in_rocksdb_compact_filter(
        self, query_time_after_num_entries: int, periodic_compaction_time: Duration | Time | None = None
    ) -> _Builder:
        """Accepted; there is no RocksDB here, so it means incremental cleanup."""
        self._strategies[_Strategies.ROCKSDB_COMPACTION_FILTER] = _RocksdbCompactFilterCleanupStrategy(
            query_time_after_num_entries, periodic_compaction_time
        )
        return self

    def disable_cleanup_in_background(self) -> _Builder:
        """Removes expired state only when it is read, or as a strategy named above says."""
        self._in_background = False
        return self

    def set_ttl(self, ttl: Time | Duration | datetime.timedelta) -> _Builder:
        self._ttl = ttl
        return self

    def build(self) -> StateTtlConfig:
        strategies = _NestedStrategies(dict(self._strategies), self._in_background)
        return StateTtlConfig(
            self._update_type, self._visibility, self._characteristic, self._ttl, strategies
        )


class StateTtlConfig:
    """How long a value lives after its last access. Made with `StateTtlConfig.new_builder(ttl)`."""

    UpdateType = _UpdateType
    StateVisibility = _StateVisibility
    TtlTimeCharacteristic = _TtlTimeCharacteristic
    CleanupStrategies = _NestedStrategies
    Builder = _Builder

    def __init__(
        self,
        update_type: _UpdateType,
        state_visibility: _StateVisibility,
        ttl_time_characteristic: _TtlTimeCharacteristic,
        ttl: Time | Duration | datetime.timedelta,
        cleanup_strategies: _CleanupStrategies,
    ) -> None:
        self.ttl_ms = to_millis(ttl)
        if self.ttl_ms <= 0:
            raise ValidationError(
                f"a time to live of {self.ttl_ms} ms", do="give StateTtlConfig a positive span of time"
            )
        self._update_type = update_type
        self._state_visibility = state_visibility
        self._ttl_time_characteristic = ttl_time_characteristic
        self._ttl = ttl
        self._cleanup_strategies = cleanup_strategies

    @staticmethod
    def new_builder(ttl: Time | Duration | datetime.timedelta) -> _Builder:
        """Begins a configuration: state lives for `ttl` after it was last touched.

        Example:
            ```python
            ttl = StateTtlConfig.new_builder(Time.hours(1)).update_ttl_on_read_and_write().build()
            descriptor.enable_time_to_live(ttl)
            ```
        """
        return _Builder(ttl)

    def get_update_type(self) -> _UpdateType:
        """What counts as touching: writing only, or reading too."""
        return self._update_type

    def get_state_visibility(self) -> _StateVisibility:
        """Whether a value that is over but still there may be read."""
        return self._state_visibility

    def get_ttl(self) -> Time | Duration | datetime.timedelta:
        """How long a value lives."""
        return self._ttl

    def get_ttl_time_characteristic(self) -> _TtlTimeCharacteristic:
        """The clock that counts; processing time."""
        return self._ttl_time_characteristic

    def is_enabled(self) -> bool:
        """Whether values end at all."""
        return self._update_type is not _UpdateType.Disabled

    def get_cleanup_strategies(self) -> _CleanupStrategies:
        """When values that are over are removed."""
        return self._cleanup_strategies

    def __repr__(self) -> str:
        return f"StateTtlConfig({self.ttl_ms} ms, {self._update_type.name}, {self._state_visibility.name})"

"""Watermark strategies: how a stream learns the time of its elements, and how far that time has come.

A strategy is a description. It says which generator makes watermarks, which assigner reads timestamps, after
how long a silent source counts as idle, and which sources wait for each other. The runtime asks it for a
generator per split or subtask (`create_generator`); see `watermark_generators.py` for those.

Each `with_...` gives a new strategy and keeps everything said before: an assigner survives `with_idleness`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.common.time import Duration, to_millis
from penstock.common.watermark_generators import (
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarksGenerator,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarksWithIdleness,
)

__all__ = [
    "AscendingTimestampsWatermarks",
    "AssignerWithPeriodicWatermarksWrapper",
    "BoundedOutOfOrdernessWatermarks",
    "NoWatermarksGenerator",
    "TimestampAssigner",
    "Watermark",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
    "WatermarksWithIdleness",
]

GeneratorSupplier = Callable[[], WatermarkGenerator]


class TimestampAssigner(ABC):
    """Reads the event time out of an element."""

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """The element's time in milliseconds since 1970 (UTC).

        Called once for each element, before the watermark generator sees it.

        Args:
            value: The element.
            record_timestamp: The time it had already, from the source or an earlier assigner; the smallest
                64-bit integer when it had none.
        """


class _FunctionAssigner(TimestampAssigner):
    def __init__(self, function: Callable[[Any, int], int]) -> None:
        self._function = function

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return self._function(value, record_timestamp)


@dataclass(frozen=True)
class WatermarkAlignment:
    """Sources of one group read on only while none is further ahead of the slowest than the drift."""

    group: str
    max_drift_ms: int
    update_interval_ms: int


@dataclass(frozen=True)
class _Supplier:
    """A generator class and its arguments: a supplier that pickles and compares."""

    kind: type[WatermarkGenerator]
    args: tuple[Any, ...] = ()

    def __call__(self) -> WatermarkGenerator:
        return self.kind(*self.args)


@dataclass(frozen=True)
class WatermarkStrategy:
    """Made by `for_bounded_out_of_orderness` and its siblings, refined by the `with_...` methods."""

    generator_supplier: GeneratorSupplier
    timestamp_assigner: TimestampAssigner | None = None
    idle_timeout_ms: int | None = None
    alignment: WatermarkAlignment | None = None

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """Timestamps never go back within a split: the watermark follows the latest one closely."""
        return WatermarkStrategy(_Supplier(AscendingTimestampsWatermarks))

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: Duration) -> WatermarkStrategy:
        """Elements come at most this much later than ones with a greater timestamp.

        Example:
            ```python
            strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
            ```
        """
        delay_ms = to_millis(max_out_of_orderness)
        if delay_ms < 0:
            raise ValidationError(f"out-of-orderness of {delay_ms} ms", do="pass zero or more")
        return WatermarkStrategy(_Supplier(BoundedOutOfOrdernessWatermarks, (delay_ms,)))

    @staticmethod
    def for_generator(generator_supplier: GeneratorSupplier) -> WatermarkStrategy:
        """A generator of the program's own: a `WatermarkGenerator` subclass, or a function that makes one."""
        if not callable(generator_supplier):
            raise ValidationError(
                f"{generator_supplier!r} does not make watermark generators",
                do="pass the generator's class, or a function without arguments that returns a new one",
            )
        return WatermarkStrategy(generator_supplier)

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """No event time: only the end of the input is announced."""
        return WatermarkStrategy(_Supplier(NoWatermarksGenerator))

    def with_timestamp_assigner(
        self, timestamp_assigner: TimestampAssigner | Callable[[Any, int], int]
    ) -> WatermarkStrategy:
        """Take timestamps from the elements, by an assigner or a function `(value, timestamp) -> ms`."""
        if hasattr(timestamp_assigner, "extract_timestamp"):
            return replace(self, timestamp_assigner=timestamp_assigner)  # type: ignore[arg-type]
        if callable(timestamp_assigner):
            return replace(self, timestamp_assigner=_FunctionAssigner(timestamp_assigner))
        raise ValidationError(
            f"{timestamp_assigner!r} is not a timestamp assigner",
            do="subclass TimestampAssigner, or pass a function of value and record timestamp",
        )

    def with_idleness(self, idle_timeout: Duration) -> WatermarkStrategy:
        """A split without elements for this long no longer holds the watermark back."""
        timeout_ms = to_millis(idle_timeout)
        if timeout_ms <= 0:
            raise ValidationError(f"idle timeout of {timeout_ms} ms", do="pass more than zero")
        return replace(self, idle_timeout_ms=timeout_ms)

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: Duration,
        update_interval: Duration | None = None,
    ) -> WatermarkStrategy:
        """Let the sources of one group wait for the slowest among them.

        Args:
            watermark_group: Sources with the same name wait for each other.
            max_allowed_watermark_drift: How far one may run ahead of the slowest.
            update_interval: How often they compare; one second unless told.
        """
        interval = Duration.of_seconds(1) if update_interval is None else update_interval
        drift_ms = to_millis(max_allowed_watermark_drift)
        return replace(self, alignment=WatermarkAlignment(watermark_group, drift_ms, to_millis(interval)))

    def create_generator(self) -> WatermarkGenerator:
        """A new generator, for one split or subtask."""
        return self.generator_supplier()


class AssignerWithPeriodicWatermarksWrapper:
    """Flink's bridge to assigners written in Java: there is no Java program here to take one from."""

    def __init__(self, *args: Any) -> None:
        raise NotSupportedError(
            "AssignerWithPeriodicWatermarksWrapper",
            "it wraps an object of a Flink JVM",
            do="use WatermarkStrategy with a TimestampAssigner or for_generator",
        )

"""Restart strategies: whether, and when, a failed job runs again.

Pure decisions: the coordinator says when a failure happened and gets back the delay in milliseconds, or
None to give up. Nothing here looks at a clock. Without a configured strategy a job with checkpoints (a directory, or
`enable_checkpointing`) restarts for ever with growing delays (exponential-delay), and one without checkpoints fails
at once, as in Flink 2.x.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import deque

from penstock.common.configuration import Configuration
from penstock.common.errors import ValidationError
from penstock.common.options import ExecutionOptions, option

__all__ = [
    "ExponentialDelayRestart",
    "FailureRateRestart",
    "FixedDelayRestart",
    "NoRestart",
    "RestartStrategy",
]


class RestartStrategy(ABC):
    """Asked once for each failure of a job."""

    @abstractmethod
    def on_failure(self, now_ms: int) -> int | None:
        """How long to wait before the restart, in milliseconds; None means: give up."""

    @staticmethod
    def from_configuration(
        conf: Configuration, checkpointing_enabled: bool, seed: int = 0
    ) -> RestartStrategy:
        """The strategy that a configuration asks for; `seed` decides the jitter of exponential-delay."""
        name = conf.get(ExecutionOptions.RESTART_STRATEGY)
        if name is None:
            name = "exponential-delay" if checkpointing_enabled else "none"
        word = name.strip().lower().replace("delayrestartstrategyfactory", "-delay").replace("_", "-")
        if word in ("none", "off", "disable"):
            return NoRestart()
        if word in ("fixed-delay", "fixeddelay"):
            return FixedDelayRestart(_read(conf, "fixed-delay.attempts"), _millis(conf, "fixed-delay.delay"))
        if word in ("failure-rate", "failurerate"):
            return FailureRateRestart(
                _read(conf, "failure-rate.max-failures-per-interval"),
                _millis(conf, "failure-rate.failure-rate-interval"),
                _millis(conf, "failure-rate.delay"),
            )
        if word in ("exponential-delay", "exponentialdelay"):
            return _exponential(conf, seed)
        raise ValidationError(
            f"unknown restart strategy '{name}'",
            where="configuration key 'restart-strategy.type'",
            do="use none, fixed-delay, failure-rate or exponential-delay",
        )


class NoRestart(RestartStrategy):
    """The first failure is the last."""

    def on_failure(self, now_ms: int) -> int | None:
        return None


class FixedDelayRestart(RestartStrategy):
    """A fixed number of attempts with the same pause before each."""

    def __init__(self, attempts: int, delay_ms: int) -> None:
        self.attempts, self.delay_ms = attempts, delay_ms
        self._failures = 0

    def on_failure(self, now_ms: int) -> int | None:
        self._failures += 1
        return self.delay_ms if self._failures <= self.attempts else None


class FailureRateRestart(RestartStrategy):
    """Gives up when failures come too fast: more than the maximum within the interval."""

    def __init__(self, max_failures_per_interval: int, interval_ms: int, delay_ms: int) -> None:
        self.max_failures, self.interval_ms, self.delay_ms = max_failures_per_interval, interval_ms, delay_ms
        self._failures: deque[int] = deque(maxlen=max_failures_per_interval + 1)

    def on_failure(self, now_ms: int) -> int | None:
        self._failures.append(now_ms)
        full = len(self._failures) > self.max_failures
        return None if full and now_ms - self._failures[0] <= self.interval_ms else self.delay_ms


class ExponentialDelayRestart(RestartStrategy):
    """Pauses that grow with every failure, and are small again after a long time without one.

        failure   1st   2nd    3rd    4th  ...   after `reset_threshold_ms` of calm: 1st again
        delay     1 s   1.5 s  2.25 s 3.4 s      each ± jitter, never above the maximum

    Args:
        initial_ms: The first pause.
        max_ms: The longest pause.
        multiplier: By how much a pause is longer than the one before.
        reset_threshold_ms: How long a job must run after a restart for its failures to be forgotten.
        jitter_factor: A pause is changed by up to this part of it, at random, so that jobs do not restart in
            step.
        attempts: Restarts in a row before giving up; negative means no limit.
        seed: Makes the jitter repeatable.
    """

    def __init__(
        self,
        initial_ms: int,
        max_ms: int,
        multiplier: float,
        reset_threshold_ms: int,
        jitter_factor: float = 0.0,
        attempts: int = -1,
        seed: int = 0,
    ) -> None:
        if initial_ms > max_ms or multiplier <= 1 or not 0 <= jitter_factor <= 1:
            raise ValidationError(
                f"exponential-delay from {initial_ms} to {max_ms} ms by {multiplier}, jitter {jitter_factor}",
                do="keep initial-backoff <= max-backoff, backoff-multiplier > 1, jitter-factor from 0 to 1",
            )
        self.initial_ms, self.max_ms, self.multiplier = initial_ms, max_ms, multiplier
        self.reset_threshold_ms, self.jitter_factor, self.attempts = (
            reset_threshold_ms,
            jitter_factor,
            attempts,
        )
        self._random = random.Random(seed)
        self._current = float(initial_ms)
        self._in_a_row = 0
        self._restarted_at_ms: int | None = None

    def on_failure(self, now_ms: int) -> int | None:
        if self._restarted_at_ms is not None and now_ms - self._restarted_at_ms >= self.reset_threshold_ms:
            self._current, self._in_a_row = float(self.initial_ms), 0
        self._in_a_row += 1
        if 0 <= self.attempts < self._in_a_row:
            return None
        delay_ms = self._with_jitter(self._current)
        self._current = min(self._current * self.multiplier, float(self.max_ms))
        self._restarted_at_ms = now_ms + delay_ms
        return delay_ms

    def _with_jitter(self, delay: float) -> int:
        if self.jitter_factor:
            offset = delay * self.jitter_factor
            delay += self._random.uniform(-offset, offset)
        return round(min(max(delay, self.initial_ms), self.max_ms))


def _exponential(conf: Configuration, seed: int) -> ExponentialDelayRestart:
    prefix = "exponential-delay."
    return ExponentialDelayRestart(
        _millis(conf, prefix + "initial-backoff"),
        _millis(conf, prefix + "max-backoff"),
        _read(conf, prefix + "backoff-multiplier"),
        _millis(conf, prefix + "reset-backoff-threshold"),
        _read(conf, prefix + "jitter-factor"),
        _read(conf, prefix + "attempts-before-reset-backoff"),
        seed,
    )


def _read(conf: Configuration, name: str) -> int:
    return conf.get(option("restart-strategy." + name))  # type: ignore[no-any-return]


def _millis(conf: Configuration, name: str) -> int:
    return conf.get(option("restart-strategy." + name)).to_millis()  # type: ignore[no-any-return]

"""Flink 1.x's way to set a restart strategy from the program; it becomes entries of the configuration.

What the strategies do is in `restart.py`.
"""

from __future__ import annotations

import datetime

from penstock.common.configuration import Configuration
from penstock.common.time import Duration, Time, to_millis

__all__ = ["RestartStrategies", "RestartStrategyConfiguration"]

Span = int | datetime.timedelta | Duration | Time


class RestartStrategyConfiguration:
    """One strategy with its settings."""

    name = ""

    def entries(self) -> dict[str, str]:
        """The strategy as configuration entries."""
        return {"restart-strategy.type": self.name} if self.name else {}

    def apply_to(self, configuration: Configuration) -> None:
        """Make it the strategy of this configuration, in place of whatever was set before."""
        for key in configuration:
            if key == "restart-strategy" or key.startswith("restart-strategy."):
                configuration.remove_config(key)
        configuration.add_all(Configuration.from_dict(self.entries()))

    def get_description(self) -> str:
        """The strategy and its numbers, in words."""
        raise NotImplementedError(f"{type(self).__name__} has no description")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.entries() == other.entries()  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.entries().items())))

    def __repr__(self) -> str:
        return self.get_description()


class RestartStrategies:
    """Where restart strategies are made."""

    class NoRestartStrategyConfiguration(RestartStrategyConfiguration):
        """The first failure ends the job."""

        name = "none"

        def get_description(self) -> str:
            return "Restart deactivated."

    class FallbackRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Whatever the cluster's configuration says."""

        def get_description(self) -> str:
            return "Cluster level default restart strategy."

    class FixedDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """So many restarts, with the same pause before each."""

        name = "fixed-delay"

        def __init__(self, restart_attempts: int = 1, delay_between_attempts_interval: Span = 1_000) -> None:
            self._attempts = restart_attempts
            self._delay_ms = to_millis(delay_between_attempts_interval)

        def get_restart_attempts(self) -> int:
            """How often the job is started again at most."""
            return self._attempts

        def get_delay_between_attempts_interval(self) -> datetime.timedelta:
            """How long it waits before each start."""
            return datetime.timedelta(milliseconds=self._delay_ms)

        def entries(self) -> dict[str, str]:
            prefix = "restart-strategy.fixed-delay."
            return {
                **super().entries(),
                prefix + "attempts": str(self._attempts),
                prefix + "delay": f"{self._delay_ms} ms",
            }

        def get_description(self) -> str:
            return f"Restart with fixed delay ({self._delay_ms} ms). #{self._attempts} restart attempts."

    class FailureRateRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Restarts until failures come too fast."""

        name = "failure-rate"

        def __init__(
            self,
            max_failure_rate: int = 1,
            failure_interval: Span = 60_000,
            delay_between_attempts_interval: Span = 1_000,
        ) -> None:
            self._max_failures = max_failure_rate
            self._interval_ms = to_millis(failure_interval)
            self._delay_ms = to_millis(delay_between_attempts_interval)

        def get_max_failure_rate(self) -> int:
            """How many failures the interval may have before the job fails."""
            return self._max_failures

        def get_failure_interval(self) -> datetime.timedelta:
            """The time over which failures are counted."""
            return datetime.timedelta(milliseconds=self._interval_ms)

        def get_delay_between_attempts_interval(self) -> datetime.timedelta:
            """How long it waits before each start."""
            return datetime.timedelta(milliseconds=self._delay_ms)

        def entries(self) -> dict[str, str]:
            prefix = "restart-strategy.failure-rate."
            return {
                **super().entries(),
                prefix + "max-failures-per-interval": str(self._max_failures),
                prefix + "failure-rate-interval": f"{self._interval_ms} ms",
                prefix + "delay": f"{self._delay_ms} ms",
            }

        def get_description(self) -> str:
            rate = f"{self._max_failures} failures within {self._interval_ms} ms"
            return f"Restart after {self._delay_ms} ms unless there were more than {rate}."

    @staticmethod
    def no_restart() -> RestartStrategies.NoRestartStrategyConfiguration:
        """Fail with the first failure."""
        return RestartStrategies.NoRestartStrategyConfiguration()

    @staticmethod
    def fall_back_restart() -> RestartStrategies.FallbackRestartStrategyConfiguration:
        """Do as the cluster's configuration says."""
        return RestartStrategies.FallbackRestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: Span
    ) -> RestartStrategies.FixedDelayRestartStrategyConfiguration:
        """Restart so many times, each after this pause (milliseconds)."""
        return RestartStrategies.FixedDelayRestartStrategyConfiguration(
            restart_attempts, delay_between_attempts
        )

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: Span, delay_interval: Span
    ) -> RestartStrategies.FailureRateRestartStrategyConfiguration:
        """Restart until there are more than `failure_rate` failures within the interval (milliseconds)."""
        return RestartStrategies.FailureRateRestartStrategyConfiguration(
            failure_rate, failure_interval, delay_interval
        )

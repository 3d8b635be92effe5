from __future__ import annotations

import datetime

import pytest

from penstock.common import Configuration, RestartStrategies
from penstock.common.errors import ValidationError
from penstock.common.restart import ExponentialDelayRestart, NoRestart, RestartStrategy


def configured(entries: dict[str, str], checkpointing: bool = False) -> RestartStrategy:
    conf = Configuration.from_dict({f"restart-strategy.{k}": v for k, v in entries.items()})
    return RestartStrategy.from_configuration(conf, checkpointing)


def test_without_checkpoints_the_first_failure_is_the_last():
    assert isinstance(configured({}), NoRestart) and configured({}).on_failure(0) is None


def test_with_checkpoints_restarts_go_on_for_ever_by_default():
    restart = configured({}, checkpointing=True)
    assert isinstance(restart, ExponentialDelayRestart)
    delays = [restart.on_failure(now) for now in range(100)]
    assert None not in delays and max(delays) <= 60_000


@pytest.mark.parametrize("name", ["none", "off", "disable", "NONE"])
def test_restarts_can_be_switched_off(name):
    assert configured({"type": name}, checkpointing=True).on_failure(0) is None


def test_fixed_delay_gives_up_after_its_attempts():
    restart = configured({"type": "fixed-delay", "fixed-delay.attempts": "2", "fixed-delay.delay": "3 s"})
    assert [restart.on_failure(i) for i in range(4)] == [3_000, 3_000, None, None]


def test_failure_rate_gives_up_only_when_failures_come_too_fast():
    entries = {
        "type": "failure-rate",
        "failure-rate.max-failures-per-interval": "2",
        "failure-rate.failure-rate-interval": "1 min",
        "failure-rate.delay": "1 s",
    }
    slow, fast = configured(entries), configured(entries)
    assert [slow.on_failure(i * 40_000) for i in range(6)] == [1_000] * 6
    assert [fast.on_failure(i * 10_000) for i in range(3)] == [1_000, 1_000, None]


def exponential(**changes: object) -> ExponentialDelayRestart:
    settings: dict = {"initial_ms": 1_000, "max_ms": 4_000, "multiplier": 2.0, "reset_threshold_ms": 60_000}
    return ExponentialDelayRestart(**{**settings, **changes})


def test_exponential_delay_grows_to_its_maximum():
    restart = exponential()
    assert [restart.on_failure(0) for _ in range(5)] == [1_000, 2_000, 4_000, 4_000, 4_000]


def test_exponential_delay_starts_anew_after_a_calm_time():
    restart = exponential()
    assert [restart.on_failure(0), restart.on_failure(1_000)] == [1_000, 2_000]
    assert restart.on_failure(3_000 + 59_999) == 4_000  # the restart was at 3,000
    assert restart.on_failure(66_999 + 60_000) == 1_000


def test_exponential_delay_may_have_a_limit_that_calm_resets():
    restart = exponential(attempts=2)
    assert [restart.on_failure(0) for _ in range(3)] == [1_000, 2_000, None]
    calm = exponential(attempts=1)
    assert [calm.on_failure(0), calm.on_failure(61_000), calm.on_failure(61_001)] == [1_000, 1_000, None]


def test_jitter_is_repeatable_and_within_bounds():
    one, two, other = (exponential(jitter_factor=0.1, seed=seed) for seed in (1, 1, 2))
    delays = [one.on_failure(0) for _ in range(3)]
    assert delays == [two.on_failure(0) for _ in range(3)] != [other.on_failure(0) for _ in range(3)]
    assert 1_000 <= delays[0] <= 1_100 and 1_800 <= delays[1] <= 2_200


@pytest.mark.parametrize("wrong", [{"initial_ms": 5_000}, {"multiplier": 1.0}, {"jitter_factor": 2.0}])
def test_exponential_settings_that_contradict_are_refused(wrong):
    with pytest.raises(ValidationError, match="exponential-delay"):
        exponential(**wrong)


def test_unknown_strategies_are_refused():
    with pytest.raises(ValidationError, match="unknown restart strategy 'sometimes'"):
        configured({"type": "sometimes"})


def test_strategies_set_by_the_program_become_configuration():
    conf = Configuration.from_dict(
        {"restart-strategy.type": "none", "restart-strategy.fixed-delay.delay": "9 s"}
    )
    fixed = RestartStrategies.fixed_delay_restart(3, 2_000)
    fixed.apply_to(conf)
    restart = RestartStrategy.from_configuration(conf, False)
    assert [restart.on_failure(0) for _ in range(4)] == [2_000, 2_000, 2_000, None]
    assert fixed.get_restart_attempts() == 3
    assert fixed.get_delay_between_attempts_interval() == datetime.timedelta(seconds=2)
    rate = RestartStrategies.failure_rate_restart(2, 60_000, datetime.timedelta(seconds=1))
    rate.apply_to(conf)
    assert RestartStrategy.from_configuration(conf, False).max_failures == rate.get_max_failure_rate() == 2
    assert rate.get_failure_interval() == datetime.timedelta(minutes=1)
    RestartStrategies.fall_back_restart().apply_to(conf)
    assert isinstance(RestartStrategy.from_configuration(conf, False), NoRestart)


def test_strategy_descriptions_compare_and_read_well():
    assert RestartStrategies.no_restart() == RestartStrategies.no_restart()
    assert RestartStrategies.fixed_delay_restart(1, 2) != RestartStrategies.fixed_delay_restart(1, 3)
    assert "3 failures within 10 ms" in RestartStrategies.failure_rate_restart(3, 10, 1).get_description()

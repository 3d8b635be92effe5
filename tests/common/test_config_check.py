"""Mistyped keys are told once, unreadable values are refused, and what belongs to others is left alone."""

from __future__ import annotations

import json
import logging
import pathlib
import re

import pytest

from penstock.common import config_check
from penstock.common.config_check import check_configuration, keys_of_programs, mistyped_keys
from penstock.common.configuration import Configuration
from penstock.common.errors import ValidationError


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_check, "_told", set())


def told(key: str, value: str = "1") -> list[str]:
    return mistyped_keys(Configuration.from_dict({key: value}))


@pytest.mark.parametrize(
    "key, meant",
    [
        ("execution.checkpoint.interval", "execution.checkpointing.interval"),
        ("exection.checkpointing.interval", "execution.checkpointing.interval"),
        ("parallelism.defalt", "parallelism.default"),
        ("table.exec.stat.ttl", "table.exec.state.ttl"),
        ("state.backend.typ", "state.backend.type"),
        ("rest.prot", "rest.port"),
    ],
)
def test_a_mistyped_key_is_told_with_the_one_that_was_meant(key: str, meant: str) -> None:
    assert told(key) == [f"configuration key '{key}' is not known and has no effect: did you mean '{meant}'?"]


def test_a_key_like_nothing_known_gets_no_proposal() -> None:
    assert told("state.nonsense") == ["configuration key 'state.nonsense' is not known and has no effect"]


@pytest.mark.parametrize(
    "key",
    [
        "spark.sql.shuffle.partition",
        "python.executabl",
        "metrics.reporter.prom.port",
        "metrics.reporters",
        "security.kerberos.login.principal",
        "taskmanager.numberOfTaskSlots",
        "jobmanager.memory.process.size",
        "state.backend.rocksdb.localdir",
        "state.backend",
        "execution.savepoint.path",
        "pipeline.time-characteristic",
        "table.exec.emit.early-fire.enabled",
        "pipeline.global-job-parameters.table.exec.x",
        "input.path",
        "my.interval",
    ],
)
def test_keys_of_others_older_spellings_and_a_programs_own_are_left_alone(key: str) -> None:
    assert told(key) == []


def test_no_key_of_flinks_old_or_new_is_called_unknown() -> None:
    folder = pathlib.Path(__file__).parents[1] / "parity"
    options = json.loads((folder / "config_options.json").read_text())["options"]
    former = re.findall(r'"area":"config".*?"old":"([a-z][a-z.-]*)"', (folder / "legacy_1x.json").read_text())
    keys = [key for entry in options for key in (entry["key"], *entry.get("old_keys", ()))]
    assert len(keys) > 300 and len(former) > 5
    assert mistyped_keys(Configuration.from_dict(dict.fromkeys([*keys, *former], "1"))) == []


def test_a_key_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    configuration = Configuration.from_dict({"parallelism.defalt": "2", "state.nonsense": "x"})
    with caplog.at_level(logging.WARNING):
        check_configuration(configuration)
        check_configuration(configuration)
    assert sorted(caplog.messages) == sorted(mistyped_keys(configuration)) and len(caplog.messages) == 2


@pytest.mark.parametrize(
    "key, value, message",
    [
        ("parallelism.default", "two", "cannot read 'two' as Integer: expected a whole number"),
        ("state.checkpoints.num-retained", "", "cannot read '' as Integer: expected a whole number"),
        ("table.exec.mini-batch.enabled", "yes", "cannot read 'yes' as Boolean: expected true or false"),
        (
            "execution.runtime-mode",
            "bach",
            "cannot read 'bach' as Enum: expected one of STREAMING, BATCH, AUTOMATIC",
        ),
        (
            "execution.checkpointing.interval",
            "10 parsec",
            "cannot read '10 parsec' as Duration: unknown time unit 'parsec'; known are ns, us, ms, s, min, h, d",
        ),
        (
            "restart-strategy.exponential-delay.jitter-factor",
            "x",
            "cannot read 'x' as Double: expected a number",
        ),
    ],
)
def test_a_value_that_cannot_be_read_is_refused_under_the_key_that_was_written(
    key: str, value: str, message: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        check_configuration(Configuration.from_dict({key: value}))
    assert str(refused.value) == f"{message}\n  where: configuration key '{key}'"


def test_all_values_that_cannot_be_read_are_told_and_mistyped_keys_beside_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wrong = {"parallelism.default": "two", "parallelism.defalt": "2", "table.exec.mini-batch.enabled": "yes"}
    with pytest.raises(ValidationError, match=r"(?s)cannot read 'two' as.*cannot read 'yes' as"):
        check_configuration(Configuration.from_dict(wrong))
    assert len(caplog.messages) == 1


def test_keys_that_no_option_has_can_only_be_a_programs() -> None:
    keys = ("input.path", "rest.port", "rest.prt", "spark.x", "metrics.reporter.prom.port", "python.x")
    assert keys_of_programs(Configuration.from_dict(dict.fromkeys(keys, "1"))) == ["input.path"]


def test_values_of_options_without_effect_are_not_looked_at(caplog: pytest.LogCaptureFixture) -> None:
    check_configuration(Configuration.from_dict({"client.heartbeat.interval": "?", "my.own": "?"}))
    assert caplog.messages == []

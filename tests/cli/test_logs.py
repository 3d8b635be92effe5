"""What a program that the command line runs logs, where it has no logging of its own and where it has."""

from __future__ import annotations

import logging
import pathlib
import subprocess
import sys

import pytest

from penstock.cli.logs import levels_of
from penstock.common.configuration import Configuration
from penstock.common.errors import ValidationError

PROGRAM = '''
"""A short count; no early start of a JVM for who says pyspark: epochs run in this process."""
import logging
{own_logging}
from penstock.runtime import submit
from penstock.runtime.in_process import InProcessEpochs
start = submit.submit_job
submit.submit_job = lambda sinks, configuration, name: start(sinks, configuration, name, InProcessEpochs)
from penstock.common import Configuration
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict({settings}))
env.from_collection([1, 2, 3]).map(lambda v: v + 1)
env.execute("short")
for name in ("mine", "other", "py4j.clientserver"):
    logging.getLogger(name).debug("%s in detail", name)
    logging.getLogger(name).info("%s", name)
logging.getLogger("mine").warning("beware")
'''
EPOCHS = "-Dpenstock.log.epochs=true"


def logged(
    folder: pathlib.Path, *options: str, own_logging: str = "", settings: dict[str, str] | None = None
) -> str:
    program = folder / "job.py"
    program.write_text(PROGRAM.format(own_logging=own_logging, settings=settings or {}))
    call = [sys.executable, "-m", "penstock.cli.main", "run", *options, str(program)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_a_line_for_each_epoch_is_written_if_it_is_asked_for(tmp_path: pathlib.Path) -> None:
    lines = logged(tmp_path, EPOCHS).splitlines()
    assert " INFO penstock.epochs [job " in lines[0] and " epoch=1 " in lines[0], lines
    assert lines[-1].endswith(" WARNING mine beware")
    assert all("penstock.epochs" in line for line in lines[:-1])


def test_the_programs_own_settings_ask_for_it_as_well(tmp_path: pathlib.Path) -> None:
    assert " epoch=1 " in logged(tmp_path, settings={"penstock.log.epochs": "true"})


def test_only_warnings_are_written_by_default(tmp_path: pathlib.Path) -> None:
    (line,) = logged(tmp_path).splitlines()
    assert line.endswith(" WARNING mine beware")


def test_levels_are_set_by_configuration_and_sparks_talk_stays_out(tmp_path: pathlib.Path) -> None:
    text = logged(tmp_path, "-Dpenstock.log.level=INFO", "-Dpenstock.log.level.mine=DEBUG")
    assert "DEBUG mine mine in detail" in text and "INFO other other" in text
    assert "other in detail" not in text and "py4j" not in text


@pytest.mark.parametrize(
    "level, speaking", [("ERROR", set()), ("INFO", {"penstock.epochs", "mine", "other"})]
)
def test_a_program_with_its_own_logging_decides_by_itself(
    tmp_path: pathlib.Path, level: str, speaking: set[str]
) -> None:
    own = f"logging.basicConfig(level=logging.{level}, format='own %(name)s %(message)s')"
    lines = logged(tmp_path, EPOCHS, "-Dpenstock.log.level=DEBUG", own_logging=own).splitlines()
    assert all(line.startswith("own ") and "detail" not in line for line in lines)
    assert {line.split()[1] for line in lines} >= speaking and bool(lines) == bool(speaking)


def test_levels_have_log4js_and_pythons_names_and_flinks_key() -> None:
    given = {
        "env.log.level": "warn",
        "penstock.log.level.a.b": "WARNING",
        "penstock.log.level.c": "TRACE",
        "penstock.log.level.d": "OFF",
    }
    found = levels_of(Configuration.from_dict(given))
    assert found == {"": logging.WARNING, "a.b": logging.WARNING, "c": logging.DEBUG, "d": 51}


def test_a_level_that_is_none_is_refused_with_its_key() -> None:
    with pytest.raises(ValidationError, match=r"penstock\.log\.level\.mine"):
        levels_of(Configuration.from_dict({"penstock.log.level.mine": "loud"}))

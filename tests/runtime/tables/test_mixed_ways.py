"""Programs of streams and tables have one answer, however their input is cut and whatever dies meanwhile."""

from __future__ import annotations

import pathlib
from collections import Counter
from typing import Any

import pytest

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.runtime import submit
from penstock.runtime.in_process import InProcessEpochs, forget
from penstock.sql.streaming import jobs
from penstock.table import StreamTableEnvironment
from tests.conformance.ways import Circumstances, Way
from tests.runtime.tables.mixed_programs import ANSWERS, Program, World


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of both APIs run their tasks here."""
    real = submit.submit_job

    def here(sinks: Any, configuration: Any, name: str, _: Any = None, about: Any = None) -> Any:
        return real(sinks, configuration, name, InProcessEpochs)

    monkeypatch.setattr(submit, "submit_job", here)
    monkeypatch.setattr(jobs, "submit_job", here)


def run(
    program: Program, folder: pathlib.Path, parallelism: int, records: int, **settings: str
) -> Counter[str]:
    """One start of the program, and what its folder holds then."""
    configuration = Configuration()
    configuration.set_string("execution.epoch.max-records", str(records))
    for key, value in settings.items():
        configuration.set_string(key.replace("_", "."), value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    world = World(env, StreamTableEnvironment.create(env), folder / "out")
    try:
        program(world)
    finally:
        forget()
    return world.answer()


@pytest.mark.parametrize("program", ANSWERS, ids=lambda p: p.__name__)
@pytest.mark.parametrize(("parallelism", "records"), [(1, 100), (1, 1), (3, 2), (3, 1)])
def test_the_answer_does_not_depend_on_epochs_and_subtasks(
    program: Program, parallelism: int, records: int, tmp_path: pathlib.Path
) -> None:
    assert run(program, tmp_path, parallelism, records) == Counter(ANSWERS[program])


@pytest.mark.parametrize("program", ANSWERS, ids=lambda p: p.__name__)
@pytest.mark.parametrize(("parallelism", "after"), [(1, 1), (1, 3), (3, 2)])
def test_a_program_whose_driver_died_goes_on_where_it_was(
    program: Program, parallelism: int, after: int, tmp_path: pathlib.Path
) -> None:
    way = Way(parallelism=parallelism, kill=True, kill_after=after)
    circumstances = Circumstances(way, program.__name__, tmp_path / "checkpoints")
    circumstances.before_statement()
    directory = str(tmp_path / "checkpoints")
    with circumstances.prevail():
        with pytest.raises(Exception) as died:
            run(program, tmp_path, parallelism, 1, execution_checkpointing_dir=directory)
        assert circumstances.was_killed(died.value), died.value
        survived = circumstances.epochs
        answer = run(program, tmp_path, parallelism, 1, execution_checkpointing_dir=directory)
    assert survived == after - 1
    assert answer == Counter(ANSWERS[program])

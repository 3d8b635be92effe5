"""Which id a run of a program gets, and whether it goes on where an earlier one left off."""

from __future__ import annotations

import logging
import os
import pathlib

import pytest

from penstock.checkpoint.metadata import CheckpointMetadata
from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.ids import EpochId
from penstock.common.job_status import JobStatus
from penstock.graph.stream_graph import GraphSettings, StreamGraph
from penstock.runtime.identity import JobIdentity, choose_identity, mark_ended, program_id

GRAPH = StreamGraph(GraphSettings(1), [], [])


def start(directory: pathlib.Path, name: str = "counts", fixed_id: str | None = None) -> JobIdentity:
    identity = choose_identity(str(directory), fixed_id, name, GRAPH)
    CheckpointStorage(str(directory), identity.job_id).write_file("definition", b"")
    return identity


def end(directory: pathlib.Path, identity: JobIdentity, status: JobStatus, retain: bool = False) -> None:
    mark_ended(CheckpointStorage(str(directory), identity.job_id), identity, status, retain)
    identity.release()


def test_a_run_after_one_that_died_goes_on_with_it(tmp_path: pathlib.Path) -> None:
    first = start(tmp_path)
    first.release()  # as the system does for a process that is gone
    second = start(tmp_path)
    assert second.job_id == first.job_id and second.resumes and not first.resumes


@pytest.mark.parametrize("status", [JobStatus.FINISHED, JobStatus.CANCELED, JobStatus.FAILED])
@pytest.mark.parametrize("retain", [True, False])
def test_a_run_after_one_that_ended_is_another_job(
    tmp_path: pathlib.Path, status: JobStatus, retain: bool
) -> None:
    seen = []
    for _ in range(3):
        run = start(tmp_path)
        assert not run.resumes
        seen.append(run.job_id)
        end(tmp_path, run, status, retain)
    assert len(set(seen)) == 3
    kept = retain and status is not JobStatus.FINISHED
    assert {name for name in os.listdir(tmp_path) if not name.startswith(".")} == (
        set(seen) if kept else set()
    )
    assert kept or not os.listdir(tmp_path)


def test_a_second_run_beside_the_first_is_another_job_and_does_not_take_its_place(
    tmp_path: pathlib.Path,
) -> None:
    first, second = start(tmp_path), start(tmp_path)
    assert first.job_id != second.job_id and not second.resumes
    end(tmp_path, second, JobStatus.FINISHED)
    first.release()
    assert start(tmp_path).job_id == first.job_id


def test_the_same_program_with_another_directory_is_another_job(tmp_path: pathlib.Path) -> None:
    assert start(tmp_path / "a").job_id != start(tmp_path / "b").job_id


def test_a_run_that_is_told_its_id_goes_on_with_it_unless_it_has_ended(tmp_path: pathlib.Path) -> None:
    first = start(tmp_path, fixed_id="ab" * 16)
    first.release()
    second = start(tmp_path, fixed_id="ab" * 16)
    assert second.job_id == first.job_id == "ab" * 16 and second.resumes
    end(tmp_path, second, JobStatus.FAILED, retain=True)
    assert start(tmp_path, fixed_id="ab" * 16).job_id != "ab" * 16


def test_a_job_from_before_there_were_ids_of_runs_is_found(tmp_path: pathlib.Path) -> None:
    former = program_id("counts", GRAPH)
    CheckpointStorage(str(tmp_path), former).write_file("definition", b"")
    assert start(tmp_path).job_id == former


def test_a_run_after_one_that_failed_is_told_from_where_to_go_on(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = start(tmp_path)
    storage = CheckpointStorage(str(tmp_path), first.job_id)
    storage.write_metadata(CheckpointMetadata(EpochId(3), first.job_id, "counts", 0, {}, {}))
    end(tmp_path, first, JobStatus.FAILED, retain=True)
    with caplog.at_level(logging.WARNING):
        assert start(tmp_path).job_id != first.job_id
    assert "begins anew" in caplog.text and f"-s {storage.checkpoint_path(EpochId(3))} " in caplog.text

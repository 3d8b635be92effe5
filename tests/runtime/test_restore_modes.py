"""CLAIM and NO_CLAIM: who owns the checkpoint or savepoint that a job started from."""

from __future__ import annotations

import logging
import pathlib
import shutil
from itertools import islice
from typing import Any

import pytest

from penstock.checkpoint.claims import CLAIMED_FILE
from penstock.checkpoint.storage import CheckpointStorage
from penstock.common import JobStatus
from penstock.common.errors import JobCancelledError, NotSupportedError
from tests.runtime.test_savepoints import endless_counts

RETAINED = {"execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION"}


def run_and_cancel(base: pathlib.Path, rows: int, settings: dict[str, str] | None = None) -> Any:
    """Runs a job with checkpoints below a folder for some rows; returns it, cancelled, and the rows."""
    directory = {"execution.checkpointing.dir": str(base)}
    job, sink = endless_counts(2, {**RETAINED, **directory, **(settings or {})})
    seen = list(islice(sink.iterator(job), rows))
    job.cancel()
    return job, seen


def newest(base: pathlib.Path, job: Any) -> pathlib.Path:
    storage = CheckpointStorage(str(base), job.job_id)
    metadata = storage.newest_complete()
    assert metadata is not None
    return pathlib.Path(storage.checkpoint_path(metadata.epoch))


def named_files(base: pathlib.Path, job: Any) -> set[str]:
    metadata = CheckpointStorage(str(base), job.job_id).newest_complete()
    assert metadata is not None
    return {ref.path for ref in metadata.files}


def test_a_job_that_does_not_claim_needs_nothing_of_the_checkpoint_after_its_first(
    tmp_path: pathlib.Path,
) -> None:
    first, _ = run_and_cancel(tmp_path / "a", 120)
    path = newest(tmp_path / "a", first)
    second, _ = run_and_cancel(tmp_path / "b", 60, {"execution.state-recovery.path": str(path)})
    assert all(file.startswith(str(tmp_path / "b")) for file in named_files(tmp_path / "b", second))
    shutil.rmtree(tmp_path / "a")
    again = {"execution.state-recovery.path": str(newest(tmp_path / "b", second))}
    third, seen = run_and_cancel(tmp_path / "c", 60, again)
    assert third.status() is JobStatus.CANCELED and min(count for _, _, count in seen) > 20


def test_where_a_job_goes_on_from_is_told(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "penstock.runtime.restoring"):
        first, _ = run_and_cancel(tmp_path / "a", 60)
        assert not [text for text in caplog.messages if "goes on" in text]
        path = newest(tmp_path / "a", first)
        run_and_cancel(tmp_path / "b", 20, {"execution.state-recovery.path": str(path)})
    epoch = int(path.name.removeprefix("chk-"))
    assert f"job 'test job' goes on from checkpoint {epoch} ({path})" in caplog.messages


def test_a_job_that_claims_goes_on_with_the_files_and_deletes_the_checkpoint_in_the_end(
    tmp_path: pathlib.Path,
) -> None:
    first, _ = run_and_cancel(tmp_path / "a", 120)
    path = newest(tmp_path / "a", first)
    claimed = {
        "execution.state-recovery.path": str(path),
        "execution.state-recovery.claim-mode": "CLAIM",
        "execution.epoch.max-records": "5",
    }
    second, _ = run_and_cancel(tmp_path / "b", 20, claimed)
    assert second.coordinator.progress.epoch < first.coordinator.progress.epoch + 10
    assert any(file.startswith(str(tmp_path / "a")) for file in named_files(tmp_path / "b", second))
    storage = CheckpointStorage(str(tmp_path / "b"), second.job_id)
    assert path.exists()
    storage.retain(1)
    assert not path.exists() and (tmp_path / "b" / second.job_id / CLAIMED_FILE).exists()
    assert all(pathlib.Path(file).exists() for file in named_files(tmp_path / "b", second))


def test_a_claimed_savepoint_is_deleted_when_the_job_has_checkpoints_of_its_own(
    tmp_path: pathlib.Path,
) -> None:
    job, sink = endless_counts(2)
    list(islice(sink.iterator(job), 60))
    path = job.stop_with_savepoint(directory=str(tmp_path))
    claimed = {"execution.state-recovery.path": path, "execution.state-recovery.claim-mode": "CLAIM"}
    second, _ = run_and_cancel(tmp_path / "b", 1500, claimed)
    assert not pathlib.Path(path).exists()
    assert not (tmp_path / "b" / second.job_id / CLAIMED_FILE).exists()


@pytest.mark.parametrize("kind", ["savepoint", "checkpoint"])
def test_what_was_claimed_goes_with_a_job_that_ends_soon(tmp_path: pathlib.Path, kind: str) -> None:
    first, _ = endless_counts(2, {**RETAINED, "execution.checkpointing.dir": str(tmp_path / "a")})
    if kind == "savepoint":
        path = pathlib.Path(first.cancel_with_savepoint(str(tmp_path / "savepoints")))
    else:
        first.trigger_checkpoint()
        first.cancel()
        path = newest(tmp_path / "a", first)
    settings = {
        "execution.checkpointing.dir": str(tmp_path / "b"),
        "execution.state-recovery.path": str(path),
        "execution.state-recovery.claim-mode": "CLAIM",
    }
    second, _ = endless_counts(2, settings)
    second.trigger_checkpoint()
    second.cancel()
    assert not path.exists() and not (tmp_path / "b" / second.job_id).exists()


def test_files_that_another_checkpoint_of_the_claimed_job_needs_stay(tmp_path: pathlib.Path) -> None:
    two = {"execution.checkpointing.num-retained": "2"}
    first, _ = run_and_cancel(tmp_path / "a", 300, two)
    storage = CheckpointStorage(str(tmp_path / "a"), first.job_id)
    older, newer = storage.list_checkpoints()[-2:]
    claimed = {
        "execution.state-recovery.path": storage.checkpoint_path(newer),
        "execution.state-recovery.claim-mode": "CLAIM",
    }
    run_and_cancel(tmp_path / "b", 1500, claimed)
    again = CheckpointStorage(str(tmp_path / "a"), first.job_id)
    assert older in again.list_checkpoints() and newer not in again.list_checkpoints()
    assert storage.checkpoint_path(older) in again.usable()


def test_without_a_checkpoint_directory_nothing_is_claimed(tmp_path: pathlib.Path) -> None:
    job, sink = endless_counts(1)
    list(islice(sink.iterator(job), 10))
    path = job.stop_with_savepoint(directory=str(tmp_path))
    claimed = {"execution.state-recovery.path": path, "execution.state-recovery.claim-mode": "CLAIM"}
    second, sink = endless_counts(1, claimed)
    list(islice(sink.iterator(second), 900))
    second.cancel()
    assert pathlib.Path(path).exists()


def test_the_mode_of_former_versions_is_refused(tmp_path: pathlib.Path) -> None:
    settings = {"execution.state-recovery.path": "x", "execution.state-recovery.claim-mode": "LEGACY"}
    with pytest.raises(NotSupportedError, match="the restore mode LEGACY"):
        endless_counts(1, settings)


def test_cancelling_with_a_savepoint_leaves_a_cancelled_job_and_a_savepoint(tmp_path: pathlib.Path) -> None:
    job, sink = endless_counts(2)
    rows = sink.iterator(job)
    list(islice(rows, 60))
    path = job.cancel_with_savepoint(str(tmp_path))
    assert job.status() is JobStatus.CANCELED
    with pytest.raises(JobCancelledError):
        job.wait(10)
    second, sink = endless_counts(3, {"execution.state-recovery.path": path})
    assert min(count for _, _, count in islice(sink.iterator(second), 20)) > 10
    second.cancel()

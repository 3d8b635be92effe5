"""Job id, status, result, client and futures."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from penstock.common import CompletableFuture, JobClient, JobExecutionResult, JobID, JobStatus
from penstock.common.errors import ValidationError
from penstock.common.job_client import JobHandle


def test_job_ids_are_32_hexadecimal_digits():
    generated = JobID.generate()
    assert len(str(generated)) == 32 and JobID(str(generated)) == generated != JobID()
    with pytest.raises(ValidationError, match="not a job id"):
        JobID("xyz")


def test_suspended_jobs_have_ended_here_but_not_everywhere():
    terminal = {s for s in JobStatus if s.is_terminal_state()}
    assert terminal == {JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED, JobStatus.SUSPENDED}
    assert not JobStatus.SUSPENDED.is_globally_terminal_state()


def test_results_have_accumulators_by_name():
    job_id = JobID()
    result = JobExecutionResult(job_id, 12, {"n": 3})
    assert result.get_job_id() == job_id and result.get_net_runtime() == 12
    assert result.get_accumulator_result("n") == 3 and result.get_accumulator_result("m") is None
    assert result.get_all_accumulator_results() == {"n": 3}
    assert str(job_id) in str(result) and "- n (int): 3" in str(result)


def test_futures_tell_result_failure_and_cancellation():
    done = CompletableFuture.completed(1)
    assert done.done() and done.result() == 1 and done.exception() is None and not done.cancel()
    failed = CompletableFuture.failed(ValueError("x"))
    assert isinstance(failed.exception(), ValueError)
    with pytest.raises(ValueError):
        failed.result()
    open_future = CompletableFuture()
    assert not open_future.done() and open_future.cancel() and open_future.cancelled()
    seen: list[int] = []
    later = CompletableFuture()
    later.add_done_callback(lambda future: seen.append(future.result()))
    later.set_result(5)
    assert seen == [5]


def future(value: object) -> Future:
    made: Future = Future()
    made.set_result(value)
    return made


class FakeHandle(JobHandle):
    def __init__(self) -> None:
        self.job_id = JobID()
        self.calls: list[tuple] = []

    def status(self) -> JobStatus:
        return JobStatus.RUNNING

    def result(self) -> Future:
        return future(JobExecutionResult(self.job_id))

    def cancel(self) -> Future:
        return future(None)

    def trigger_savepoint(self, directory: str | None) -> Future:
        self.calls.append((directory,))
        return future("savepoint-1")

    def stop_with_savepoint(self, directory: str | None, advance_to_end_of_event_time: bool) -> Future:
        self.calls.append((directory, advance_to_end_of_event_time))
        return future("savepoint-2")

    def cancel_with_savepoint(self, directory: str | None) -> Future[str]:
        return self.stop_with_savepoint(directory, False)

    def accumulators(self) -> dict:
        return {"n": 1}


def test_the_client_passes_everything_on_to_the_handle():
    handle = FakeHandle()
    client = JobClient(handle)
    assert client.get_job_id() == handle.job_id
    assert client.get_job_status().result() is JobStatus.RUNNING
    assert client.trigger_savepoint("/s").result() == "savepoint-1"
    assert client.stop_with_savepoint(True, "/t").result() == "savepoint-2"
    assert handle.calls == [("/s",), ("/t", True)]
    assert client.get_accumulators().result() == {"n": 1}
    assert client.get_job_execution_result().result().get_job_id() == handle.job_id
    assert client.cancel().result() is None

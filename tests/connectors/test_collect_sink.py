import threading

import pytest
from epochs import SinkLoop

from penstock.common import Row, Types
from penstock.common.errors import JobExecutionError
from penstock.common.job_status import JobStatus
from penstock.connectors import collect
from penstock.connectors.collect import CollectSink


class Job:
    """As much of a running job as the iterator uses."""

    def __init__(self):
        self.state = JobStatus.RUNNING
        self.error = None
        self.cancelled = False

    def status(self):
        return self.state

    def wait(self, timeout=None):
        if self.error:
            raise self.error

    def cancel(self):
        self.cancelled = True


def test_values_come_in_the_order_of_epochs_and_subtasks():
    sink, job = CollectSink(Types.INT()), Job()
    loop = SinkLoop(sink, parallelism=2)
    values = sink.iterator(job)
    loop.run_epoch([[1, 2], [3]])
    loop.run_epoch([[], [4]])
    job.state = JobStatus.FINISHED
    assert list(values) == [1, 2, 3, 4]
    assert sink.collect_id not in collect._buffers


def test_a_repeated_commit_is_seen_once():
    sink, job = CollectSink(Types.INT()), Job()
    loop = SinkLoop(sink)
    loop.run_epoch([[1]])
    loop.recover()
    loop.run_epoch([[2]], crash="prepared")
    loop.run_epoch([[2]], crash="publishing")
    loop.recover()
    job.state = JobStatus.FINISHED
    assert list(sink.iterator(job)) == [1, 2]


def test_what_was_committed_before_a_failure_is_seen_and_then_the_error():
    sink, job = CollectSink(), Job()
    SinkLoop(sink).run_epoch([[{"any": "thing"}]])
    job.state, job.error = JobStatus.FAILED, JobExecutionError("broken")
    values = sink.iterator(job)
    assert next(values) == {"any": "thing"}
    with pytest.raises(JobExecutionError, match="broken"):
        next(values)


def test_the_iterator_waits_for_the_next_epoch():
    sink, job = CollectSink(Types.STRING()), Job()
    loop = SinkLoop(sink)
    values = sink.iterator(job)
    later = threading.Timer(0.1, lambda: loop.run_epoch([["late"]]))
    later.start()
    assert values.next() == "late"
    later.join()


def test_closing_cancels_a_running_job_and_forgets_the_rest():
    sink, job = CollectSink(Types.INT()), Job()
    loop = SinkLoop(sink)
    loop.run_epoch([[1, 2, 3]])
    with sink.iterator(job) as values:
        assert next(values) == 1
    assert job.cancelled and list(values) == []


def test_values_are_presented_as_their_type_says():
    kind = Types.ROW_NAMED(["a"], [Types.INT()])
    sink, job = CollectSink(kind), Job()
    SinkLoop(sink, type_info=kind).run_epoch([[Row(a=1)]])
    job.state = JobStatus.FINISHED
    (row,) = sink.iterator(job)
    assert row == Row(a=1)

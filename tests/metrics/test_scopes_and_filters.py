"""Names of metrics as `metrics.scope.*` says, and which of them a reporter gets."""

from __future__ import annotations

import pytest

from penstock.common.errors import ValidationError
from penstock.metrics.filters import MetricFilter
from penstock.metrics.samples import Sample, counter, gauge, histogram
from penstock.metrics.scope import Scope, ScopeFormats

OPERATOR = Scope(
    "operator",
    {
        "host": "h", "tm_id": "tm-1", "job_name": "orders", "task_name": "T", "operator_name": "Map",
        "subtask_index": "3",
    },
)  # fmt: skip


def test_an_operators_metric_has_flinks_identifier() -> None:
    formats = ScopeFormats.from_settings({})
    assert formats.identifier(OPERATOR, "numRecordsIn") == "h.taskmanager.tm-1.orders.Map.3.numRecordsIn"
    assert OPERATOR.logical == "taskmanager.job.task.operator"


def test_a_jobs_metric_has_flinks_identifier() -> None:
    scope = Scope("jm-job", {"host": "h", "job_name": "orders"})
    assert (
        ScopeFormats.from_settings({}).identifier(scope, "numRestarts") == "h.jobmanager.orders.numRestarts"
    )


def test_a_format_with_a_star_goes_on_from_the_one_around_it() -> None:
    formats = ScopeFormats.from_settings(
        {"metrics.scope.task": "<job_name>.<task_name>", "metrics.scope.operator": "*.<operator_name>"}
    )
    assert formats.identifier(OPERATOR, "x") == "orders.T.Map.x"


def test_the_delimiter_stands_between_the_parts_and_not_inside_of_names() -> None:
    scope = Scope("jm-job", {"host": "a.b", "job_name": "o"})
    formats = ScopeFormats.from_settings({"metrics.scope.delimiter": "/"})
    assert formats.identifier(scope, "group", "x") == "a.b/jobmanager/o/group/x"


def test_the_older_spelling_of_a_scope_is_read() -> None:
    scope = Scope("jm-job", {"job_name": "o"})
    assert ScopeFormats.from_settings({"metrics.scope.jm.job": "<job_name>"}).identifier(scope, "x") == "o.x"


def test_what_a_filter_excludes_is_left_out_also_if_it_is_included() -> None:
    wanted = MetricFilter.parse("*:num*", "*:numBytes*")
    assert wanted.accepts("taskmanager.job.task", "numRecordsIn", "counter")
    assert not wanted.accepts("taskmanager.job.task", "numBytesIn", "counter")
    assert not wanted.accepts("taskmanager.job.task", "busyTimeMsPerSecond", "gauge")


def test_a_filter_with_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValidationError, match="the type 'timer'"):
        MetricFilter.parse("*:*:timer", "")


def test_texts_booleans_and_what_is_no_number_have_no_numbers() -> None:
    scope = Scope("jm")
    assert [Sample(scope, "x", gauge(v)).numbers() for v in ("text", None, True, float("nan"))] == [{}] * 4
    assert Sample(scope, "x", counter(3)).numbers() == {"": 3}


def test_a_histogram_tells_count_extremes_and_quantiles() -> None:
    found = histogram(range(1, 101))
    assert (found["count"], found["min"], found["max"], found["mean"]) == (100, 1, 100, 50.5)
    assert (found["p50"], found["p99"], found["p999"]) == (51, 100, 100)
    assert histogram([]) == {"type": "histogram", "count": 0}

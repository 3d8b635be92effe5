from __future__ import annotations

import pickle

import pytest

from penstock.common.errors import ValidationError
from penstock.metrics import MetricGroup, merge, merge_all
from penstock.metrics.metricbase import Meter


def test_identifiers_are_made_of_the_groups_above():
    group = MetricGroup(("job", "map", "0"))
    inner = group.add_group("my").add_group("shard", "7")
    inner.counter("n").inc(2)
    assert group.snapshot() == {
        "job.map.0.my.shard.7.n": {
            "type": "counter",
            "count": 2,
            "groups": ("my", ("shard", "7")),
            "name": "n",
        }
    }
    assert inner.get_metric_identifier("n") == "job.map.0.my.shard.7.n"
    assert inner.get_all_variables() == {"<shard>": "7"} and group.get_all_variables() == {}
    assert inner.get_scope_components() == ["job", "map", "0", "my", "shard", "7"]


def test_counters_go_up_and_down():
    counter = MetricGroup().counter("n")
    counter.inc()
    counter.inc(5)
    counter.dec(2)
    assert counter.get_count() == 4


def test_registering_twice_gives_the_same_metric():
    group = MetricGroup()
    group.counter("n").inc()
    group.counter("n").inc()
    assert group.counter("n").get_count() == 2
    with pytest.raises(ValidationError, match="is a counter, not a meter"):
        group.meter("n")


def test_gauges_are_read_when_somebody_looks():
    group, values = MetricGroup(), [1]
    group.gauge("last", lambda: values[-1])
    values.append(9)
    assert group.snapshot()["last"] == {"type": "gauge", "value": 9}
    group.gauge("last", lambda: -1)
    assert group.snapshot()["last"]["value"] == -1
    with pytest.raises(ValidationError, match="needs a function"):
        group.gauge("wrong", 5)  # type: ignore[arg-type]


def test_meters_forget_what_is_older_than_their_span():
    now = [0.0]
    meter = Meter(10, clock=lambda: now[0])
    meter.mark_event(20)
    now[0] = 5
    meter.mark_event(10)
    assert (meter.get_count(), meter.get_rate()) == (30, 3.0)
    now[0] = 11
    assert (meter.get_count(), meter.get_rate()) == (30, 1.0)
    now[0] = 30
    assert meter.get_rate() == 0.0


def test_distributions_keep_count_sum_and_extremes():
    group = MetricGroup()
    distribution = group.distribution("d")
    assert group.snapshot()["d"]["mean"] is None
    for value in (3, 1, 8):
        distribution.update(value)
    assert group.snapshot()["d"] == {
        "type": "distribution",
        "count": 3,
        "sum": 12,
        "min": 1,
        "max": 8,
        "mean": 4.0,
    }


def subtask(count: int, values: list[float], level: float) -> dict:
    group = MetricGroup(("op",))
    group.counter("n").inc(count)
    group.meter("rate").mark_event(count)
    group.gauge("level", lambda: level)
    group.gauge("name", lambda: "x")
    for value in values:
        group.distribution("d").update(value)
    return group.snapshot()


def test_subtasks_merge_into_one():
    merged = merge(subtask(2, [1, 5], 10), subtask(3, [9], 20))
    assert merged["op.n"]["count"] == 5 and merged["op.rate"]["count"] == 5
    assert (merged["op.d"]["count"], merged["op.d"]["min"], merged["op.d"]["max"]) == (3, 1, 9)
    level = merged["op.level"]
    assert (level["value"], level["min"], level["max"], level["count"]) == (30, 10, 20, 2)
    assert merged["op.name"]["value"] == "x"


def test_merging_does_not_depend_on_how_it_is_grouped():
    a, b, c = subtask(1, [1], 3), subtask(2, [], 4), subtask(3, [7, 8], 5)
    assert merge(merge(a, b), c) == merge(a, merge(b, c)) == merge_all([a, b, c])
    assert merge_all([]) == {}


def test_a_group_continues_from_a_snapshot():
    group = MetricGroup(("op",))
    counter, meter, distribution = (
        group.counter("n"),
        group.meter("m"),
        group.add_group("x").distribution("d"),
    )
    counter.inc(5)
    meter.mark_event(2)
    distribution.update(4)
    committed = group.snapshot()
    counter.inc(100)
    distribution.update(50)
    group.restore(committed)
    assert counter.get_count() == 5 and meter.get_count() == 2
    assert group.snapshot()["op.x.d"] == committed["op.x.d"]


def test_metrics_unknown_to_the_snapshot_start_at_zero():
    group = MetricGroup()
    counter, distribution = group.counter("n"), group.distribution("d")
    counter.inc(7)
    distribution.update(3)
    group.restore({"n": {"type": "meter", "count": 1, "rate": 0.0}})
    assert counter.get_count() == 0 and group.snapshot()["d"]["count"] == 0


def test_metrics_registered_after_a_restore_take_their_value_from_it():
    group = MetricGroup(("op",))
    group.restore(
        {"op.n": {"type": "counter", "count": 7}, "op.x.m": {"type": "meter", "count": 3, "rate": 1.0}}
    )
    assert group.counter("n").get_count() == 7
    assert group.add_group("x").meter("m").get_count() == 3
    assert group.counter("other").get_count() == 0


def test_a_gauge_that_raises_does_not_spoil_the_others(caplog):
    group = MetricGroup()
    group.counter("n").inc()
    group.gauge("broken", lambda: 1 // 0)
    assert set(group.snapshot()) == {"n"}
    assert "broken cannot be read: ZeroDivisionError" in caplog.text


def test_a_pickled_group_leaves_its_gauges_behind():
    group = MetricGroup(("op",))
    group.counter("n").inc(3)
    group.gauge("g", lambda: 1)
    assert pickle.loads(pickle.dumps(group)).snapshot() == {"op.n": {"type": "counter", "count": 3}}
    assert "op.g" in group.snapshot()

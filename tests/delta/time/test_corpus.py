"""Cases of the conformance corpus played on the operators alone: what a planner would build, by hand.

Each case runs in one epoch and with an epoch per row; both must give what Flink answered.
"""

from __future__ import annotations

import csv
import datetime as dt
import json
import pathlib
from collections import Counter
from decimal import Decimal

import pytest

from penstock.common.datatypes import BigIntType, DecimalType, DoubleType, IntType, VarCharType
from penstock.delta.aggregates import AggSpec
from penstock.delta.base import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from penstock.delta.join import JoinType
from penstock.delta.time.interval_join import IntervalJoin
from penstock.delta.time.over import EventTimeOver
from penstock.delta.time.over_functions import OrderFunction, OverFrame
from penstock.delta.time.session import SessionRows
from penstock.delta.time.temporal_join import EventTimeTemporalJoin
from penstock.delta.time.window_aggregate import AttachedWindowAggregate, WindowAggregate
from penstock.delta.time.window_join import WindowJoin
from penstock.delta.time.window_rank import WindowDeduplicate, WindowRank
from penstock.delta.time.windows import AttachedWindow, cumulate, hop, tumble
from tests.conformance.canonical import canonical
from tests.delta.time.streams import at, cascade, ms, replay, stream

CORPUS = pathlib.Path(__file__).parents[2] / "conformance" / "sql"
SECOND, MINUTE, HOUR = 1000, 60_000, 3_600_000
BIGINT, INT, DOUBLE, STRING = BigIntType(), IntType(), DoubleType(), VarCharType(2147483647)
COUNT = AggSpec("COUNT", (), BIGINT)
text, number, real, time = str, int, float, dt.datetime.fromisoformat


def read(case, name, *types):
    """Rows of a CSV or JSON file of a case; JSON fields come in the order of the file's first line."""
    path = CORPUS / case / "data" / name
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            lines = [[None if cell == "NULL" else cell for cell in line] for line in csv.reader(file)]
    else:
        objects = [json.loads(line) for line in path.read_text().splitlines()]
        lines = [[item.get(field) for field in objects[0]] for item in objects]
    return [
        tuple([None if v is None else of(v) for of, v in zip(types, line, strict=True)]) for line in lines
    ]


def changes(case, name):
    """Changes of a debezium file: rows (currency, rate, ts) and their kinds."""
    rows, kinds = [], []
    for line in (CORPUS / case / "data" / name).read_text().splitlines():
        entry = json.loads(line)
        parts = {"c": [("after", INSERT)], "d": [("before", DELETE)]}.get(
            entry["op"], [("before", UPDATE_BEFORE), ("after", UPDATE_AFTER)]
        )
        for side, kind in parts:
            image = entry[side]
            rows.append((image["currency"], Decimal(f"{image['rate']:.2f}"), time(image["ts"])))
            kinds.append(kind)
    return rows, kinds


def windowed(rows, size, column=-1):
    """What TUMBLE adds to rows."""
    ends = [tumble(size).slice_end(ms(row[column])) for row in rows]
    return [(*row, at(end - size), at(end)) for row, end in zip(rows, ends, strict=True)]


def taps(case):
    return read(case, "taps.csv", text, number, time)


def readings(case):
    return read(case, "readings.csv", text, real, time)


def trades(case):
    return read(case, "trades.csv", text, text, Decimal, number, time)


def parcels(case):
    return [
        stream(read(case, "shipped.jsonl", number, text, time), 2, MINUTE),
        stream(read(case, "delivered.jsonl", number, text, time), 2, MINUTE),
    ]


def buys_and_rates(case):
    buys = read(case, "buys.jsonl", number, text, lambda price: price, time)
    rates, kinds = changes(case, "rates.jsonl")
    return [stream(buys, 3), stream(rates, 2, kinds=kinds)]


def bids_and_logins(case):
    bids = windowed(read(case, "bids.csv", text, number, time), 5 * MINUTE)
    logins = windowed(read(case, "logins.csv", text, text, time), 5 * MINUTE)
    return [stream(bids, 2, MINUTE), stream(logins, 2, MINUTE)]


def window_join(kind):
    window = AttachedWindow(3, 4)
    return WindowJoin(kind, (0,), (0,), window, window, left_width=5, right_width=5)


def joined(row):
    return (row[0], row[1], row[5], row[6], row[3] or row[8], row[4] or row[9])


def interval(kind, lower, upper, residual=None):
    return IntervalJoin(kind, (0,), (0,), 2, 2, lower, upper, left_width=3, right_width=3, residual=residual)


def temporal(kind):
    return EventTimeTemporalJoin(kind, (1,), (0,), 3, 2, right_width=3)


def agg(name, column, kind=INT, **more):
    return AggSpec(name, (column,), kind, **more)


def case_windows():
    yield (
        "window/late_rows_dropped",
        lambda c: [stream(taps(c), 2, 2 * SECOND)],
        lambda: WindowAggregate((), 2, tumble(10 * SECOND), (COUNT, agg("SUM", 1))),
        lambda r: (r[2], r[3], r[0], r[1]),
    )
    yield (
        "window/late_rows_hop",
        lambda c: [stream(taps(c), 2)],
        lambda: WindowAggregate((), 2, hop(10 * SECOND, 5 * SECOND), (COUNT, agg("SUM", 1))),
        lambda r: (r[2], r[3], r[0], r[1]),
    )
    yield (
        "window/cumulate_per_key",
        lambda c: [stream(readings(c), 2, MINUTE)],
        lambda: WindowAggregate((0,), 2, cumulate(4 * MINUTE, MINUTE), (COUNT, agg("MIN", 1, DOUBLE))),
        lambda r: (r[0], r[3], r[4], r[1], r[2]),
    )
    yield (
        "window/hop_before_epoch",
        lambda c: [stream(read(c, "logs.csv", number, time), 1)],
        lambda: WindowAggregate((), 1, hop(10 * SECOND, 5 * SECOND), (COUNT, agg("MIN", 0))),
        lambda r: (r[2], r[3], r[0], r[1]),
    )
    yield (
        "window/hop_overlap",
        lambda c: [stream(readings(c), 2, MINUTE)],
        lambda: WindowAggregate(
            (0,), 2, hop(2 * MINUTE, MINUTE), (COUNT, agg("AVG", 1, DOUBLE), agg("MAX", 1, DOUBLE))
        ),
        lambda r: (r[4], r[5], *r[:4]),
    )
    yield (
        "window/tumble_negative_offset",
        lambda c: [stream(read(c, "shifts.csv", text, number, time), 2, 24 * HOUR)],
        lambda: WindowAggregate(
            (), 2, tumble(24 * HOUR, -8 * HOUR), (agg("SUM", 1), agg("COUNT", 0, BIGINT, distinct=True))
        ),
        lambda r: (r[2], r[3], r[0], r[1]),
    )


def sessions(key_columns, time_column, gap):
    return lambda: SessionRows(key_columns, time_column, gap)


def of_sessions(key_columns, width, *aggregates):
    """What the planner puts behind the sessions: their start and end follow the columns of the row."""
    return lambda: AttachedWindowAggregate(key_columns, AttachedWindow(width, width + 1), aggregates)


def case_sessions():
    yield (
        "window/session_bridge",
        lambda c: [stream(read(c, "pings.csv", text, number, time), 2, MINUTE)],
        sessions((0,), 2, 10 * SECOND),
        of_sessions((0,), 3, COUNT, agg("SUM", 1), agg("MAX", 1)),
        lambda r: (r[0], r[4], r[5], *r[1:4]),
    )
    visits = (text, text, number, time)
    yield (
        "window/session_partition_by",
        lambda c: [stream(read(c, "visits.jsonl", *visits), 3, 5 * MINUTE)],
        sessions((0,), 3, 5 * MINUTE),
        of_sessions((0,), 4, COUNT, agg("SUM", 2)),
        lambda r: (r[0], r[3], r[4], r[1], r[2]),
    )
    distinct = agg("COUNT", 0, BIGINT, distinct=True)
    yield (
        "window/session_global",
        lambda c: [stream(read(c, "visits.jsonl", *visits), 3, 5 * MINUTE)],
        sessions((), 3, 3 * MINUTE),
        of_sessions((), 4, COUNT, distinct, agg("MIN", 1, STRING)),
        lambda r: (r[3], r[4], *r[:3]),
    )


def case_rows_of_windows():
    yield (
        "window/dedup_last",
        lambda c: [stream(windowed(readings(c), 2 * MINUTE), 2, MINUTE)],
        lambda: WindowDeduplicate((0,), AttachedWindow(3, 4), 2, keep_last=True),
        lambda r: (r[3], r[4], *r[:3]),
    )
    yield (
        "window/topn_rows",
        lambda c: [stream(windowed(readings(c), 3 * MINUTE), 2, MINUTE)],
        lambda: WindowRank((), AttachedWindow(3, 4), ((1, False), (2, True)), rank_end=3, emit_rank=True),
        lambda r: (r[3], r[0], r[1], r[2], r[5]),
    )
    for name, kind in (("inner", JoinType.INNER), ("left", JoinType.LEFT), ("full", JoinType.FULL)):
        yield f"window/join_{name}", bids_and_logins, lambda kind=kind: window_join(kind), joined
    for name, kind in (("semi", JoinType.SEMI), ("anti", JoinType.ANTI)):
        yield (
            f"window/join_{name}",
            bids_and_logins,
            lambda kind=kind: window_join(kind),
            lambda r: (r[0], r[1], r[3], r[4]),
        )


def case_joins():
    yield (
        "join/interval_full",
        parcels,
        lambda: interval(JoinType.FULL, -30 * MINUTE, 0),
        lambda r: (r[0], r[2], r[3], r[5]),
    )
    yield (
        "join/interval_residual",
        parcels,
        lambda: interval(JoinType.LEFT, -HOUR, HOUR, lambda left, right: right[1] != "X"),
        lambda r: (r[0], r[4]),
    )
    yield (
        "join/interval_strict_before_after",
        parcels,
        lambda: interval(JoinType.INNER, -30 * MINUTE + 1, 5 * SECOND - 1),
        lambda r: (r[0], r[4]),
    )
    yield (
        "join/temporal_after_delete",
        buys_and_rates,
        lambda: temporal(JoinType.LEFT),
        lambda r: (r[0], r[3], r[5]),
    )
    yield (
        "join/temporal_left_unknown",
        buys_and_rates,
        lambda: temporal(JoinType.LEFT),
        lambda r: (r[0], r[1], r[5], r[6]),
    )
    yield (
        "join/temporal_versioned_cdc",
        buys_and_rates,
        lambda: temporal(JoinType.INNER),
        lambda r: (r[0], r[1], r[3], r[5], Decimal(r[2]) * r[5] * Decimal("1.00")),
    )


def case_over():
    price = DecimalType(8, 2)

    def given(keep=lambda row: True):
        # The filter of a case stands behind the watermark: events keep what they saw.
        return lambda c: [[event for event in stream(trades(c), 4, 10 * SECOND) if keep(event.row)]]

    yield (
        "over/rows_unbounded",
        given(),
        lambda: EventTimeOver(
            (0,), 4, OverFrame(True), (agg("SUM", 3), COUNT, AggSpec("COUNT", (3,), BIGINT))
        ),
        lambda r: (r[0], r[4], r[3], *r[5:]),
    )
    yield (
        "over/range_unbounded",
        given(),
        lambda: EventTimeOver((0,), 4, OverFrame(False), (agg("SUM", 3),)),
        lambda r: (r[0], r[4], r[3], r[5]),
    )
    yield (
        "over/range_bounded",
        given(),
        lambda: EventTimeOver((0,), 4, OverFrame(False, 5 * SECOND), (agg("SUM", 3), COUNT)),
        lambda r: (r[0], r[1], r[4], r[3], *r[5:]),
    )
    yield (
        "over/rows_bounded",
        given(lambda row: row[3] is None or row[3] != 75),
        lambda: EventTimeOver(
            (0,),
            4,
            OverFrame(True, 2),
            (agg("AVG", 2, DecimalType(38, 6)), agg("MIN", 2, price), agg("MAX", 2, price)),
        ),
        lambda r: (r[0], r[4], r[2], *r[5:]),
    )
    yield (
        "over/distinct_over",
        given(),
        lambda: EventTimeOver(
            (0,), 4, OverFrame(True), (agg("COUNT", 1, BIGINT, distinct=True), agg("SUM", 3, distinct=True))
        ),
        lambda r: (r[0], r[4], *r[5:]),
    )
    yield (
        "over/lag_streaming",
        given(lambda row: row[0] is not None and row[1] == "B"),
        lambda: EventTimeOver(
            (0,),
            4,
            OverFrame(True),
            (OrderFunction("LAG", column=2), OrderFunction("LAG", column=1, offset=2, default="?")),
        ),
        lambda r: (r[0], r[4], r[2], *r[5:]),
    )
    yield (
        "over/row_number_event_time",
        given(lambda row: row[2] is not None and not (row[0] in ("ACME", None) and row[1] == "S")),
        lambda: EventTimeOver((0,), 4, OverFrame(True), (OrderFunction("ROW_NUMBER"),)),
        lambda r: (r[0], r[4], r[5]),
    )


CASES = [*case_windows(), *case_rows_of_windows(), *case_joins(), *case_over()]


def row_by_row(inputs):
    longest = max(len(events) for events in inputs)
    return [tuple(int(number < len(events)) for events in inputs) for number in range(longest)], {1}


@pytest.mark.parametrize(("case", "load", "make", "project"), CASES, ids=[case[0] for case in CASES])
def test_the_operator_answers_as_flink_did(case, load, make, project):
    inputs = load(case)
    for plan in (None, row_by_row(inputs)):
        _, output = replay(make, inputs, plan)
        check(case, [project(row) for row, _, _ in output])


def check(case, rows):
    """Compares with what Flink's changelog left."""
    expected = json.loads((CORPUS / case / "expected.json").read_text())["results"]["streaming"]["final"]
    found = [[canonical(value) for value in row] for row in rows]
    assert Counter(map(json.dumps, found)) == Counter(map(json.dumps, expected))


SESSIONS = list(case_sessions())


@pytest.mark.parametrize(
    ("case", "load", "first", "second", "project"), SESSIONS, ids=[case[0] for case in SESSIONS]
)
def test_aggregates_over_sessions_answer_as_flink_did(case, load, first, second, project):
    inputs = load(case)
    for plan in (([(len(inputs[0]),)], set()), row_by_row(inputs)):
        check(case, [project(row) for (row,) in cascade(first, second, inputs, plan)])

"""Reading Nexmark's events: in splits, in epochs, after a crash, at their pace."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.connectors.nexmark import NexmarkConfiguration, NexmarkSource
from penstock.connectors.source import Boundedness, EnumeratorContext, ReadLimit
from tests.connectors.epochs import SourceLoop


def in_order(rows: list[Any]) -> list[Any]:
    return sorted(rows, key=str)


@pytest.mark.parametrize("events", [1, 49, 50, 51, 149, 2_503])
def test_events_do_not_depend_on_epochs_or_subtasks(events: int) -> None:
    source = NexmarkSource(NexmarkConfiguration(events=events))
    expected = SourceLoop(source).run_to_end()
    assert len(expected) == events
    for parallelism in (2, 3, 7):
        found = SourceLoop(source, parallelism=parallelism, max_records=77).run_to_end()
        assert in_order(found) == in_order(expected)


def test_splits_take_turns_so_that_their_event_times_stay_together() -> None:
    loop = SourceLoop(NexmarkSource(NexmarkConfiguration(events=1_000)), parallelism=2)
    loop.run_to_end()
    kinds = [[row[0] for row in rows] for rows in loop.collected.values()]
    assert kinds[0] == kinds[1] == ([0] + [1] * 3 + [2] * 46) * 10
    last = [rows[-1][3][5] for rows in loop.collected.values()]
    assert abs((last[0] - last[1]).total_seconds()) < 0.01


def test_a_crashed_epoch_is_read_again_the_same() -> None:
    source = NexmarkSource(NexmarkConfiguration(events=500))
    loop = SourceLoop(source, parallelism=2, max_records=70)
    loop.run_epoch()
    loop.run_epoch(crash=True)
    loop.recover()
    assert loop.run_to_end() == SourceLoop(source, parallelism=2).run_to_end()


def test_a_restored_job_goes_on_with_the_events_it_began_with() -> None:
    config = NexmarkConfiguration(events=500)
    loop = SourceLoop(NexmarkSource(config), parallelism=2, max_records=70)
    loop.run_epoch()
    loop.source = NexmarkSource(NexmarkConfiguration(events=500, bid_proportion=1, base_time_ms=0))
    loop.parallelism = 3
    loop.recover()
    assert loop.run_to_end() == SourceLoop(NexmarkSource(config), parallelism=2).run_to_end()


def test_a_reader_gives_no_more_than_it_was_asked_for() -> None:
    source = NexmarkSource(NexmarkConfiguration(events=100_000))
    (split,) = source.create_enumerator(EnumeratorContext(1, {})).discover()
    read = list(source.create_reader().read_arrow(split, 12_345, ReadLimit(max_records=40_000)))
    assert [batch.batch.num_rows for batch in read] == [32_768, 7_232]
    assert read[-1].position == 52_345


def test_only_wanted_columns_are_made() -> None:
    source = NexmarkSource(NexmarkConfiguration(events=50), columns=["event_type", "bid.price"])
    (*_, last) = SourceLoop(source).run_to_end()
    kind, person, auction, bid = last
    assert (kind, person, auction) == (2, None, None)
    assert [field for field in range(7) if bid[field] is not None] == [2]


def test_no_number_of_events_is_no_end_and_stop_at_is_one() -> None:
    def bounded(**chosen: Any) -> bool:
        return NexmarkSource(NexmarkConfiguration(**chosen)).boundedness is Boundedness.BOUNDED

    assert not bounded()
    assert bounded(events=10) and bounded(stop_at=10)
    assert not bounded(events=10, keep_alive=True)
    assert len(SourceLoop(NexmarkSource(NexmarkConfiguration(events=90, stop_at=60))).run_to_end()) == 60
    assert SourceLoop(NexmarkSource(NexmarkConfiguration(stop_at=0))).run_to_end() == []


def test_a_source_that_is_kept_alive_gives_its_events_and_goes_on() -> None:
    loop = SourceLoop(NexmarkSource(NexmarkConfiguration(events=90, keep_alive=True)), parallelism=2)
    assert [loop.run_epoch() for _ in range(3)] == [90, 0, 0]
    assert not loop.ended


def test_paced_events_come_when_they_are_due() -> None:
    config = NexmarkConfiguration(first_event_rate=1_000, next_event_rate=1_000, paced=True)
    loop = SourceLoop(NexmarkSource(config), parallelism=2)
    assert loop.run_epoch() == 2  # the first of each split is due at once
    loop.now_ms += 500
    assert 490 <= loop.run_epoch() <= 550
    loop.recover()  # time that the job did not run is not made up for
    loop.now_ms += 60_000
    assert loop.run_epoch() <= 51
    loop.now_ms += 100
    assert 90 <= loop.run_epoch() <= 150

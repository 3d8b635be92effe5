"""What the operator counts: partial matches, buffer entries, timeouts, what was skipped, what came late."""

from __future__ import annotations

from typing import Any

from penstock.cep import AfterMatchSkipStrategy, Pattern, PatternProcessFunction
from penstock.cep.operator import CepOperator
from penstock.common import Types
from penstock.testing import KeyedOneInputOperatorTestHarness


class Ignore(PatternProcessFunction):
    def process_match(self, match: Any, ctx: Any) -> None:
        """Nobody handles timeouts either: they are counted all the same."""


def counts(events: str, watermark: int, strategy: AfterMatchSkipStrategy | None = None) -> dict[str, int]:
    pattern = (
        Pattern.begin("a", strategy).where(lambda e: e == "a").followed_by("b").where(lambda e: e == "b")
    )
    h = KeyedOneInputOperatorTestHarness(
        CepOperator(Ignore(), pattern.within(10), lambda event: "k"), key_type=Types.STRING()
    )
    for time, event in enumerate(events, start=1):
        h.process_element(event, time)
    h.process_watermark(watermark)
    h.process_element("a", watermark)
    h.cut()
    found = {name: h.context.metrics.counter(name).get_count() for name in NAMES}
    return {name.removeprefix("num"): count for name, count in found.items() if count}


NAMES = (
    "numPartialMatches",
    "numBufferEntries",
    "numPartialMatchesTimedOut",
    "numPartialMatchesPruned",
    "numLateRecordsDropped",
)


def test_live_partial_matches_and_their_events_are_counted() -> None:
    assert counts("aax", 3) == {"PartialMatches": 2, "BufferEntries": 2, "LateRecordsDropped": 1}


def test_what_ends_counts_no_more() -> None:
    assert counts("aab", 3) == {"LateRecordsDropped": 1}


def test_timeouts_and_skipped_partial_matches_are_counted() -> None:
    assert counts("aa", 50) == {"PartialMatchesTimedOut": 2, "LateRecordsDropped": 1}
    skipped = counts("aab", 3, AfterMatchSkipStrategy.skip_past_last_event())
    assert skipped == {"PartialMatchesPruned": 1, "LateRecordsDropped": 1}

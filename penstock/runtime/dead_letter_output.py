"""Dead letters of an epoch: gathered in the driver, bounded, and committed with the epoch like a sink's output.

Where they go is in `dead_letter_destinations.py`. An epoch without dead letters leaves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.configuration import Configuration
from penstock.common.ids import EpochId, OperatorUid
from penstock.connectors.sink import Committer
from penstock.operators.dead_letters import limit_of, per_minute_of, too_many, too_often
from penstock.runtime.dead_letter_destinations import EpochLetters, destinations
from penstock.runtime.plan import JobDefinition, SubtaskReport

__all__ = ["DEAD_LETTERS", "DeadLetterGathering", "dead_letter_committer"]

DEAD_LETTERS = OperatorUid("penstock-dead-letters")
"""Under this name they are among the commits of a checkpoint: as if it were a sink."""
_MINUTE_MS = 60_000


class DeadLetterGathering:
    """Takes the dead letters of one epoch after the other, and knows how many the last minute had.

    A driver that takes over begins to count anew.
    """

    def __init__(self, job: JobDefinition) -> None:
        self._job = job
        self._by_epoch: dict[int, tuple[int, int]] = {}

    def add(
        self,
        commits: dict[OperatorUid, list[Any]],
        reports: Sequence[SubtaskReport],
        epoch: EpochId,
        now_ms: int,
    ) -> None:
        """Puts the epoch's dead letters among its commits.

        Raises:
            PenstockError: All operators together have more than the bounds allow.
        """
        ordered = sorted(reports, key=lambda r: (r.stage, r.subtask))
        letters = [letter for report in ordered for node in report.nodes for letter in node.dead_letters]
        if not letters:
            return
        settings, last = self._job.configuration, letters[-1]
        limit = limit_of(settings)
        if len(letters) > limit:
            raise too_many(limit, last.error, last.operator)
        per_minute = per_minute_of(settings)
        if per_minute is not None and self._in_a_minute(int(epoch), now_ms, len(letters)) > per_minute:
            raise too_often(per_minute, last.error, last.operator)
        commits[DEAD_LETTERS] = [EpochLetters(self._job.job_id, int(epoch), tuple(letters))]

    def _in_a_minute(self, epoch: int, now_ms: int, count: int) -> int:
        """How many there were in the minute that ends now; an epoch that is run again counts once."""
        recent = {e: c for e, c in self._by_epoch.items() if c[0] > now_ms - _MINUTE_MS and e < epoch}
        self._by_epoch = {**recent, epoch: (now_ms, count)}
        return sum(count for _, count in self._by_epoch.values())


def dead_letter_committer(configuration: Configuration) -> dict[OperatorUid, Committer]:
    found = destinations(configuration)
    return {DEAD_LETTERS: found[0] if len(found) == 1 else _Several(found)} if found else {}


class _Several(Committer):
    """All of several destinations; each of them may be told twice."""

    def __init__(self, destinations: Sequence[Committer]) -> None:
        self._destinations = tuple(destinations)

    def commit(self, committables: Sequence[Any]) -> None:
        for destination in self._destinations:
            destination.commit(committables)

    def close(self) -> None:
        for destination in self._destinations:
            destination.close()

"""Dead letters of an epoch: gathered in the driver, committed with the epoch, and written to a folder.

    <path>/<job id>-00000042.jsonl      those of epoch 42, a line of JSON each

The name is made of job and epoch, so committing twice writes the same file. An epoch without dead letters has none.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.checkpoint.filesystem import filesystem_for
from penstock.common.configuration import Configuration
from penstock.common.ids import EpochId, OperatorUid
from penstock.common.options import DeadLetterOptions
from penstock.connectors.sink import Committer
from penstock.operators.dead_letters import DeadLetter, limit_of, too_many
from penstock.runtime.plan import JobDefinition, SubtaskReport

__all__ = ["DEAD_LETTERS", "DeadLetterFolder", "add_dead_letters", "dead_letter_committer"]

DEAD_LETTERS = OperatorUid("penstock-dead-letters")
"""Under this name they are among the commits of a checkpoint: as if it were a sink."""


@dataclass(frozen=True)
class EpochLetters:
    """What an epoch has left; the committable."""

    job_id: str
    epoch: int
    letters: tuple[DeadLetter, ...]


def add_dead_letters(
    commits: dict[OperatorUid, list[Any]],
    reports: Sequence[SubtaskReport],
    job: JobDefinition,
    epoch: EpochId,
) -> None:
    """Puts the epoch's dead letters among its commits.

    Raises:
        PenstockError: All operators together have more than the bound allows.
    """
    ordered = sorted(reports, key=lambda r: (r.stage, r.subtask))
    letters = [letter for report in ordered for node in report.nodes for letter in node.dead_letters]
    if not letters:
        return
    limit = limit_of(job.configuration)
    if len(letters) > limit:
        raise too_many(limit, letters[-1].error, letters[-1].operator)
    commits[DEAD_LETTERS] = [EpochLetters(job.job_id, int(epoch), tuple(letters))]


def dead_letter_committer(configuration: Configuration) -> dict[OperatorUid, Committer]:
    path = configuration.get(DeadLetterOptions.PATH)
    return {DEAD_LETTERS: DeadLetterFolder(path)} if path else {}


class DeadLetterFolder(Committer):
    """A file for each epoch."""

    def __init__(self, path: str) -> None:
        self._files, self._root = filesystem_for(path)

    def commit(self, committables: Sequence[Any]) -> None:
        for epoch in committables:
            lines = "".join(
                json.dumps(letter.as_dict(), ensure_ascii=False) + "\n" for letter in epoch.letters
            )
            name = f"{epoch.job_id}-{epoch.epoch:08}.jsonl"
            self._files.write(posixpath.join(self._root, name), lines.encode("utf-8", "replace"))

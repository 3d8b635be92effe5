"""The ways in which a streaming case is run: how its input is cut, on how many subtasks, killed or not.

A case has one right answer. `straight` asks for it once; every other way must give the same:

    e3, e7          each source is read in 3 (7) epochs instead of one
    p3              operators and sources have 3 subtasks instead of 1
    kill            the driver dies after an epoch, and the program is started again

`Circumstances` brings them about inside this process. Epochs are cut where the driver plans what a source
reads. A kill is an exception that nothing handles, thrown in the epoch loop right after an epoch's checkpoint
became durable, before or after its output was published; what an orderly end would do does not happen: no
mark that the job is over, no word to the sink. All that the next start has is the checkpoint folder.
"""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import math
import pathlib
import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock


@dataclasses.dataclass(frozen=True)
class Way:
    """How to run a case. `epochs` None: as the job chooses; `kill_after` 0: after an epoch drawn by lot.

    `twice`: every epoch runs twice in the same processes, as after a loss for which Spark had to repeat tasks.
    """

    epochs: int | None = None
    parallelism: int | None = None
    kill: bool = False
    kill_after: int = 0
    twice: bool = False

    @property
    def name(self) -> str:
        parts = [
            f"e{self.epochs}" if self.epochs else "",
            f"p{self.parallelism}" if self.parallelism else "",
            "kill" if self.kill else "",
            "twice" if self.twice else "",
        ]
        return "-".join(part for part in parts if part) or "straight"

    def settings(self) -> dict[str, str]:
        return {} if self.parallelism is None else {"parallelism.default": str(self.parallelism)}


STRAIGHT = Way()

WAYS = (
    Way(epochs=3),
    Way(epochs=7),
    Way(parallelism=3),
    Way(epochs=3, parallelism=3),
    Way(epochs=7, parallelism=3),
    Way(epochs=3, kill=True),
    Way(epochs=7, parallelism=3, kill=True),
    Way(epochs=3, parallelism=3, twice=True),
)
"""All but the straight one."""


def chosen_way(case_name: str) -> Way:
    """One of `WAYS`, always the same for a case, so that all are taken over many cases."""
    return WAYS[_lot(case_name, "way").randrange(len(WAYS))]


def named_ways(text: str) -> tuple[Way, ...]:
    """The ways of a list of names, `all` for the whole matrix."""
    by_name = {way.name: way for way in (STRAIGHT, *WAYS)}
    return tuple(by_name.values()) if text == "all" else tuple(by_name[name] for name in text.split(","))


def _lot(*of: str) -> random.Random:
    return random.Random(hashlib.blake2b("/".join(of).encode()).hexdigest())


class Killed(BaseException):
    """The driver died. Not an Exception: no restart strategy may handle it."""


class Circumstances:
    """What happens to the jobs of one run of a case: `kills` counts deaths, `epochs` those that were survived."""

    def __init__(self, way: Way, case_name: str, folder: pathlib.Path) -> None:
        self._way = way
        self._folder = folder
        self._chance = _lot(case_name, way.name)
        self._deadline: _Deadline | None = None
        self._dead: set[str] = set()
        self._published: set[tuple[str, int]] = set()
        self.kills = 0
        self.epochs = 0

    def settings(self) -> dict[str, str]:
        """The configuration of the case's environments."""
        durable = {"execution.checkpointing.dir": str(self._folder)} if self._way.kill else {}
        return {**self._way.settings(), **durable}

    def before_statement(self) -> None:
        """The jobs of the next statement have not been killed yet."""
        if self._way.kill:
            self._deadline = _Deadline(
                self._way.kill_after, self._chance.random(), self._chance.random() < 0.5
            )

    def was_killed(self, error: BaseException) -> bool:
        """Whether a statement failed because its job was killed; its next start is left alone."""
        if not isinstance(error.__cause__, Killed):
            return False
        self.kills += 1
        self._deadline = None
        return True

    @contextmanager
    def prevail(self) -> Iterator[None]:
        """Lets them happen to all jobs of the block."""
        from penstock.runtime import coordinator, source_planner, submit
        from penstock.runtime.in_process import InProcessEpochs
        from penstock.runtime.spark.epoch_job import EpochJobs

        with ExitStack() as patches:
            self._plan = source_planner.SourcePlanner.plan
            self._publish = coordinator.publish_commits
            self._close = coordinator.Coordinator._close
            self._end = submit._Place.end
            replaced: list[tuple[Any, str, Any]] = []
            if self._way.epochs is not None:
                replaced += [(source_planner.SourcePlanner, "plan", self._cut())]
            if self._way.kill:
                replaced += [(module, "publish_commits", self._die) for module in (coordinator, submit)]
                replaced += [(coordinator.Coordinator, "_close", self._unless_dead())]
                replaced += [(submit._Place, "end", self._vanish())]
            if self._way.twice:
                replaced += [(runs, "run", _twice(runs.run)) for runs in (EpochJobs, InProcessEpochs)]
            for target, name, replacement in replaced:
                patches.enter_context(mock.patch.object(target, name, replacement))
            yield

    def _cut(self) -> Callable[..., Any]:
        """`SourcePlanner.plan` with a budget that makes `epochs` epochs of this source."""

        def plan(planner: Any, splits: Mapping[str, Any], now_ms: int, _: Any, held_back: bool) -> Any:
            rows = max((_rows_of(state.split) for state in splits.values()), default=1)
            share = max(1, math.ceil(rows / (self._way.epochs or 1)))
            if self._deadline is not None:
                self._deadline.job_has(math.ceil(rows / share))
            return self._plan(planner, splits, now_ms, share, held_back)

        return plan

    def _die(self, metadata: Any, committers: Any, attempts: int) -> None:
        """`publish_commits` of a driver that may die just before or after it.

        Publishing is repeated after a restart. Files do not mind, but rows that this program has taken cannot be
        recognised when they come again; so what was published is remembered here.
        """
        dies = self._deadline is not None and metadata.epoch == self._deadline.epoch
        published = (metadata.job_id, metadata.epoch)
        if not (dies and self._deadline and self._deadline.unpublished) and published not in self._published:
            self._published.add(published)
            self._publish(metadata, committers, attempts)
        if dies:
            self._dead.add(metadata.job_id)
            raise Killed
        self.epochs += 1

    def _unless_dead(self) -> Callable[..., None]:
        def close(loop: Any) -> None:
            if loop.job.job_id not in self._dead:
                self._close(loop)

        return close

    def _vanish(self) -> Callable[..., None]:
        """`_Place.end` of a dead driver: its disk and its lock are gone, and nobody noted that the job ended."""

        def end(place: Any, status: Any) -> None:
            if place.identity.job_id not in self._dead:
                self._end(place, status)
                return
            self._dead.discard(place.identity.job_id)
            shutil.rmtree(place.local_dir, ignore_errors=True)
            place.identity.release()

        return end


def _twice(run: Callable[..., Any]) -> Callable[..., Any]:
    """`EpochRunner.run` whose first run is in vain."""

    def runs(runner: Any, plans: Any) -> Any:
        run(runner, plans)
        return run(runner, plans)

    return runs


class _Deadline:
    """After which epoch the driver dies: a given one, or one that its input lasts for."""

    def __init__(self, epoch: int, chance: float, unpublished: bool) -> None:
        self._given = epoch
        self._chance = chance
        self._longest = 1
        self.unpublished = unpublished

    def job_has(self, epochs: int) -> None:
        self._longest = max(self._longest, epochs)

    @property
    def epoch(self) -> int:
        return self._given or 1 + int(self._chance * self._longest)


def _rows_of(split: Any) -> int:
    """At least as many rows as the split has: lines of text files (a change may hold two rows)."""
    return sum(_rows_of_part(part) for part in getattr(split, "parts", ("values",)))


def _rows_of_part(part: Any) -> int:
    if isinstance(part, tuple):
        return int(part[1] or 0)
    file = getattr(part, "file", None)
    if file is None:
        return 1
    path = pathlib.Path(file.path.removeprefix("file://"))
    data = path.read_bytes()
    text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    return text[part.start : part.start + part.length].rstrip().count(b"\n") + 1

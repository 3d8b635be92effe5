"""Rounds of faults without Spark: a job is tormented until it has ended, then its output is compared with the model.

A round is one job with one input. It is run, struck, damaged between runs and run again, as a seeded adversary likes;
the last run is left alone. Damage that a job reports is undone and the job goes on, so that each round ends with a
comparison of all records. The same seed gives the same rounds.
"""

from __future__ import annotations

import json
import pathlib
import random
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from processes import lines

from chaos import damage, jobs
from chaos.faults import ACTIONS, FILE_POINTS, Fault
from chaos.victim import FAILED, OK, Victims
from penstock.common.points import Point

NUMBERS = 500
RECORDS = {"stream": 25, "sql": 10}
STORAGE = ("disk full", "storage read-only", "storage failing", "storage slow")
_RUNS = 14
_REPORTS = ("a state file is", "not a state file", "newest checkpoint is damaged")


@dataclass
class Outcome:
    """What came of the faults of a kind."""

    faults: int = 0
    lost: int = 0
    doubled: int = 0
    undetected: int = 0


@dataclass
class Tally:
    """All outcomes, by kind of fault."""

    kinds: dict[str, Outcome] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def faults(self) -> int:
        return sum(outcome.faults for outcome in self.kinds.values())

    def of(self, kind: str) -> Outcome:
        return self.kinds.setdefault(kind, Outcome())

    @property
    def clean(self) -> bool:
        return not self.problems and not any(o.lost or o.doubled or o.undetected for o in self.kinds.values())

    def table(self) -> str:
        """Kinds of faults by what became of the records of their rounds."""
        rows = [f"{'fault':34} {'struck':>7} {'survived':>9} {'lost':>6} {'doubled':>8} {'undetected':>11}"]
        for kind, o in sorted(self.kinds.items()):
            survived = o.faults if not (o.lost or o.doubled or o.undetected) else 0
            rows.append(f"{kind:34} {o.faults:7} {survived:9} {o.lost:6} {o.doubled:8} {o.undetected:11}")
        rows.append(f"{len(self.kinds)} kinds, {self.faults} faults")
        return "\n".join(rows + self.problems)


def table_of(places: Mapping[str, Tally]) -> str:
    """How often each kind of fault has struck in each place, and what became of the records of those rounds."""
    kinds = sorted({kind for tally in places.values() for kind in tally.kinds})
    heads = "".join(f" {place:>13}" for place in places)
    rows = [f"{'fault':34}{heads} {'lost':>6} {'duplicated':>11} {'undetected':>11}"]

    def row(name: str, outcomes: Mapping[str, list[Outcome]]) -> str:
        struck = "".join(f" {sum(o.faults for o in found) or '-':>13}" for found in outcomes.values())
        all_ = [o for found in outcomes.values() for o in found]
        lost, doubled = sum(o.lost for o in all_), sum(o.doubled for o in all_)
        return f"{name:34}{struck} {lost:6} {doubled:11} {sum(o.undetected for o in all_):11}"

    for kind in kinds:
        rows.append(row(kind, {p: [t.kinds[kind]] if kind in t.kinds else [] for p, t in places.items()}))
    rows.append(row(f"{len(kinds)} kinds", {p: list(t.kinds.values()) for p, t in places.items()}))
    rows.append(f"{sum(tally.faults for tally in places.values())} faults")
    return "\n".join(rows + [problem for tally in places.values() for problem in tally.problems])


class Round:
    """One job, from its first start to its end."""

    def __init__(self, victims: Victims, folder: pathlib.Path, seed: int, tally: Tally) -> None:
        self._victims = victims
        self._folder = folder
        self._seed = seed
        self._chance = random.Random(seed)
        self._tally = tally
        self._job = self._chance.choice(["stream", "stream", "sql"])
        self._kinds: Counter[str] = Counter()
        self._inline = self._chance.choice([64, 256 * 1024])
        self._settings = self._chance.choice([{}, {"execution.checkpointing.interval": "100 ms"}])
        if self._chance.random() < 0.25:  # each takes half a second
            self._settings = {**self._settings, **jobs.WRITTEN_BESIDE}
        self._undetected = ""

    def run(self) -> None:
        """Raises AssertionError if the job cannot be brought to its end at all."""
        jobs.prepare(self._job, self._folder, NUMBERS)
        code = FAILED
        for _ in range(_RUNS):
            code = self._one_run()
            if code == OK:
                break
            self._between_runs()
        else:
            code = self._victim([])
        if code != OK:
            log = (self._folder / "job.log").read_text()[-2000:]
            self._tally.problems.append(f"seed {self._seed} ({self._job}): exit code {code}\n{log}")
        self._judge()

    def _victim(self, faults: list[Fault], **more: object) -> int:
        chosen = {
            "inline_bytes": self._inline, "records": RECORDS[self._job], "retain_every": 4,
            "settings": self._settings, **more,
        }  # fmt: skip
        return self._victims.run(self._job, self._folder, NUMBERS, faults=faults, **chosen)  # type: ignore[arg-type]

    def _one_run(self) -> int:
        chance = self._chance
        faults = [self._random_fault() for _ in range(chance.randint(1, 4))]
        lost = [chance.randint(1, 40) for _ in range(chance.randint(0, 2))]
        twice = [chance.randint(1, 40) for _ in range(chance.randint(0, 2))]
        code = self._victim(
            faults, lost=lost, twice=twice, savepoint_at=chance.choice([0, 2]), ended=[chance.randint(1, 4)]
        )
        self._count_struck()
        return code

    def _random_fault(self) -> Fault:
        chance = self._chance
        kind = chance.choice([*ACTIONS, "driver killed", "driver killed", "driver killed", "exception"])
        if kind in STORAGE:
            return Fault(kind, Point.FILE_NEXT.name, chance.randint(1, 60), chance.randint(1, 6))
        files = chance.random() < 0.2
        point = chance.choice(FILE_POINTS if files else list(Point))
        return Fault(kind, point.name, chance.randint(1, 30 if files else 5))

    def _count_struck(self) -> None:
        path = self._folder / "struck"
        if path.exists():
            for line in path.read_text().splitlines():
                self._kinds[json.loads(line)["kind"]] += 1
            path.unlink()

    # -- between runs --------------------------------------------------------------------------------

    def _between_runs(self) -> None:
        self._unmark()
        if self._chance.random() < 0.3:
            damage.leave_rubbish(self._folder, self._chance)
            self._kinds["rubbish left behind"] += 1
        if self._chance.random() < 0.7:
            self._damage_checkpoint()
        if self._chance.random() < 0.5:
            self._damage_savepoint()
        self._unmark()

    def _damage_checkpoint(self) -> None:
        found = damage.kinds_of_files(self._folder)
        if not found:
            return
        what = self._chance.choice(sorted(found))
        path = self._chance.choice(found[what])
        done = damage.inflict(what, path, self._chance.choice(damage.WAYS), self._chance)
        self._kinds[done.kind] += 1
        copy = path.with_name("_metadata_copy")
        if what == "metadata" and (done.way == "deleted" or self._chance.random() < 0.5 or not copy.exists()):
            return  # there is a copy, and the next run goes on from it; or the copy is not written yet
        also = damage.inflict("copy", copy, "bit flipped", self._chance) if what == "metadata" else None
        before = self._log_size()
        code = self._victim([])
        told = self._log_since(before)
        if code == OK or not any(words in told for words in _REPORTS):
            self._undetected = f"{done.kind}: exit code {code}\n{told[-1500:]}"
            self._tally.of(done.kind).undetected += 1
            self._tally.problems.append(f"seed {self._seed} ({self._job}): {self._undetected}")
        for damaged in (done, also):
            if damaged is not None:
                damaged.undo()
        self._unmark()

    def _damage_savepoint(self) -> None:
        """Another job starts from a savepoint of which one file is damaged: it must be refused."""
        files = damage.savepoint_files(self._folder)
        if not files:
            return
        path = self._chance.choice(files)
        done = damage.inflict("savepoint", path, self._chance.choice(damage.WAYS), self._chance)
        self._kinds[done.kind] += 1
        root = path if path.parent.parent.name == "savepoints" else path.parent.parent.parent
        root = root.parent if root.is_file() or not root.is_dir() else root
        other = self._folder / "other"
        other.mkdir(exist_ok=True)
        if self._job == "sql":
            shutil.copytree(self._folder / "in", other / "in", dirs_exist_ok=True)
        settings = {"execution.state-recovery.path": str(root)}
        code = self._victims.run(self._job, other, NUMBERS, records=RECORDS[self._job], settings=settings)
        if code == OK or lines(other / "out"):
            told = (other / "job.log").read_text()[-1500:]
            self._tally.of(done.kind).undetected += 1
            self._tally.problems.append(
                f"seed {self._seed} ({self._job}): {done.kind} {path}: {code}\n{told}"
            )
        shutil.rmtree(other)
        done.undo()

    def _unmark(self) -> None:
        """A job that has failed for good is not gone on with by itself; here somebody has mended it."""
        for path in self._folder.glob("chk/*/_ended"):
            path.unlink()

    def _log_size(self) -> int:
        return (self._folder / "job.log").stat().st_size

    def _log_since(self, size: int) -> str:
        return (self._folder / "job.log").read_bytes()[size:].decode(errors="replace")

    # -- the end -------------------------------------------------------------------------------------

    def _judge(self) -> None:
        got, expected = Counter(lines(self._folder / "out")), Counter(jobs.MODEL[self._job](NUMBERS))
        lost, doubled = (expected - got).total(), (got - expected).total()
        for kind, count in self._kinds.items():
            outcome = self._tally.of(kind)
            outcome.faults += count
            outcome.lost += lost
            outcome.doubled += doubled
        if lost or doubled:
            self._tally.problems.append(
                f"seed {self._seed} ({self._job}): {lost} lost, {doubled} doubled; {dict(self._kinds)}; "
                f"e.g. {list((expected - got) + (got - expected))[:3]}"
            )


def campaign(
    victims: Victims, root: pathlib.Path, seed: int, faults: int, tell: Callable[[str], None]
) -> Tally:
    """Rounds until so many faults have struck."""
    tally = Tally()
    number = 0
    while tally.faults < faults and len(tally.problems) < 20:
        folder = root / f"round-{number}"
        problems = len(tally.problems)
        try:
            Round(victims, folder, seed + number, tally).run()
        except KeyboardInterrupt:  # enough: what was seen so far is told
            break
        if len(tally.problems) == problems:
            shutil.rmtree(folder, ignore_errors=True)
        number += 1
        tell(f"round {number}: {tally.faults} faults, {len(tally.problems)} problems")
    return tally

"""Torments a job on Spark: real processes are killed and paused, on this machine or on a small standalone cluster."""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable

from processes import children, epochs_done, lines, log_of, stop, wait_for, workers

from chaos import jobs, orders
from chaos.campaign import Tally
from chaos.faults import TASK_POINTS
from penstock.common.points import Point
from tests.servers.spark_cluster import SparkCluster

_HERE = pathlib.Path(__file__).parent
_ROOT = _HERE.parent.parent.parent
_DRIVER_POINTS = (
    Point.PLANNED,
    Point.REPORTED,
    Point.METADATA_NEXT,
    Point.METADATA_WRITTEN,
    Point.PUBLISH_NEXT,
    Point.COMMITTER_DONE,
    Point.PUBLISHED,
    Point.SOURCES_TOLD,
)


class Torment:
    """One job, from its first start to its end, with so many faults on the way."""

    def __init__(
        self, job: str, folder: pathlib.Path, seed: int, tally: Tally, cluster: SparkCluster | None = None
    ) -> None:
        self._job = job
        self._folder = folder
        self._chance = random.Random(seed)
        self._tally = tally
        self._cluster = cluster
        self._orders = folder / "orders"
        self._kinds: Counter[str] = Counter()
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, faults: int, kinds: list[str] | None = None) -> None:
        """Strikes after an epoch or more; if `kinds` does not say how, with each kind before one comes again."""
        numbers, records = 60 * (faults + 4), 15
        deck: list[str] = []
        jobs.prepare(self._job, self._folder, numbers)
        self._orders.mkdir()
        try:
            for _ in range(faults):
                if not self._wait_for_an_epoch(numbers, records):
                    break
                strikes = self._strikes()
                if not deck:
                    deck = (
                        list(reversed(kinds)) if kinds else self._chance.sample(sorted(strikes), len(strikes))
                    )
                kind = deck.pop()
                time.sleep(self._chance.uniform(0, 0.5))
                strikes[kind]()
                self._kinds[kind] += 1
            self._let_it_end(numbers, records)
        finally:
            self._stop()
        self._judge(numbers)

    # -- the job -------------------------------------------------------------------------------------

    def _begin(self, numbers: int, records: int) -> subprocess.Popen[bytes]:
        path = os.pathsep.join(map(str, (_HERE / "site", _ROOT, _HERE.parent)))
        environment = {**os.environ, "PYTHONPATH": path, "PENSTOCK_CHAOS_ORDERS": str(self._orders)}
        settings = [f"{key}={value}" for key, value in jobs.WRITTEN_BESIDE.items()]
        if self._cluster is not None:
            settings += [
                f"spark.master={self._cluster.url}", "spark.executor.memory=512m", "spark.executor.cores=1",
                f"spark.executorEnv.PYTHONPATH={path}", f"spark.executorEnv.PENSTOCK_CHAOS_ORDERS={self._orders}",
                "spark.task.maxFailures=8", "spark.speculation=true", "spark.speculation.interval=200ms",
                "spark.speculation.multiplier=2", "spark.speculation.quantile=0.5",
            ]  # fmt: skip
        command = [sys.executable, str(_HERE / "program.py"), self._job, str(self._folder), str(numbers)]
        with (self._folder / "job.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, str(records), *settings], stdout=log, stderr=log, env=environment, start_new_session=True
            )  # fmt: skip
        return self._process

    def _wait_for_an_epoch(self, numbers: int, records: int) -> bool:
        """False if the job has come to its end."""
        while True:
            process = self._process
            if process is None or process.poll() not in (None, 0):
                self._stop()
                process = self._begin(numbers, records)
            before = epochs_done(self._folder)
            moved = wait_for(lambda b=before: epochs_done(self._folder) > b, process, self._folder)  # type: ignore[misc]
            if moved or process.poll() == 0:
                return process.poll() != 0

    def _let_it_end(self, numbers: int, records: int) -> None:
        for name in [p.name for p in self._orders.iterdir() if not p.name.startswith(".")]:
            (self._orders / name).unlink(missing_ok=True)
        for _ in range(3):
            process = self._process
            if process is None or process.poll() not in (None, 0):
                self._stop()
                process = self._begin(numbers, records)
            if process.wait(600) == 0:
                return
        raise AssertionError(f"the job does not come to its end:\n{log_of(self._folder)}")

    def _stop(self) -> None:
        if self._process is not None:
            stop(self._process)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)  # a JVM whose driver has died

    # -- faults --------------------------------------------------------------------------------------

    def _strikes(self) -> dict[str, Callable[[], None]]:
        everywhere = {
            "driver killed": self._kill_driver,
            "python worker killed": lambda: self._signal(self._python_workers(), signal.SIGKILL),
            "python worker paused": lambda: self._pause(self._python_workers()),
            "driver paused": lambda: self._pause([self._pid]),
            "killed at a point of the driver": lambda: self._order("driver killed", _DRIVER_POINTS),
            "killed at a point of a task": lambda: self._order("driver killed", TASK_POINTS),
            "exception at a point": lambda: self._order("exception", (*_DRIVER_POINTS, *TASK_POINTS)),
            "storage read-only": lambda: orders.give_storage(self._orders, "storage read-only", 1.0),
            "storage failing": lambda: orders.give_storage(self._orders, "storage failing", 1.0),
            "storage slow": lambda: orders.give_storage(self._orders, "storage slow", 2.0),
            "clock moved": lambda: self._order("clock moved", _DRIVER_POINTS),
        }
        if self._cluster is None:
            return {
                **everywhere,
                "JVM paused": lambda: self._pause(self._jvms()),
                "disk full": self._fill_disk,
            }
        cluster = self._cluster
        return {
            **everywhere,
            "executor killed": lambda: self._signal(cluster.executors(), signal.SIGKILL),
            "executor paused": lambda: self._pause(cluster.executors()),
            "spark worker process killed": lambda: self._kill_spark_worker(os.kill),
            "host lost": lambda: self._kill_spark_worker(os.killpg),
        }

    @property
    def _pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def _python_workers(self) -> list[int]:
        if self._cluster is None:
            return workers(self._pid)
        return [pid for executor in self._cluster.executors() for pid in workers(executor)]

    def _jvms(self) -> list[int]:
        return [pid for pid, (_, line) in children(self._pid).items() if "java" in line.split(" ", 1)[0]]

    def _signal(self, found: list[int], number: int) -> None:
        if found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._chance.choice(sorted(found)), number)

    def _pause(self, found: list[int]) -> None:
        if not found:
            return
        pid = self._chance.choice(sorted(found))
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(self._chance.uniform(0.5, 2))
            os.kill(pid, signal.SIGCONT)

    def _kill_driver(self) -> None:
        """With its JVM and, on one machine, its workers: all that belongs to the process group."""
        assert self._process is not None
        stop(self._process)

    def _order(self, kind: str, where: tuple[Point, ...]) -> None:
        """Waits until a process has taken the order, or the job is at its end."""
        point = self._chance.choice(where)
        orders.give(self._orders, kind, point)
        deadline = time.monotonic() + 20
        while not orders.taken(self._orders, point) and time.monotonic() < deadline:
            if self._process is None or self._process.poll() is not None:
                break
            time.sleep(0.02)
        orders.withdraw(self._orders, point)

    def _fill_disk(self) -> None:
        """If the checkpoints are on a small disk, it is full for a while (see `small_disk`); else one says so."""
        filler = self._folder / "chk" / "filler"
        if not (self._folder / "chk").is_mount():
            orders.give_storage(self._orders, "disk full", 1.0)
            return
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as out:
            while True:
                out.write(b"\0" * 65536)
        time.sleep(1.5)
        filler.unlink(missing_ok=True)

    def _kill_spark_worker(self, kill: Callable[[int, int], None]) -> None:
        """The standalone Worker's JVM alone, or with its executor, as if the host was lost; another one comes."""
        assert self._cluster is not None
        alive = self._cluster.workers()
        if len(alive) > 1:
            kill(self._chance.choice(alive), signal.SIGKILL)
            self._cluster.add_worker()

    # -- the end -------------------------------------------------------------------------------------

    def _judge(self, numbers: int) -> None:
        got, expected = Counter(lines(self._folder / "out")), Counter(jobs.MODEL[self._job](numbers))
        lost, doubled = (expected - got).total(), (got - expected).total()
        for kind, count in self._kinds.items():
            outcome = self._tally.of(kind)
            outcome.faults += count
            outcome.lost += lost
            outcome.doubled += doubled
        if lost or doubled:
            said = f"{self._job}: {lost} lost, {doubled} doubled; {dict(self._kinds)}\n{log_of(self._folder)}"
            self._tally.problems.append(said)


@contextlib.contextmanager
def small_disk(folder: pathlib.Path, size: str = "12m") -> object:  # type: ignore[misc]
    """The checkpoints of a job on a disk of their own, if this process may mount one."""
    place = folder / "chk"
    place.mkdir(parents=True)
    mounted = (
        shutil.which("mount") is not None
        and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], capture_output=True
        ).returncode
        == 0
    )
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(place)], capture_output=True)

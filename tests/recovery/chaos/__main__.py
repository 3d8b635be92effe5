"""`python -m chaos FAULTS [SEED] [PLACE …]`: torments jobs and prints what became of their records.

process    without Spark, where a fault costs a second: most of the faults
spark      processes of a local Spark are killed and paused, its disk is filled
cluster    the same on a standalone cluster of three workers; executors, Spark's workers and hosts are lost, too
"""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable

from chaos.campaign import Tally, campaign, table_of
from chaos.on_spark import Torment, small_disk
from chaos.victim import victims
from tests.servers.spark_cluster import spark_cluster

_OF_A_JOB = 20


def in_process(root: pathlib.Path, seed: int, faults: int) -> Tally:
    with victims() as started:
        return campaign(started, root, seed, faults, say)


def on_spark(root: pathlib.Path, seed: int, faults: int) -> Tally:
    def torment(folder: pathlib.Path, job: str, number: int, count: int, tally: Tally) -> None:
        with small_disk(folder):
            Torment(job, folder, seed + number, tally).run(count)

    return _jobs(root, faults, torment)


def on_cluster(root: pathlib.Path, seed: int, faults: int) -> Tally:
    with spark_cluster(workers=3) as cluster:

        def torment(folder: pathlib.Path, job: str, number: int, count: int, tally: Tally) -> None:
            Torment(job, folder, seed + number, tally, cluster).run(count)

        return _jobs(root, faults, torment)


def _jobs(root: pathlib.Path, faults: int, torment: Callable[..., None]) -> Tally:
    tally, number = Tally(), 0
    while tally.faults < faults and not tally.problems:
        folder = root / f"job-{number}"
        job = "sql" if number % 3 == 2 else "stream"
        try:
            torment(folder, job, number, min(_OF_A_JOB, faults - tally.faults), tally)
        except AssertionError as error:
            tally.problems.append(f"{job} in {folder}: {error}")
        number += 1
        say(f"job {number}: {tally.faults} faults, {len(tally.problems)} problems")
    return tally


PLACES = {"process": (in_process, 0.85), "spark": (on_spark, 0.1), "cluster": (on_cluster, 0.05)}

NAMES = {"process": "in process", "spark": "local Spark", "cluster": "cluster"}


def main() -> int:
    faults = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    places = sys.argv[3:] or list(PLACES)
    share = sum(PLACES[place][1] for place in places)
    told: dict[str, Tally] = {}
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for place in places:
        run, part = PLACES[place]
        root = pathlib.Path(tempfile.mkdtemp(prefix=f"penstock-chaos-{place}-"))
        say(f"{place}: SEED={seed}, in {root}")
        tally = run(root, seed, max(1, round(faults * part / share)))
        say(tally.table())
        told[NAMES[place]] = tally
        if tally.clean:
            with contextlib.suppress(OSError):
                shutil.rmtree(root)
    say(f"\nSEED={seed}\n{table_of(told)}")
    return 0 if all(tally.clean for tally in told.values()) else 1


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

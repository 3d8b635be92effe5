"""A keyed job on a real standalone cluster: one executor killed, penstock not installed on the others."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import penstock
from tests.cluster.job import KEYS, ROWS_PER_EPOCH
from tests.servers.spark_cluster import SparkCluster, spark_cluster

EPOCHS = 20
_WAIT_S = 400
_ROOT = pathlib.Path(penstock.__file__).parent.parent


@pytest.fixture(scope="module")
def cluster() -> Iterator[SparkCluster]:
    with spark_cluster(workers=2) as started:
        yield started


class Job:
    """A run of `job.py`; `wait_for_rows` follows what it says about its progress."""

    def __init__(self, cluster: SparkCluster, checkpoints: pathlib.Path, epochs: int, *settings: str) -> None:
        command = [
            sys.executable,
            "-m",
            "tests.cluster.job",
            cluster.url,
            str(checkpoints),
            str(epochs),
            *settings,
        ]
        self._process = subprocess.Popen(
            command, cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(_ROOT)},
        )  # fmt: skip
        self._progress: list[str] = []
        self._moved = threading.Condition()
        self._reader = threading.Thread(target=self._follow, daemon=True)
        self._reader.start()

    def _follow(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            with self._moved:
                self._progress.append(line)
                self._moved.notify_all()
        with self._moved:
            self._progress.append("ended")
            self._moved.notify_all()

    def wait_for_rows(self) -> None:
        with self._moved:
            seen = self._moved.wait_for(
                lambda: any("rows" in p or p == "ended" for p in self._progress), _WAIT_S
            )
        assert seen and self._progress[-1] != "ended", "".join(self._progress)

    def result(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        timer = threading.Timer(_WAIT_S, self._process.kill)
        timer.start()
        out = self._process.stdout.read()
        self._process.wait()
        timer.cancel()
        self._reader.join(10)
        assert self._process.returncode == 0, "".join(self._progress)[-6000:]
        found: dict[str, Any] = json.loads(out.splitlines()[-1])
        return found

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()


def counts_agree(rows: list[list[int]], epochs: int | None = None) -> bool:
    """Every number once, and the counts of a key are 1, 2, 3 …, in whichever order its numbers came.

    Without `epochs` the job was ended before it had come to its last number, after whole epochs or not.
    """
    by_key: dict[int, list[int]] = {}
    for number, count in rows:
        by_key.setdefault(number % KEYS, []).append(count)
    numbers = sorted(number for number, _ in rows)
    once = (
        len(set(numbers)) == len(numbers)
        if epochs is None
        else numbers == list(range(epochs * ROWS_PER_EPOCH))
    )
    return once and all(sorted(found) == list(range(1, len(found) + 1)) for found in by_key.values())


def test_subtasks_come_back_to_the_executor_and_process_that_has_their_state(
    cluster: SparkCluster, tmp_path: pathlib.Path
) -> None:
    result = Job(cluster, tmp_path, EPOCHS).result()
    assert counts_agree(result["rows"], EPOCHS)
    warm = [tuple(epoch) for epoch in result["warm"]]
    steady = warm[len(warm) // 2 :]  # executors register one after the other, and slots with them
    assert sum(w for w, _ in steady) >= 0.99 * sum(n for _, n in steady), warm


def test_a_job_goes_on_when_an_executor_is_killed(cluster: SparkCluster, tmp_path: pathlib.Path) -> None:
    job = Job(cluster, tmp_path, 2 * EPOCHS, "restart-strategy.type=fixed-delay",
              "restart-strategy.fixed-delay.attempts=20", "restart-strategy.fixed-delay.delay=1 s")  # fmt: skip
    try:
        job.wait_for_rows()
        os.kill(cluster.executors()[0], signal.SIGKILL)
        assert counts_agree(job.result()["rows"], 2 * EPOCHS)
    finally:
        job.stop()


def test_a_job_is_rescaled_while_it_runs(cluster: SparkCluster, tmp_path: pathlib.Path) -> None:
    result = Job(cluster, tmp_path, EPOCHS, "rescale=2").result()
    assert counts_agree(result["rows"], EPOCHS)
    assert result["parallelism"] == [3, 2] and result["restarts"] == 0


def test_a_reactive_job_follows_the_executors_that_come(tmp_path: pathlib.Path) -> None:
    with spark_cluster(workers=1) as growing:
        job = Job(growing, tmp_path, 100 * EPOCHS, "scheduler-mode=reactive", "until=2")
        try:
            job.wait_for_rows()
            growing.add_worker()
            result = job.result()
        finally:
            job.stop()
    # Each key's counts of rows that were seen follow each other, before and after.
    assert counts_agree(result["rows"]) and result["parallelism"][-2:] == [1, 2]


def test_executors_without_penstock_are_sent_it(cluster: SparkCluster, tmp_path: pathlib.Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(
        f"import sys\nsys.path[:] = [p for p in sys.path if p.rstrip('/') != {str(_ROOT)!r}]\n"
    )
    result = Job(cluster, tmp_path / "checkpoints", 3, f"spark.executorEnv.PYTHONPATH={hidden}").result()
    assert counts_agree(result["rows"], 3)

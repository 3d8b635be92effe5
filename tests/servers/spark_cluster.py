"""A standalone Spark cluster on loopback, from the pyspark package: a master, and workers with an executor each."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator

import pyspark

from tests.servers.process import free_port

_START_S = 400
"""A JVM took more than 90 s to come up where twenty others wanted each core."""


class SparkCluster:
    """`url` is what `spark.master` wants."""

    def __init__(self, workers: int, cores: int = 1, memory: str = "700m") -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-spark-"))
        self._processes: list[subprocess.Popen[bytes]] = []
        port, self._web = free_port(), free_port()
        self.url = f"spark://127.0.0.1:{port}"
        self._cores, self._memory = cores, memory
        self._workers = 0
        try:
            self._start("master", "master.Master", "--port", str(port), "--webui-port", str(self._web))
            self._wait_for_workers(0)
            for _ in range(workers):
                self.add_worker()
            self._wait_for_workers(workers)
        except BaseException:
            self.stop()
            raise

    def add_worker(self) -> None:
        """Starts one more; it comes when it comes."""
        number, self._workers = self._workers, self._workers + 1
        self._start(
            f"worker-{number}", "worker.Worker", "--cores", str(self._cores), "--memory", self._memory,
            "--webui-port", "0", "--work-dir", str(self.folder / f"work-{number}"), self.url,
        )  # fmt: skip

    def workers(self) -> list[int]:
        """The process groups of the workers that live, each with its executors; the master is not one of them."""
        return [process.pid for process in self._processes[1:] if process.poll() is None]

    def _start(self, name: str, main: str, *arguments: str) -> None:
        home = os.path.dirname(pyspark.__file__)
        command = [
            os.path.join(home, "bin", "spark-class"),
            f"org.apache.spark.deploy.{main}",
            "--host",
            "127.0.0.1",
        ]
        environment = {
            **os.environ,
            "SPARK_HOME": home,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": sys.executable,
        }
        with open(self.folder / f"{name}.log", "wb") as log:
            self._processes.append(
                subprocess.Popen(
                    [*command, *arguments], env=environment, stdout=log, stderr=log, start_new_session=True
                )
            )

    def _wait_for_workers(self, count: int) -> None:
        deadline = time.monotonic() + _START_S
        seen = "nothing"
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                with urllib.request.urlopen(f"http://127.0.0.1:{self._web}/json/", timeout=5) as answer:
                    seen = answer.read().decode()
                if seen.count('"ALIVE"') >= count + (count > 0):  # the master says so of itself too
                    return
            time.sleep(0.2)
        raise AssertionError(f"the cluster has not {count} workers after {_START_S} s: {seen}")

    def executors(self) -> list[int]:
        """The process ids of the executors' JVMs."""
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                command = (folder / "cmdline").read_bytes()
                if b"CoarseGrainedExecutorBackend" in command and self.url.encode() in _ancestors(folder):
                    found.append(int(folder.name))
        return found

    def stop(self) -> None:
        for process in reversed(self._processes):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        for process in self._processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(20)


def _ancestors(folder: pathlib.Path) -> bytes:
    """The command of the parent of a process: the worker that has started it."""
    parent = next(
        line.split()[1] for line in (folder / "status").read_text().splitlines() if line.startswith("PPid:")
    )
    return pathlib.Path("/proc", parent, "cmdline").read_bytes()


@contextlib.contextmanager
def spark_cluster(workers: int, cores: int = 1) -> Iterator[SparkCluster]:
    cluster = SparkCluster(workers, cores)
    try:
        yield cluster
    finally:
        cluster.stop()

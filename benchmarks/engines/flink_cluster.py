"""A real Flink cluster on this machine for one program: a JobManager and a TaskManager with two slots.

PyFlink's default is a local cluster inside the program; it starts anew for every query, which would be measured too.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping

SETTINGS = {
    "jobmanager.rpc.address": "localhost",
    "jobmanager.bind-host": "localhost",
    "jobmanager.memory.process.size": "1600m",
    "taskmanager.host": "localhost",
    "taskmanager.bind-host": "localhost",
    "taskmanager.memory.process.size": "5g",
    "taskmanager.numberOfTaskSlots": "2",
    "parallelism.default": "2",
    "rest.address": "localhost",
    "rest.bind-address": "localhost",
}


LARGE_STATE = {"taskmanager.memory.process.size": "12g", "taskmanager.memory.managed.fraction": "0.1"}
"""For streaming jobs that keep gigabytes on the heap: about 8 GB of it, since only batch uses managed memory."""

_ENDED = ("CANCELED", "FAILED", "FINISHED")


@contextlib.contextmanager
def flink_cluster(
    python: str, jars: list[str], more: Mapping[str, str] | None = None
) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Gives the command that runs a Python program on the cluster, and its environment.

    Args:
        python: Where PyFlink is installed.
        jars: Put on the class path.
        more: Settings beside `SETTINGS`, or instead of them.
    """
    find = "import pyflink, os; print(os.path.dirname(pyflink.__file__))"
    home = pathlib.Path(subprocess.check_output([python, "-c", find], text=True).strip())
    with tempfile.TemporaryDirectory() as folder:
        port = _configure(home, pathlib.Path(folder), more or {})
        environment = {
            **os.environ,
            "FLINK_HOME": str(home),
            "FLINK_CONF_DIR": folder,
            "FLINK_LOG_DIR": folder,
        }
        environment["HADOOP_CLASSPATH"] = os.pathsep.join(jars)
        environment["PATH"] = os.path.dirname(python) + os.pathsep + environment["PATH"]
        services = []
        try:
            for name in ("jobmanager", "taskmanager"):
                with open(pathlib.Path(folder) / f"{name}.out", "w") as out:
                    start = [str(home / "bin" / f"{name}.sh"), "start-foreground"]
                    services.append(subprocess.Popen(start, env=environment, stdout=out, stderr=out))
            _wait_for_slots(port, services, pathlib.Path(folder))
            yield [str(home / "bin" / "flink"), "run", "-pyclientexec", python, "-py"], environment
        finally:
            for service in services:
                service.kill()
                service.wait()


def cancel_jobs(environment: dict[str, str]) -> None:
    """Ends what still runs on the cluster of `environment`: a client that is gone leaves its job behind."""
    configuration = pathlib.Path(environment.get("FLINK_CONF_DIR", "/nowhere")) / "config.yaml"
    port = re.search(
        r"^rest.port: (\d+)$", configuration.read_text() if configuration.exists() else "", re.MULTILINE
    )
    if port is None:
        return
    jobs = f"http://localhost:{port[1]}/jobs"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with urllib.request.urlopen(jobs, timeout=10) as answer:
            alive = [job["id"] for job in json.load(answer)["jobs"] if job["status"] not in _ENDED]
        if not alive:
            return
        for job in alive:
            cancel = urllib.request.Request(f"{jobs}/{job}?mode=cancel", method="PATCH")
            with contextlib.suppress(OSError):
                urllib.request.urlopen(cancel, timeout=10).close()
        time.sleep(0.5)
    raise SystemExit("a job on the Flink cluster cannot be cancelled")


def _configure(home: pathlib.Path, folder: pathlib.Path, more: Mapping[str, str]) -> int:
    """Writes the configuration and the logging of a quiet cluster on free ports; says where its REST API is."""
    ports = {key: _free_port() for key in ("jobmanager.rpc.port", "rest.port")}
    shipped = (home / "conf" / "config.yaml").read_text()
    options = re.search(r"^ +all: (.*)$", shipped, re.MULTILINE)
    settings = {**SETTINGS, **more, **ports, "rest.bind-port": ports["rest.port"], "io.tmp.dirs": folder}
    settings["env.java.opts.all"] = options[1] if options else ""
    (folder / "config.yaml").write_text("".join(f"{key}: {value}\n" for key, value in settings.items()))
    for name in ("log4j.properties", "log4j-console.properties", "log4j-cli.properties"):
        (folder / name).write_text("rootLogger.level = OFF\n")
    return ports["rest.port"]


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port: int = free.getsockname()[1]
        return port


def _wait_for_slots(port: int, services: list[subprocess.Popen[bytes]], folder: pathlib.Path) -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline and all(service.poll() is None for service in services):
        if _slots(port) == 2:
            return
        time.sleep(0.5)
    said = "".join(path.read_text()[-1500:] for path in folder.glob("*.out"))
    raise SystemExit(f"the Flink cluster did not start:\n{said}")


def _slots(port: int) -> int:
    try:
        with urllib.request.urlopen(f"http://localhost:{port}/overview", timeout=10) as answer:
            slots: int = json.load(answer).get("slots-total", 0)
            return slots
    except OSError:
        return 0  # not up yet

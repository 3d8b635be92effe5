"""Shared by the benchmarks that start and kill whole programs: the processes of a session, and what they use."""

from __future__ import annotations

import os
import pathlib
import re
from dataclasses import dataclass

_DAEMON = re.compile(r"(pyspark|penstock\.runtime\.spark)\.daemon")


@dataclass(frozen=True)
class Member:
    """A process: the driver, a JVM or a Python worker."""

    pid: int
    kind: str
    memory_mb: float
    """What it has for itself; pages that it shares are counted nowhere."""
    threads: int
    open_files: int
    cpu_seconds: float


def members(session: int) -> list[Member]:
    """The living processes of a session. PySpark's daemon makes a process group of its own, but stays in it."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(entry.name)) == session:
                found.append(_member(entry))
        except OSError:  # it has ended meanwhile
            continue
    return sorted(found, key=lambda member: member.pid)


def _member(entry: pathlib.Path) -> Member:
    line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    # The JVM names the module of the daemon in its settings: it has to be recognized first.
    kind = "JVM" if "java" in line.split(" ")[0] else "worker" if _DAEMON.search(line) else "driver"
    status = (entry / "status").read_text()
    return Member(
        int(entry.name),
        kind,
        _field(status, "RssAnon") / 1024,
        int(_field(status, "Threads")),
        len(os.listdir(entry / "fd")),
        _cpu_seconds((entry / "stat").read_text()),
    )


def _field(status: str, name: str) -> float:
    match = re.search(rf"^{name}:\s+(\d+)", status, re.MULTILINE)
    return float(match[1]) if match else 0.0


def _cpu_seconds(stat: str) -> float:
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

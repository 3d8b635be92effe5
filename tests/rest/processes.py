"""What a process holds, and those that it has started, by /proc."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

_PROC = pathlib.Path("/proc")
_LISTENS = "0A"


@dataclass(frozen=True)
class Held:
    """Counts of a process and all its descendants."""

    processes: int
    threads: int
    files: int
    ports: int
    kibibytes: int

    def exceeds(self, other: Held, slack: int = 0) -> list[str]:
        """Where there is more than there was; memory may differ, threads and files by `slack`."""
        allowed = {"processes": 0, "threads": slack, "files": slack, "ports": 0}
        return [
            f"{getattr(self, name)} {name}, {getattr(other, name)} before"
            for name, more in allowed.items()
            if getattr(self, name) > getattr(other, name) + more
        ]


def held_by(pid: int) -> Held:
    listening = _listening()
    pids = [pid, *_descendants(pid)]
    open_files = [link for each in pids for link in _links(each)]
    return Held(
        len(pids),
        sum(_names(each, "task") for each in pids),
        len(open_files),
        sum(1 for link in open_files if link in listening),
        sum(map(_resident, pids)),
    )


def programs_of(pid: int) -> int:
    """How many programs of a session run, or have ended and are not waited for."""
    found = 0
    for child in _descendants(pid):
        with contextlib.suppress(OSError):
            line = (_PROC / str(child) / "cmdline").read_bytes()
            found += b"program_process" in line or not line
    return found


def _descendants(pid: int) -> Iterator[int]:
    """Children of children too; one that has ended and is not waited for counts."""
    parents: dict[int, list[int]] = {}
    for entry in _PROC.glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = entry.read_text().rpartition(")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    waiting = [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        waiting.extend(children)
        yield from children


def _names(pid: int, folder: str) -> int:
    try:
        return len(os.listdir(_PROC / str(pid) / folder))
    except OSError:
        return 0


def _links(pid: int) -> Iterator[str]:
    with contextlib.suppress(OSError):
        for name in os.listdir(_PROC / str(pid) / "fd"):
            with contextlib.suppress(OSError):
                yield os.readlink(_PROC / str(pid) / "fd" / name)


def _listening() -> set[str]:
    """Sockets that wait for connections, as links of open files name them."""
    found = set()
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in (_PROC / "net" / table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENS:
                    found.add(f"socket:[{fields[9]}]")
    return found


def _resident(pid: int) -> int:
    with contextlib.suppress(OSError):
        found = re.search(r"VmRSS:\s+(\d+)", (_PROC / str(pid) / "status").read_text())
        return int(found[1]) if found else 0
    return 0

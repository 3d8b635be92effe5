"""Memory of a tree of processes, looked at every fifth of a second; ends the tree when one of it has too much.

Pages of files that are mapped (state in columns lies in such files) count apart: the system takes them back when
somebody needs the memory.
"""

from __future__ import annotations

import os
import pathlib
import signal
import threading

PAGE = os.sysconf("SC_PAGE_SIZE")
_KINDS = ("worker", "mapped", "jvm")


def descendants(root: int) -> list[int]:
    """The processes below `root`, whatever their process group."""
    parents: dict[int, list[int]] = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            stat = _read(entry / "stat")
            if stat:
                parents.setdefault(int(stat.rsplit(")", 1)[1].split()[1]), []).append(int(entry.name))
    found, todo = [], [root]
    while todo:
        children = parents.get(todo.pop(), [])
        found += children
        todo += children
    return found


def end_tree(root: int) -> None:
    """Kills a process and all below it, and no other."""
    for pid in [root, *descendants(root)]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


class Watch:
    """Peaks since the last `take`, of Python workers, what these have mapped of files, and of JVMs.

    Args:
        root: The process whose descendants are watched.
        limit_bytes: What one process may have; None for no limit. The tree of `root` is ended beyond it.
    """

    def __init__(self, root: int, limit_bytes: int | None) -> None:
        self.root, self.limit_bytes = root, limit_bytes
        self.exceeded = False
        self._peaks = dict.fromkeys(_KINDS, 0)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def take(self) -> dict[str, int]:
        """The peaks in MB; begins anew."""
        found = {f"{kind}_mb": peak >> 20 for kind, peak in self._peaks.items()}
        self._peaks = dict.fromkeys(_KINDS, 0)
        return found

    def stop(self) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._done.wait(0.2):
            for pid in descendants(self.root):
                size, mapped = _memory(pid)
                if "java" in _read(pathlib.Path(f"/proc/{pid}/comm")):
                    self._peaks["jvm"] = max(self._peaks["jvm"], size)
                else:
                    self._peaks["worker"] = max(self._peaks["worker"], size)
                    self._peaks["mapped"] = max(self._peaks["mapped"], mapped)
                if self.limit_bytes and size > self.limit_bytes:
                    self.exceeded = True
                    end_tree(self.root)
                    return


def _memory(pid: int) -> tuple[int, int]:
    """What belongs to the process alone, and what it has mapped of files, in bytes."""
    fields = _read(pathlib.Path(f"/proc/{pid}/statm")).split()
    if not fields:
        return 0, 0
    resident, mapped = int(fields[1]) * PAGE, int(fields[2]) * PAGE
    return resident - mapped, mapped


def _read(path: pathlib.Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""  # it has ended

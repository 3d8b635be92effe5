"""How long a job with a large keyed state is away when its driver is killed: until it has committed again.

The state is filled, the driver (penstock) or the whole Flink process is killed with SIGKILL, and the program is
started again from its newest checkpoint, at the same parallelism and at another one. Counted from the start of the
new process to its first new checkpoint: start-up, restore and an epoch. State lies on the local disk; Flink keeps it
in RocksDB with incremental checkpoints every second. On this API Flink's state is reached through Python processes.
A program that uses more memory than it may, or comes to nothing for too long, is killed and the run ends.
usage: recovery.py [--megabytes 1024] [--value-kb 1] [--memory-limit-mb 8000] [--patience 1800]
                   [--only penstock|flink] [--json FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from sessions import members
from side_by_side import flink_python, script

BAR_S = 20


class Program:
    """The job on one engine, in a process group that is killed as a whole."""

    def __init__(
        self,
        engine: str,
        folder: pathlib.Path,
        size: tuple[int, int],
        memory_limit_mb: int,
        patience_s: float,
    ) -> None:
        self.engine = engine
        self._python = flink_python() if engine == "flink" else sys.executable
        self._folder = folder
        self._size = size
        self._memory_limit_mb = memory_limit_mb
        self._patience_s = patience_s
        self.most_mb = 0.0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, parallelism: int, checkpoint: pathlib.Path | None = None) -> float:
        """Answers when it was started."""
        arguments = [self._folder, *self._size, parallelism, *([checkpoint] if checkpoint else [])]
        command = script("engines/recovery_flink_api.py", *arguments, python=self._python)
        path = os.path.dirname(self._python) + os.pathsep + os.environ["PATH"]
        more = {"RECOVERY_ON_FLINK": "1"} if self.engine == "flink" else {}
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, **more, "PATH": path},
            )
        return time.perf_counter()

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            for member in members(self._process.pid):  # workers have process groups of their own
                with contextlib.suppress(ProcessLookupError):
                    os.kill(member.pid, signal.SIGKILL)
            self._process.wait(60)

    def newest(self) -> tuple[int, pathlib.Path] | None:
        """When the newest checkpoint was written, in nanoseconds, and its folder."""
        found = []
        for path in (self._folder / "checkpoints").glob("*/chk-*/_metadata"):
            with contextlib.suppress(FileNotFoundError):  # it was replaced meanwhile
                found.append((path.stat().st_mtime_ns, path.parent))
        return max(found, default=None)

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        assert self._process is not None
        deadline = time.monotonic() + self._patience_s
        next_look = 0.0
        while not condition():
            if self._process.poll() is not None:
                self._give_up(f"it has ended, without {what}")
            if time.monotonic() > deadline:
                self._give_up(f"no {what} in {self._patience_s:g} s")
            if time.monotonic() > next_look:
                next_look = time.monotonic() + 1
                used_mb = sum(member.memory_mb for member in members(self._process.pid))
                self.most_mb = max(self.most_mb, used_mb)
                if used_mb > self._memory_limit_mb:
                    self._give_up(
                        f"it uses {used_mb:,.0f} MB of memory, and may use {self._memory_limit_mb:,}"
                    )
            time.sleep(0.02)

    def wait_for_checkpoint(self) -> None:
        """For the next one."""
        before = self.newest()

        def newer() -> bool:
            newest = self.newest()
            return newest is not None and (before is None or newest[0] > before[0])

        self.wait_for(newer, "checkpoint")

    def _give_up(self, why: str) -> None:
        raise SystemExit(
            f"{self.engine}: {why}\n{(self._folder / 'log').read_text(errors='replace')[-3000:]}"
        )


def measure(engine: str, arguments: argparse.Namespace) -> dict[str, float]:
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"recovery-{engine}-"))
    keys = arguments.megabytes * 1024 // arguments.value_kb
    size = keys, arguments.value_kb * 1024
    program = Program(engine, folder, size, arguments.memory_limit_mb, arguments.patience)
    result = {}
    try:
        began = program.start(2)
        program.wait_for((folder / "filled").exists, "state")
        result["filled"] = time.perf_counter() - began
        say(f"{engine}: {keys:,} keys of {arguments.value_kb} KB filled in {result['filled']:.1f} s")
        for name, parallelism in (("killed", 2), ("2 -> 3", 3)):
            program.wait_for_checkpoint()
            program.wait_for_checkpoint()
            program.kill()
            newest = program.newest()
            assert newest is not None
            began = program.start(parallelism, newest[1])
            program.wait_for_checkpoint()
            result[name] = time.perf_counter() - began
            say(f"{engine}: {name}: next checkpoint committed after {result[name]:.1f} s")
        result["checkpoint MB"] = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) / 1e6
    finally:
        program.kill()
        shutil.rmtree(folder, ignore_errors=True)
    return {**result, "memory MB": program.most_mb}


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--value-kb", type=int, default=1)
    parser.add_argument("--memory-limit-mb", type=int, default=8000, help="of all processes of an engine")
    parser.add_argument("--patience", type=float, default=1800, help="seconds for each step")
    parser.add_argument("--only", choices=["penstock", "flink"])
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    results = {
        e: measure(e, arguments) for e in ([arguments.only] if arguments.only else ["penstock", "flink"])
    }
    names = {"filled": "filled, s", "killed": "killed, s", "2 -> 3": "2 -> 3, s"}
    print(
        f"{arguments.megabytes} MB of keyed state; from the start of the new process to its next checkpoint"
    )
    print(f"{'':10}" + "".join(f"{names.get(n, n):>15}" for n in next(iter(results.values()))))
    for engine, figures in results.items():
        print(f"{engine:10}" + "".join(f"{value:15,.1f}" for value in figures.values()))
    if "penstock" in results and arguments.megabytes >= 1024:
        within = results["penstock"]["killed"] <= BAR_S
        print(f"bar for penstock, killed: {BAR_S} s: {'met' if within else 'NOT met'}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"megabytes": arguments.megabytes, **results}, indent=1))


if __name__ == "__main__":
    main()

"""How long a job with a large keyed state is away when its driver is killed: until it has committed again.

The state is filled, the driver (penstock) or the whole Flink process is killed with SIGKILL, and the program is
started again from its newest checkpoint, at the same parallelism and at another one. Counted from the start of the
new process to its first new checkpoint: start-up, restore and an epoch. State lies on the local disk; Flink keeps it
in RocksDB with incremental checkpoints every second. On this API Flink's state is reached through Python processes.
usage: recovery.py [--megabytes 1024] [--value-kb 100] [--only penstock|flink]
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from side_by_side import flink_python, script

_PATIENCE_S = 1800


class Program:
    """The job on one engine, in a process group that is killed as a whole."""

    def __init__(self, engine: str, python: str, folder: pathlib.Path, keys: int, value_bytes: int) -> None:
        self.engine = engine
        self._python = python
        self._folder = folder
        self._size = keys, value_bytes
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
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(60)

    def newest(self) -> pathlib.Path | None:
        found = [p.parent for p in (self._folder / "checkpoints").glob("*/chk-*/_metadata")]
        return max(found, key=lambda p: (p / "_metadata").stat().st_mtime_ns, default=None)

    def wait_for(self, condition: object, what: str) -> None:
        assert callable(condition) and self._process is not None
        deadline = time.monotonic() + _PATIENCE_S
        while not condition():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{self.engine}: no {what}\n{(self._folder / 'log').read_text()[-3000:]}")
            time.sleep(0.02)

    def wait_for_checkpoint(self, after: pathlib.Path | None) -> None:
        seen = None if after is None else (after / "_metadata").stat().st_mtime_ns

        def newer() -> bool:
            newest = self.newest()
            try:
                return newest is not None and (
                    seen is None or (newest / "_metadata").stat().st_mtime_ns > seen
                )
            except FileNotFoundError:  # a checkpoint that was replaced meanwhile
                return False

        self.wait_for(newer, "checkpoint")


def measure(engine: str, python: str, megabytes: int, value_kb: int) -> dict[str, float]:
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"recovery-{engine}-"))
    keys = megabytes * 1024 // value_kb
    program = Program(engine, python, folder, keys, value_kb * 1024)
    result = {}
    try:
        began = program.start(2)
        program.wait_for((folder / "filled").exists, "state")
        result["filled"] = time.perf_counter() - began
        for name, parallelism in (("same parallelism", 2), ("2 -> 3", 3)):
            program.wait_for_checkpoint(program.newest())
            program.wait_for_checkpoint(program.newest())
            program.kill()
            newest = program.newest()
            began = program.start(parallelism, newest)
            program.wait_for_checkpoint(newest)
            result[name] = time.perf_counter() - began
    finally:
        program.kill()
        shutil.rmtree(folder, ignore_errors=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--value-kb", type=int, default=100)
    parser.add_argument("--only", choices=["penstock", "flink"])
    arguments = parser.parse_args()
    engines = [arguments.only] if arguments.only else ["penstock", "flink"]
    for engine in engines:
        python = flink_python() if engine == "flink" else sys.executable
        seconds = measure(engine, python, arguments.megabytes, arguments.value_kb)
        told = ", ".join(f"{name} {value:.1f} s" for name, value in seconds.items())
        print(f"{engine}, {arguments.megabytes} MB of state: {told}")
        print(json.dumps({"engine": engine, "megabytes": arguments.megabytes, **seconds}), flush=True)


if __name__ == "__main__":
    main()

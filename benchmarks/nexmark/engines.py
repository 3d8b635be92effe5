"""Runs a program of queries on an engine, watches it, and goes on with the next query when one brings it down."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from batch_sql import parquet_jars
from engines.flink_cluster import LARGE_STATE, flink_cluster
from side_by_side import flink_python, script

from nexmark.watch import Watch, end_tree

PROGRAM = "engines/nexmark_flink_api.py"
START_S = 90
"""How long an engine may take before its first query, beside the time of the query."""

Outcome = dict[str, Any]
Scripts = dict[str, list[list[str]]]


@dataclass(frozen=True)
class Limits:
    """What a query may use."""

    timeout_s: int
    memory_bytes: int | None


@dataclass
class _Program:
    """A running program: its lines as they come, and a watch on its memory."""

    process: subprocess.Popen[str]
    watch: Watch
    lines: queue.Queue[str | None] = field(default_factory=queue.Queue)

    def __post_init__(self) -> None:
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):
                self.lines.put(line)
        self.lines.put(None)


def run_queries(
    engine: str, scripts: Scripts, settings: dict[str, str], limits: Limits, isolated: bool
) -> dict[str, Outcome]:
    """What became of each query: `seconds`, `epochs`, memory, or an `error`.

    Args:
        scripts: For each query its runs, each a list of statements; the last run is the one that counts.
        isolated: Whether each query has a process to itself.
    """
    found: dict[str, Outcome] = {}
    while left := [query for query in scripts if query not in found]:
        part = {query: scripts[query] for query in (left[:1] if isolated else left)}
        found.update(_run_part(engine, part, settings, limits))
    return found


def _run_part(engine: str, part: Scripts, settings: dict[str, str], limits: Limits) -> dict[str, Outcome]:
    """The queries up to the first one that brings the program down."""
    found: dict[str, Outcome] = {}
    with _start(engine, part, settings, limits) as program:
        extra_s = START_S
        for query in part:
            _say(f"{engine} {query} ...")
            outcome = _outcome(program, limits.timeout_s + extra_s)
            if program.watch.exceeded:
                outcome = {"error": "more memory than allowed", "brought_down": True}
            found[query] = {**outcome, **program.watch.take(), "load": os.getloadavg()[0]}
            if "error" in found[query]:
                _say(f"{engine} {query}: {found[query]['error']}")
            extra_s = 0
            if "brought_down" in outcome:
                break
    return found


def _outcome(program: _Program, timeout_s: float) -> Outcome:
    try:
        line = program.lines.get(timeout=timeout_s)
    except queue.Empty:
        return {"error": f"longer than {timeout_s:.0f} s", "brought_down": True}
    if line is None:
        return {"error": "the program ended", "brought_down": True}
    told: Outcome = json.loads(line)
    return told


@contextlib.contextmanager
def _start(engine: str, part: Scripts, settings: dict[str, str], limits: Limits) -> Iterator[_Program]:
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        task = folder / "task.json"
        task.write_text(json.dumps({"scripts": part, "settings": settings}))
        command, environment = script(PROGRAM, task), dict(os.environ)
        if engine != "penstock":
            cluster = flink_cluster(flink_python(), parquet_jars(), LARGE_STATE)
            launcher, environment = stack.enter_context(cluster)
            command = [*launcher, *command[1:]]
        errors = stack.enter_context(open(folder / "errors", "w+"))
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment)
        root, limit = (process.pid, limits.memory_bytes) if engine == "penstock" else (os.getpid(), None)
        watch = Watch(root, limit)
        try:
            yield _Program(process, watch)
        finally:
            watch.stop()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=15)
            end_tree(process.pid)
            process.wait()
            errors.seek(0)
            if process.returncode and process.returncode > 0:
                _say(errors.read()[-2000:])


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)

"""How long until a first result: `penstock sql -e "SELECT 1"` and the README's first program, from a cold start.

Each run is a new process. Reported are the medians of
    wall      seconds until the process has ended
    cpu       seconds of CPU time of everything it started: Python, the JVM, Python workers
and, for the parts, the CPU time of a process that does only that:
    imports   the SQL client's modules          workers   what a Python worker imports
    session   a Spark session and one small job

`--against FOLDER` runs another checkout by turns with this one, so that a busy machine is busy for both; its figures
and the ratios stand beside. `--parts` takes "first", "parts" and "without archive" (of class data).
usage: startup.py [--runs 5] [--against FOLDER] [--parts first,parts]
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping

HERE = pathlib.Path(__file__).resolve().parent.parent
PR_SET_CHILD_SUBREAPER = 36
MAIN = "from penstock.cli.main import main; main()"
SESSION = "from penstock.runtime.spark.session import get_spark; get_spark().range(1).collect()"
WORKER = "import pyspark.worker, pyarrow; pyarrow.scalar(1); import penstock.runtime.spark.acts"
CLIENT = "import penstock.cli.sql.client, penstock.cli.sql.environment"


def first_program() -> str:
    """The program in the README that is to be saved as count.py."""
    text = (HERE / "README.md").read_text()
    found = re.search(r"Save as `count.py`:\s+```python\n(.*?)```", text, re.S)
    if found is None:
        raise SystemExit("the README has no count.py")
    return found.group(1)


def cases(folder: pathlib.Path, parts: set[str]) -> dict[str, list[str]]:
    """The arguments of Python, by what they measure."""
    program = folder / "count.py"
    program.write_text(first_program())
    found: dict[str, list[str]] = {}
    if "first" in parts:
        found["SELECT 1"] = ["-c", MAIN, "sql", "-e", "SELECT 1"]
        found["first program"] = ["-c", MAIN, "run", str(program)]
    if "parts" in parts:
        found |= {"imports": ["-c", CLIENT], "workers": ["-c", WORKER], "session": ["-c", SESSION]}
    return found


def measured(arguments: list[str], checkout: pathlib.Path, variables: Mapping[str, str]) -> dict[str, float]:
    """Runs Python once; waits for the JVM too, whose CPU time is known when it has ended."""
    environment = {**os.environ, "PYTHONPATH": str(checkout), **variables}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:  # a file: a pipe would be held open by the JVM
        process = subprocess.Popen(
            [sys.executable, *arguments], env=environment, cwd=checkout, stdout=output, stderr=output
        )
        code = process.wait()
        wall = time.monotonic() - started
        output.seek(0)
        if code != 0:
            raise SystemExit(output.read().decode())
    _wait_for_orphans()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": wall, "cpu": cpu}


def _wait_for_orphans() -> None:
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def medians(runs: list[dict[str, float]]) -> dict[str, float]:
    return {key: round(statistics.median(run[key] for run in runs), 2) for key in runs[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--against", type=pathlib.Path)
    parser.add_argument("--parts", default="first,parts")
    arguments = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    parts = set(arguments.parts.split(","))
    checkouts = {"now": HERE} | ({"before": arguments.against.resolve()} if arguments.against else {})
    with tempfile.TemporaryDirectory() as folder:
        variables = {"PENSTOCK_CACHE_DIR": folder + "/cache"} if "without archive" in parts else {}
        variables |= {"PENSTOCK_CLASS_ARCHIVE": "off" if "without archive" in parts else "on"}
        for name, command in cases(pathlib.Path(folder), parts).items():
            report(name, command, checkouts, variables, arguments.runs)


def report(
    name: str,
    command: list[str],
    checkouts: Mapping[str, pathlib.Path],
    variables: Mapping[str, str],
    count: int,
) -> None:
    """One line of JSON: the medians of each checkout, and how much of the other's this one takes."""
    for checkout in checkouts.values():  # writes bytecode, remembers the command, makes the archive
        measured(command, checkout, variables)
    runs: dict[str, list[dict[str, float]]] = {which: [] for which in checkouts}
    for _ in range(count):
        for which, checkout in checkouts.items():
            runs[which].append(measured(command, checkout, variables))
    found = {which: medians(of) for which, of in runs.items()}
    line: dict[str, object] = {"measured": name, **found}
    if "before" in found:
        line["ratio"] = {key: round(found["now"][key] / found["before"][key], 2) for key in found["now"]}
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()

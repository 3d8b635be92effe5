"""Runs conformance cases on penstock and compares with what real Flink answered.

    python tests/conformance/run.py PATH... [--mode streaming|batch] [--ways one|all]

A PATH is a SQL case (a folder with case.sql), a program (.py), a file of pattern cases (.json, see cep/README.md)
or a folder of such. All cases share one Spark session in this process, each has an environment of its own. `ways.py`
tells in which ways a streaming case can be run. One line for each case that failed, then `N passed, N failed` on the
last line (`, N skipped` may follow); the exit code is 1 if any failed.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent


class CaseTimeout(BaseException):
    """Raised into a case that takes too long. Not an Exception: no handler of a case may swallow it."""


def main() -> int:
    args = _arguments()
    _same_surroundings_as_the_recording()
    sys.path[:0] = [str(HERE), str(HERE.parent.parent)]
    from cases import collect
    from quick_spark import start_quick_spark

    config = _configuration(args)
    start_quick_spark(args.ways is not None)
    os.environ["PENSTOCK_PROPERTIES"] = "\n".join(f"{key}: {value}" for key, value in config.items())
    skips = _skips(args.skips)
    tallies: dict[str, Tally] = {}
    skipped = 0
    for case in collect(args.paths, args.mode):
        if case.name in skips or case.name.split("/")[-1] in skips:
            skipped += 1
            continue
        for way in _ways_of(case, args):
            started = time.monotonic()
            problem = _run(case, config, args.timeout, args.verbose, way, args.in_driver)
            tally = tallies.setdefault(way.name, Tally())
            tally.add(problem, time.monotonic() - started)
            _tell(case, way, problem, f" ({time.monotonic() - started:.1f} s)", args)
    return _summary(tallies, skipped)


@dataclasses.dataclass
class Tally:
    passed: int = 0
    failed: int = 0
    seconds: float = 0.0

    def add(self, problem: str | None, seconds: float) -> None:
        self.passed += problem is None
        self.failed += problem is not None
        self.seconds += seconds


def _tell(case: Any, way: Any, problem: str | None, seconds: str, args: argparse.Namespace) -> None:
    seconds = seconds if args.seconds else ""
    name = case.name if way.name == "straight" else f"{case.name} [{way.name}]"
    if problem is not None:
        print(f"FAIL {name}{seconds}: {problem}", flush=True)
    elif args.seconds or args.verbose:
        print(f"ok   {name}{seconds}", flush=True)


def _summary(tallies: Mapping[str, Tally], skipped: int) -> int:
    if len(tallies) > 1:
        for name, tally in tallies.items():
            print(f"{name:12} {tally.passed} passed, {tally.failed} failed, {tally.seconds:.0f} s")
    passed, failed = (sum(getattr(t, part) for t in tallies.values()) for part in ("passed", "failed"))
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""), flush=True)
    return 1 if failed else 0


def _ways_of(case: Any, args: argparse.Namespace) -> Sequence[Any]:
    """How often and in which ways to run a case; see `ways.py`. Refused queries and programs: once."""
    import ways

    given = ways.Way(args.epochs, args.parallelism, args.restore is not None, args.restore or 0)
    if not case.has_ways or (args.ways is None and given == ways.STRAIGHT):
        return (ways.STRAIGHT,)
    if args.ways is None:
        return (given,)
    chosen = (ways.STRAIGHT, ways.chosen_way(case.name)) if args.ways == "one" else ways.named_ways(args.ways)
    return [way for way in chosen if not way.kill or case.survives_kills]


def _run(
    case: Any, config: Mapping[str, str], timeout: float, verbose: bool, way: Any, in_driver: bool
) -> str | None:
    barked = threading.Event()
    try:
        with _watchdog(timeout, barked), _stages(way, in_driver):
            problem: str | None = case.run(config, verbose, way)
    except CaseTimeout:
        problem = None
    # A case whose jobs were cancelled may come back with an error of its own before it is interrupted.
    return f"no answer after {timeout:g} s" if barked.is_set() else problem


def _stages(way: Any, in_driver: bool) -> AbstractContextManager[None]:
    """Where Python stages run: in Spark's workers, but with `in_driver` only for the straight way."""
    import os

    from in_driver import stages_in_driver

    everywhere = bool(os.environ.get("PENSTOCK_IN_DRIVER"))
    return stages_in_driver() if in_driver and (everywhere or way.name != "straight") else nullcontext()


@contextmanager
def _watchdog(timeout: float, barked: threading.Event) -> Iterator[None]:
    """Stops the block after `timeout` seconds: cancels Spark's jobs, raises CaseTimeout in this thread."""
    done = threading.Event()
    main_thread = threading.get_ident()

    def bark() -> None:
        wait = timeout
        while not done.wait(wait):
            barked.set()
            _cancel_spark_jobs()
            if not done.is_set():
                signal.pthread_kill(main_thread, signal.SIGALRM)
            wait = 10.0

    def raise_timeout(*_: object) -> None:
        if not done.is_set():
            raise CaseTimeout

    before = signal.signal(signal.SIGALRM, raise_timeout)
    thread = threading.Thread(target=bark, daemon=True, name="conformance-watchdog")
    thread.start()
    try:
        yield
    finally:
        done.set()
        signal.signal(signal.SIGALRM, before or signal.SIG_DFL)


def _cancel_spark_jobs() -> None:
    pyspark = sys.modules.get("pyspark")
    context = pyspark.SparkContext._active_spark_context if pyspark else None
    if context is not None:
        canceller = threading.Thread(target=context.cancelAllJobs, daemon=True)
        canceller.start()
        canceller.join(5)


def _same_surroundings_as_the_recording() -> None:
    """The answers were recorded in UTC and with a fixed hash seed, which only a new process can take up."""
    if os.environ.get("PYTHONHASHSEED") != "0" or os.environ.get("TZ") != "UTC":
        found = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(HERE))))  # by workers too
        surroundings = {**os.environ, "PYTHONHASHSEED": "0", "TZ": "UTC", "PYTHONPATH": found}
        os.execve(sys.executable, [sys.executable, *sys.argv], surroundings)
    time.tzset()


def _configuration(args: argparse.Namespace) -> dict[str, str]:
    return {"execution.epoch.max-records": str(args.records)} if args.records is not None else {}


def _skips(path: pathlib.Path | None) -> set[str]:
    """The names in the ```skip blocks of a page: one per line, with what follows a blank being the reason."""
    if path is None or not path.exists():
        return set()
    blocks = re.findall(r"^```skip\s*\n(.*?)^```", path.read_text(), re.S | re.M)
    return {line.split()[0] for block in blocks for line in block.splitlines() if line.strip()}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compares penstock with what real Flink answered.")
    parser.add_argument("paths", nargs="+", type=pathlib.Path, metavar="PATH")
    parser.add_argument("--mode", choices=("streaming", "batch"), help="SQL: only this mode (default: both)")
    parser.add_argument("--skips", type=pathlib.Path, help="a page with ```skip blocks of case names")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one case")
    parser.add_argument("--seconds", action="store_true", help="show every case and how long it took")
    parser.add_argument("--verbose", action="store_true", help="show the traceback of a failure")
    parser.add_argument("--records", type=int, help="at most this many records in an epoch")
    parser.add_argument("--epochs", type=int, help="SQL: cut the input of each source into this many epochs")
    parser.add_argument("--parallelism", type=int, help="SQL: parallelism.default")
    parser.add_argument(
        "--restore",
        type=int,
        nargs="?",
        const=0,
        help="SQL: kill each job after this epoch (default: one drawn by lot) and restore it",
    )
    parser.add_argument(
        "--ways",
        help="SQL: 'one' runs each case straight and in one more way, 'all' in every way; or names from ways.py",
    )
    parser.add_argument(
        "--in-driver",
        action="store_true",
        help="SQL: no Python workers except for straight runs, see in_driver.py",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

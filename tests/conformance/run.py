"""Runs conformance cases on penstock and compares with what real Flink answered.

    python tests/conformance/run.py PATH... [--mode streaming|batch]

A PATH is a SQL case (a folder with case.sql), a program (.py) or a folder of such. All cases share one Spark
session in this process, each has an environment of its own. One line for each case that failed, then
`N passed, N failed` on the last line (`, N skipped` may follow); the exit code is 1 if any failed.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

HERE = pathlib.Path(__file__).resolve().parent


class CaseTimeout(BaseException):
    """Raised into a case that takes too long. Not an Exception: no handler of a case may swallow it."""


def main() -> int:
    args = _arguments()
    _same_surroundings_as_the_recording()
    sys.path[:0] = [str(HERE), str(HERE.parent.parent)]
    from cases import collect

    config = _configuration(args)
    _start_spark()
    os.environ["PENSTOCK_PROPERTIES"] = "\n".join(f"{key}: {value}" for key, value in config.items())
    skips = _skips(args.skips)
    passed, failed, skipped = 0, 0, 0
    for case in collect(args.paths, args.mode):
        if case.name in skips or case.name.split("/")[-1] in skips:
            skipped += 1
            continue
        started = time.monotonic()
        problem = _run(case, config, args.timeout, args.verbose)
        seconds = f" ({time.monotonic() - started:.1f} s)" if args.seconds else ""
        if problem is None:
            passed += 1
            if args.seconds or args.verbose:
                print(f"ok   {case.name}{seconds}", flush=True)
        else:
            failed += 1
            print(f"FAIL {case.name}{seconds}: {problem}", flush=True)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""), flush=True)
    return 1 if failed else 0


def _run(case: object, config: Mapping[str, str], timeout: float, verbose: bool) -> str | None:
    barked = threading.Event()
    try:
        with _watchdog(timeout, barked):
            problem: str | None = case.run(config, verbose)  # type: ignore[attr-defined]
    except CaseTimeout:
        problem = None
    # A case whose jobs were cancelled may come back with an error of its own before it is interrupted.
    return f"no answer after {timeout:g} s" if barked.is_set() else problem


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


def _start_spark() -> None:
    """The session that all cases share, started outside of any case's time."""
    from penstock.runtime.spark.session import get_spark

    get_spark().range(1).count()


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
        surroundings = {**os.environ, "PYTHONHASHSEED": "0", "TZ": "UTC"}
        os.execve(sys.executable, [sys.executable, *sys.argv], surroundings)
    time.tzset()


def _configuration(args: argparse.Namespace) -> dict[str, str]:
    config: dict[str, str] = {}
    if args.epochs is not None:
        config["execution.epoch.max-records"] = str(args.epochs)
    if args.parallelism is not None:
        config["parallelism.default"] = str(args.parallelism)
    if args.restore:
        config["test.kill-after-epoch"] = str(args.restore)
    return config


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
    parser.add_argument("--epochs", type=int, help="at most this many records in an epoch")
    parser.add_argument("--parallelism", type=int, help="parallelism.default")
    parser.add_argument(
        "--restore", type=int, nargs="?", const=1, help="kill the job after this epoch and restore it"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

"""Users' Python functions in SQL: penstock, PyFlink in process and in thread mode, and plain PySpark, side by side.

    scalar            a row at a time                     SELECT SUM(f(v)) FROM t
    pandas scalar     a Series at a time                  SELECT SUM(f(v)) FROM t
    table             rows for each row                   SELECT SUM(n) FROM t, LATERAL TABLE(f(w))
    pandas aggregate  the Series of a group               SELECT SUM(m) FROM (SELECT k, f(v) AS m ... GROUP BY k)
    aggregate         accumulate for each row             SELECT k, f(v) FROM t GROUP BY k, in streaming mode, because
                                                          PyFlink refuses it in batch; PySpark's is a batch

All read the same CSV file. Each engine has a process to itself and runs each query once over 1,000 rows, then twice
over all rows, of which the faster run counts (one, if it takes more than a minute). Answers of the batch queries are
compared. The bars: ahead of PyFlink's better mode everywhere; at least ten times its process mode for functions of
rows; at most 1.3 times the seconds of PySpark for pandas functions.
usage: python_functions.py [--rows 1000000] [--engines penstock,process,thread,spark] [--functions scalar,table]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import platform
import random
from typing import Any

from side_by_side import flink_python, script, told_by

CACHE = pathlib.Path.home() / ".cache" / "penstock-bench"
FUNCTIONS = ("scalar", "pandas scalar", "table", "aggregate", "pandas aggregate")
FLINK_API, SPARK = "engines/python_functions_flink_api.py", "engines/python_functions_spark.py"

Result = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--engines", default="penstock,process,thread,spark")
    parser.add_argument("--functions", default=",".join(FUNCTIONS))
    arguments = parser.parse_args()
    small, large = generate(1_000), generate(arguments.rows)
    results = {
        engine: run(engine, small, large, arguments.functions) for engine in arguments.engines.split(",")
    }
    check_answers(results)
    report(arguments.rows, results)


def generate(rows: int) -> pathlib.Path:
    """A file of keys, numbers and texts of three words, made once."""
    path = CACHE / f"python_functions_{rows}.csv"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        numbers = random.Random(7)
        lines = (
            f"{numbers.randrange(1000)},{numbers.randrange(100_000)},ab cde f{i % 10}\n" for i in range(rows)
        )
        aside = path.with_suffix(".part")
        aside.write_text("".join(lines))
        aside.rename(path)
    return path


def run(engine: str, *arguments: object) -> Result:
    """What an engine's program found out: seconds and answer of each function."""
    if engine in ("process", "thread"):
        python = flink_python()
        environment = {**os.environ, "PATH": os.path.dirname(python) + os.pathsep + os.environ["PATH"]}
        command = script(FLINK_API, *arguments, engine, python=python)
        return told_by(f"PyFlink ({engine})", command, environment)
    name = FLINK_API if engine == "penstock" else SPARK
    return told_by(engine, script(name, *arguments, engine))


def check_answers(results: dict[str, Result]) -> None:
    """All engines have to say the same where they are asked for a sum."""
    for function in FUNCTIONS:
        answers = {e: r[function]["answer"] for e, r in results.items() if function in r}
        known = [a for a in answers.values() if a is not None]
        if any(not math.isclose(a, known[0], rel_tol=1e-6) for a in known):
            raise SystemExit(f"{function}: the engines do not agree: {answers}")


def report(rows: int, results: dict[str, Result]) -> None:
    cores = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    print(f"\n{rows:,} rows, seconds  ({cores})")
    print(f"{'function':18s}" + "".join(f"{engine:>12s}" for engine in results) + "   bars")
    for function in FUNCTIONS:
        seconds = {e: r[function]["seconds"] for e, r in results.items() if function in r}
        shown = "".join(f"{seconds.get(e, math.nan):12.2f}" for e in results)
        print(f"{function:18s}{shown}   {'; '.join(bars(function, seconds)) or '-'}")
    print(json.dumps({"title": "python functions", "rows": rows, "results": results}))


def bars(function: str, seconds: dict[str, float]) -> list[str]:
    """What was to be reached, and whether it was."""
    said, own = [], seconds.get("penstock")
    flink = [seconds[mode] for mode in ("process", "thread") if mode in seconds]
    if own is None:
        return []
    if flink:
        said.append(_bar("PyFlink's best", min(flink) / own, 1.0))
    if "process" in seconds and not function.startswith("pandas"):
        said.append(_bar("PyFlink by process", seconds["process"] / own, 10.0))
    if "spark" in seconds and function.startswith("pandas"):
        said.append(_bar("PySpark", seconds["spark"] / own, 1 / 1.3))
    return said


def _bar(name: str, ratio: float, wanted: float) -> str:
    return f"{ratio:.1f} x {name} ({'reached' if ratio >= wanted else f'wanted {wanted:.2f}'})"


if __name__ == "__main__":
    main()

"""Batch Flink SQL over Parquet: eleven queries in the manner of TPC-H, on penstock, Flink 2.3 and plain Spark SQL.

Each engine has a process to itself, warms up with two queries (25 rows; a semi-join of the two biggest tables), then
runs each query; the best run counts, from handing over the text to holding all rows. All rows are compared between
the engines, in order: a wrong answer ends the benchmark. Flink has a cluster of its own on this machine, started
before: a TaskManager of 5 GB with two slots, everything else as it comes. penstock and Spark use all cores. Data and
queries: benchmarks/tpch.
usage: batch_sql.py [--gigabytes 1.0] [--runs 1] [--engines penstock,Flink,Spark] [--queries q01,q03]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import platform
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from engines.flink_cluster import flink_cluster
from side_by_side import flink_python, script, told_by
from tpch.generate import generate

CACHE = pathlib.Path.home() / ".cache" / "penstock-bench"
PARQUET_JARS = (  # Flink's Parquet format and the Hadoop classes it needs
    "org.apache.flink:flink-sql-parquet:2.3.0",
    "org.apache.hadoop:hadoop-client-api:3.3.6",
    "org.apache.hadoop:hadoop-client-runtime:3.3.6",
)
FLINK_API, SPARK_SQL = "engines/batch_sql_flink_api.py", "engines/batch_sql_spark.py"

Result = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--gigabytes", type=float, default=1.0, help="on disk; 1.0: 20 million line items")
    parser.add_argument("--runs", type=int, default=1, help="runs per query, of which the best counts")
    parser.add_argument("--engines", default="penstock,Flink,Spark")
    parser.add_argument("--queries", default="", help="all, unless named")
    arguments = parser.parse_args()
    data = generate(CACHE, arguments.gigabytes)
    common = (data, arguments.runs, *filter(None, arguments.queries.split(",")))
    results = {engine: run(engine, *common) for engine in arguments.engines.split(",")}
    check_answers(results)
    report(sum(path.stat().st_size for path in data.rglob("*.parquet")) / 1e9, results)


def run(engine: str, *arguments: object) -> Result:
    """What an engine's program found out."""
    if engine == "Flink":
        python = flink_python()
        with flink_cluster(python, parquet_jars()) as (launcher, environment):
            said = told_by(engine, [*launcher, *script(FLINK_API, *arguments)[1:]], environment)
    else:
        said = told_by(engine, script(FLINK_API if engine == "penstock" else SPARK_SQL, *arguments))
    return {**said, "load": os.getloadavg()[0]}


def parquet_jars() -> list[str]:
    return maven_jars(PARQUET_JARS)


def maven_jars(artifacts: Sequence[str]) -> list[str]:
    """Fetched from Maven Central on first use."""
    jars = []
    for artifact in artifacts:
        _, name, version = artifact.split(":")
        jar = CACHE / f"{name}-{version}.jar"
        if not jar.exists():
            copy = [
                "mvn",
                "-q",
                "-B",
                "dependency:copy",
                f"-Dartifact={artifact}",
                f"-DoutputDirectory={CACHE}",
            ]
            subprocess.run(copy, check=True, timeout=600, stdout=sys.stderr)
        jars.append(str(jar))
    return jars


def check_answers(results: dict[str, Result]) -> None:
    """Ends the program when two engines answer a query differently."""
    first, *others = results
    for name, expected in results[first]["queries"].items():
        for other in others:
            rows = results[other]["queries"][name]["rows"]
            if not same_rows(expected["rows"], rows):
                shown = f"{first}: {expected['rows'][:3]}\n{other}: {rows[:3]}"
                raise SystemExit(f"{name}: {first} and {other} differ\n{shown}")


def same_rows(left: list[list[Any]], right: list[list[Any]]) -> bool:
    """Equal, but for the last digits of a number: engines round averages and quotients at different scales."""
    return len(left) == len(right) and all(
        len(a) == len(b) and all(map(same_value, a, b)) for a, b in zip(left, right, strict=True)
    )


def same_value(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-6, abs_tol=1e-6)
    return bool(left == right)


def report(gigabytes: float, results: dict[str, Result]) -> None:
    """Seconds per query and engine, geometric means, and how many times penstock's time the others take."""
    engines = list(results)
    others = [engine for engine in engines if engine != "penstock"]
    queries = list(results[engines[0]]["queries"])
    seconds = {e: [results[e]["queries"][q]["seconds"] for q in queries] for e in engines}
    means = {engine: geometric_mean(times) for engine, times in seconds.items()}
    print(f"\nbatch SQL, {gigabytes:.2f} GB  ({os.cpu_count()} cores, {platform.machine()})")
    print(
        f"{'seconds':16s}{'rows':>6s}" + "".join(f"{e:>10s}" for e in engines) + ratio_titles(engines, others)
    )
    for index, query in enumerate(queries):
        rows = len(results[engines[0]]["queries"][query]["rows"])
        print_line(query, str(rows), {e: seconds[e][index] for e in engines}, others)
    print_line("geometric mean", "", means, others)
    print_line("(25-row query)", "1", {e: results[e]["fixed"] for e in engines}, others)
    load = {engine: round(results[engine]["load"], 1) for engine in engines}
    print(f"{'load then':22s}" + "".join(f"{value:10.1f}" for value in load.values()))
    summary = {
        "title": "batch SQL",
        "gigabytes": round(gigabytes, 3),
        "load": load,
        "geometric_mean_seconds": means,
    }
    per_query = {q: {e: round(seconds[e][i], 3) for e in engines} for i, q in enumerate(queries)}
    ratios = {f"{e}/penstock": round(means[e] / means["penstock"], 2) for e in others if "penstock" in means}
    print(json.dumps({**summary, "ratios": ratios, "seconds": per_query}))


def ratio_titles(engines: list[str], others: list[str]) -> str:
    return "".join(f"{e + '/penstock':>18s}" for e in others) if "penstock" in engines else ""


def print_line(name: str, rows: str, seconds: dict[str, float], others: list[str]) -> None:
    times = "".join(f"{value:10.2f}" for value in seconds.values())
    ratios = ""
    if "penstock" in seconds:
        ratios = "".join(f"{seconds[e] / seconds['penstock']:16.2f} x" for e in others)
    print(f"{name:16s}{rows:>6s}{times}{ratios}")


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


if __name__ == "__main__":
    main()

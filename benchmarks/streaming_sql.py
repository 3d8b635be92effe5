"""Streaming Flink SQL over the same Parquet files: four queries on penstock and on Flink 2.3, default and mini-batch.

    group by      COUNT, SUM, MAX per key over 10,000 keys: a changelog
    tumbling      the same per key and 10 seconds of event time
    interval join two streams, equal key, at most 5 seconds apart
    top-n         the 10 greatest values of each key: a changelog

All engines read the tables as streams, with watermarks where the query has windows, and write into `blackhole`.
Each engine has a process to itself and runs every query once on a tenth of the rows first; Flink has a cluster of
its own with two slots. Checkpoints: penstock has one per epoch, always; Flink runs without, as it comes.
usage: streaming_sql.py [--rows 4000000] [--queries group_by,top_n] [--engines penstock,Flink,"Flink mini-batch"]
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
from typing import Any

from batch_sql import CACHE, parquet_jars
from engines.flink_cluster import flink_cluster
from side_by_side import flink_python, script, told_by
from streaming.generate import generate

PROGRAM = "engines/streaming_sql_flink_api.py"
QUERIES = ("group_by", "tumbling", "interval_join", "top_n")
ENGINES = ("penstock", "Flink", "Flink mini-batch")

Seconds = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--queries", default=",".join(QUERIES))
    parser.add_argument("--engines", default=",".join(ENGINES))
    arguments = parser.parse_args()
    queries = arguments.queries.split(",")
    small, large = (generate(CACHE, rows) for rows in (arguments.rows // 10, arguments.rows))
    seconds = {e: run(e, small, large, queries) for e in arguments.engines.split(",")}
    report(arguments.rows, queries, seconds)


def run(engine: str, small: pathlib.Path, large: pathlib.Path, queries: list[str]) -> Seconds:
    mode = "mini-batch" if engine.endswith("mini-batch") else "default"
    arguments = [str(small), str(large), mode, *queries]
    if engine == "penstock":
        return _seconds(told_by(engine, script(PROGRAM, *arguments)))
    with flink_cluster(flink_python(), parquet_jars()) as (launcher, environment):
        return _seconds(told_by(engine, [*launcher, *script(PROGRAM, *arguments)[1:]], environment))


def _seconds(said: dict[str, Any]) -> Seconds:
    return dict(said["seconds"])


def report(rows: int, queries: list[str], seconds: dict[str, Seconds]) -> None:
    others = [engine for engine in seconds if engine != "penstock"]
    load = os.getloadavg()[0]
    print(f"\nstreaming SQL, {rows:,} rows  ({os.cpu_count()} cores, {platform.machine()}, load {load:.1f})")
    titles = "".join(f"{'penstock / ' + e:>30s}" for e in others) if "penstock" in seconds else ""
    print(f"{'rows/s':16s}" + "".join(f"{e:>18s}" for e in seconds) + titles)
    for query in queries:
        rates = {engine: rows / taken[query] for engine, taken in seconds.items()}
        line = "".join(f"{rate:18,.0f}" for rate in rates.values())
        if "penstock" in rates:
            line += "".join(f"{rates['penstock'] / rates[e]:28.2f} x" for e in others)
        print(f"{query:16s}{line}")
    summary: dict[str, Any] = {"title": "streaming SQL", "rows": rows, "load": load, "seconds": seconds}
    print(json.dumps(summary))


if __name__ == "__main__":
    main()

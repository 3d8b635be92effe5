"""Nexmark: q0 to q23 on penstock and on Flink 2.3 (as it comes, or with mini-batch), over the same events.

Both read the same two Parquet files as streams at parallelism 2 and write into `blackhole` (q10: files). Each query
runs once over a tenth of the events first (1 million at most), then over all; the second run counts, from the INSERT
to the end of its job. On penstock each query has a process to itself, unless --shared, with a limit of memory and
time: one that exceeds them is ended and reported, the rest goes on. Flink has a cluster of its own with two slots.
Checkpoints: penstock has one per epoch; Flink runs without.
--check compares final tables instead of measuring, row by row;
--fingerprints does it by three numbers that each engine computes of its own, for tables too large to write down.
With --flink-batch Flink makes its final tables in batch mode, which is the same table and takes minutes less.
Columns that ties or the clock decide are left out there, as the heads of benchmarks/nexmark/queries/*.sql say.
cep0 to cep3, patterns of bids by MATCH_RECOGNIZE, run if --queries names them.

usage: nexmark.py [--events 1000000] [--queries q0,q4] [--engines penstock,Flink] [--minibatch] [--check] [--direct]
                  [--fingerprints] [--flink-batch] [--shared] [--memory-limit "4 gb"] [--timeout 300] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import platform
import tempfile
from typing import Any

from batch_sql import CACHE
from nexmark.engines import Limits, Outcome, Scripts, run_queries
from nexmark.fingerprints import fingerprinted
from nexmark.generate import generate
from nexmark.results import difference, final_table
from nexmark.scripts import BLACKHOLE, QUERIES, Comparison, changelog_files, comparison, statements

from penstock.common.config_values import parse_memory

MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "2 s",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.distinct-agg.split.enabled": "true",
}
COMMON = {"parallelism.default": "2", "table.local-time-zone": "UTC"}
CHECKPOINTS = {  # Flink publishes files with them, and would otherwise repeat a failing query for ever
    "execution.checkpointing.interval": "2 s",
    "restart-strategy.type": "none",
}

WARM_UP_EVENTS = 1_000_000
"""The most that are read before the run that counts."""

Outcomes = dict[str, dict[str, Outcome]]


def main() -> None:
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="nexmark-") as folder:
        outcomes = {engine: run(engine, pathlib.Path(folder), arguments) for engine in engines(arguments)}
        verdicts = {}
        if arguments.check:
            verdicts = check(outcomes, pathlib.Path(folder), arguments.queries, arguments.fingerprints)
    if not arguments.check:
        report(outcomes, arguments)
    summary = {"events": arguments.events, "outcomes": outcomes, "verdicts": verdicts}
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(summary, indent=1))
    print(json.dumps(summary))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument(
        "--queries", type=lambda text: text.split(","), default=[q for q in QUERIES if q != "q6"]
    )
    parser.add_argument("--engines", type=lambda text: text.split(","), default=["penstock", "Flink"])
    parser.add_argument("--minibatch", action="store_true", help="Flink with mini-batch too")
    parser.add_argument("--check", action="store_true", help="compare final tables, row by row")
    parser.add_argument("--fingerprints", action="store_true", help="compare numbers made of final tables")
    parser.add_argument(
        "--flink-batch", action="store_true", help="Flink makes the tables to compare in batch mode"
    )
    parser.add_argument("--direct", action="store_true", help="penstock reads its connector, not the files")
    parser.add_argument("--shared", action="store_true", help="one penstock process for all queries")
    parser.add_argument("--memory-limit", type=parse_memory, default="4 gb", help="of each penstock process")
    parser.add_argument("--timeout", type=int, default=300, help="seconds for a query's two runs")
    parser.add_argument("--json", help="a file for the results")
    arguments = parser.parse_args()
    arguments.check = arguments.check or arguments.fingerprints
    return arguments


def engines(arguments: argparse.Namespace) -> list[str]:
    more = ["Flink mini-batch"] if arguments.minibatch else []
    return [*arguments.engines, *more]


def run(engine: str, folder: pathlib.Path, arguments: argparse.Namespace) -> dict[str, Outcome]:
    settings = dict(COMMON)
    if engine.endswith("mini-batch"):
        settings |= MINI_BATCH
    if arguments.check and engine != "penstock":
        settings |= {**CHECKPOINTS, "execution.checkpointing.dir": f"file://{folder}/checkpoints"}
        settings |= MINI_BATCH if arguments.fingerprints else {}  # else a change of the fingerprint per row
    if arguments.flink_batch and engine != "penstock":
        settings = {**COMMON, "execution.runtime-mode": "batch"}
    limits = Limits(arguments.timeout, arguments.memory_limit)
    isolated = engine == "penstock" and not arguments.shared
    return run_queries(engine, scripts(engine, folder, arguments), settings, limits, isolated)


def scripts(engine: str, folder: pathlib.Path, arguments: argparse.Namespace) -> Scripts:
    """A run over a tenth of the events, to be warm, and one over all; one alone if results are compared."""
    warm_up = min(arguments.events // 10, WARM_UP_EVENTS)
    sizes = [arguments.events] if arguments.check else [warm_up, arguments.events]
    made: Scripts = {}
    for query in arguments.queries:
        output = folder / engine / query
        made[query] = [
            statements(
                query,
                "penstock" if engine == "penstock" else "flink",
                places(size, output, arguments, engine),
            )
            for size in sizes
        ]
        if arguments.fingerprints:
            sink = changelog_files(output)
            made[query] = [fingerprinted(run, comparison(query), sink) for run in made[query]]
    return made


def places(events: int, output: pathlib.Path, arguments: argparse.Namespace, engine: str) -> dict[str, str]:
    data = generate(CACHE, events)
    files = f"'connector' = 'filesystem', 'path' = 'file://{data}/events'"
    source = f"{files}, 'format' = 'parquet', 'parquet.utc-timezone' = 'true'"
    if arguments.direct and engine == "penstock":
        source = f"'connector' = 'nexmark', 'events.num' = '{events}'"
    return {
        "source": source,
        "sink": changelog_files(output) if arguments.check else BLACKHOLE,
        "output": str(output if arguments.check else output / str(events)),
        "file_format": "debezium-json" if arguments.check else "csv",
        "side_input": f"{data}/side_input",
    }


def check(outcomes: Outcomes, folder: pathlib.Path, queries: list[str], fingerprints: bool) -> dict[str, str]:
    """Says for each query whether the engines' final tables are equal."""
    verdicts = {}
    for query in queries:
        verdicts[query] = verdict(outcomes, folder, query, fingerprints)
        print(f"{query:4s} {verdicts[query]}", flush=True)
    return verdicts


def verdict(outcomes: Outcomes, folder: pathlib.Path, query: str, fingerprints: bool) -> str:
    failed = [f"{e}: {found[query]['error']}" for e, found in outcomes.items() if "error" in found[query]]
    if failed:
        return "; ".join(failed)
    compared = Comparison() if fingerprints else comparison(query)
    first, *others = [final_table(folder / engine / query, compared) for engine in outcomes]
    differences = [text for other in others if (text := difference(first, other))]
    count = (
        next(iter(first))[1] if fingerprints and first else first.total()
    )  # the columns are sorted by name
    return "; ".join(differences) or f"equal, {count:,} rows"


def report(outcomes: Outcomes, arguments: argparse.Namespace) -> None:
    others = [engine for engine in outcomes if engine != "penstock"]
    print(f"\nNexmark, {arguments.events:,} events  ({os.cpu_count()} cores, {platform.machine()})")
    ratios = "".join(f"{'penstock / ' + e:>28s}" for e in others) if "penstock" in outcomes else ""
    print(
        f"{'':5s}"
        + "".join(f"{e + ' s':>18s}{'events/s':>11s}" for e in outcomes)
        + ratios
        + "  worker MB  mapped MB  epochs"
    )
    found: dict[str, list[float]] = {engine: [] for engine in others}
    for query in arguments.queries:
        line = f"{query:5s}" + "".join(
            columns(outcome[query], arguments.events) for outcome in outcomes.values()
        )
        own = outcomes.get("penstock", {}).get(query, {})
        for engine in others if "penstock" in outcomes else []:
            ratio = outcomes[engine][query].get("seconds", math.nan) / own.get("seconds", math.nan)
            found[engine] += [] if math.isnan(ratio) else [ratio]
            line += f"{ratio:26.2f} x"
        errors = "; ".join(f"{e}: {o[query]['error']}" for e, o in outcomes.items() if "error" in o[query])
        memory = f"{own.get('worker_mb', 0):10,d} {own.get('mapped_mb', 0):10,d}"
        print(f"{line} {memory} {own.get('epochs', 0):7d}  {errors}".rstrip())
    for engine, values in found.items():
        if values:
            mean = math.exp(sum(map(math.log, values)) / len(values))
            print(f"geometric mean over {len(values)} queries, penstock / {engine}: {mean:.2f} x")


def columns(outcome: dict[str, Any], events: int) -> str:
    if "seconds" not in outcome:
        return f"{'-':>18s}{'-':>11s}"
    return f"{outcome['seconds']:18.2f}{events / outcome['seconds']:11,.0f}"


if __name__ == "__main__":
    main()

"""Nearly empty epochs on a standalone cluster of three one-core executors, beside the same job on three local cores.

Prints the median of the first 50 epochs of both, of a hundred up to the 450th and of the last hundred, and the ratio
of the last (bar: 1.3; three new JVMs take longer than one until their code is compiled), how often subtasks found
their state in the memory of their process once all executors were there (bar: 99 %), and how large the plan is that
each task of an epoch gets from the driver, early and late in the job. The cluster is started on this machine, from
the pyspark package.
usage: cluster_epochs.py [--epochs 1500] [--parallelism 3] [--timeout 900] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import sys
import tempfile
from typing import Any

import many_subtasks
from side_by_side import script, told_by

from penstock.runtime.spark import plan_delivery

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
EXECUTORS = 3
YOUNG = 450
LATE = many_subtasks.LATE


def run_job(master: str, folder: str, parallelism: int, count: int) -> dict[str, Any]:
    """In a process of its own: Spark has one session in each."""
    sizes: list[int] = []
    packed = plan_delivery.packed

    def noting(plans: Any) -> bytes:
        data = packed(plans)
        sizes.append(len(data))
        return data

    plan_delivery.packed = noting
    settings = {
        "spark.master": master,
        "spark.executor.cores": "1",
        "spark.executor.memory": "512m",
        "execution.checkpointing.dir": folder,
        "execution.runtime-mode": "STREAMING",
        "spark.python.daemon.module": "penstock.runtime.spark.daemon",  # the executors have penstock installed
    }
    many_subtasks.epochs(parallelism, 12, settings)  # executors register one after the other
    sizes.clear()
    # In two jobs, because each remembers the timings of its newest epochs only.
    young = many_subtasks.epochs(parallelism, YOUNG, settings)
    measured: dict[str, Any] = many_subtasks.epochs(parallelism, max(LATE, count - YOUNG), settings)
    return {**measured, "young_ms": young["each_ms"], "plan_bytes": sizes}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=1500)
    parser.add_argument("--parallelism", type=int, default=EXECUTORS)
    parser.add_argument("--timeout", type=int, default=900, help="seconds for each of the two jobs")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--run", nargs=2, metavar=("MASTER", "FOLDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        told = run_job(*arguments.run, arguments.parallelism, arguments.epochs)
        print(json.dumps(told), flush=True)
        return
    from tests.servers.spark_cluster import spark_cluster

    def measured(name: str, master: str) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="penstock-cluster-epochs-") as folder:
            command = script("cluster_epochs.py", "--run", master, folder, "--epochs", arguments.epochs,
                             "--parallelism", arguments.parallelism)  # fmt: skip
            return told_by(name, command, timeout_s=arguments.timeout)

    results = {"local": measured("local", f"local[{EXECUTORS}]")}
    with spark_cluster(workers=EXECUTORS) as cluster:
        results["cluster"] = measured("cluster", cluster.url)
    print(f"{'':8} {'first 50, ms':>12} {'450th':>6} {'last 100':>9} {'of that Spark':>14} {'tasks':>6} {'warm':>8} "
          f"{'plan, bytes: first, last 10, most':>36}")  # fmt: skip
    for name, told in results.items():
        sizes, young = told["plan_bytes"], told["young_ms"]
        told["late_ms"] = statistics.median(told["each_ms"][-LATE:])
        print(
            f"{name:8} {statistics.median(young[:50]):12.0f} {statistics.median(young[-LATE:]):6.0f} "
            f"{told['late_ms']:9.0f} {told['launching_ms']:14.0f} "
            f"{told['working_ms']:6.0f} {told['warm']:8.2%} {sizes[0]:14,} {statistics.median(sizes[-10:]):11,.0f} "
            f"{max(sizes):9,}"
        )
    ratio = results["cluster"]["late_ms"] / results["local"]["late_ms"]
    print(f"an epoch on the cluster takes {ratio:.2f} x of a local one (bar: 1.3)")
    if arguments.json:
        arguments.json.write_text(json.dumps(results))


if __name__ == "__main__":
    main()

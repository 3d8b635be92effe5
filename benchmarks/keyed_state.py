"""Counting per key in keyed state: the same KeyedProcessFunction + ValueState on three engines.

10,000 keys, two cores. penstock and PyFlink run the same program; PySpark's transformWithState (row API, RocksDB)
runs the same count as a StatefulProcessor. Usage: keyed_state.py [--rows N] [--quick]
"""

from __future__ import annotations

import argparse

from side_by_side import flink_python, report, run, script


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=4_000_000, help="rows for penstock")
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    arguments = parser.parse_args()
    scale = 10 if arguments.quick else 1
    flink = flink_python()
    measured = [
        run("penstock", script("engines/keyed_state_flink_api.py", arguments.rows // scale)),
        run(
            "PySpark transformWithState",
            script("engines/keyed_state_transform_with_state.py", 300_000 // scale),
        ),
        run(
            "PyFlink, process mode",
            script("engines/keyed_state_flink_api.py", 20_000 // scale, "process", python=flink),
        ),
        run(
            "PyFlink, thread mode",
            script("engines/keyed_state_flink_api.py", 100_000 // scale, "thread", python=flink),
        ),
    ]
    report("count per key, 10,000 keys", measured, base="penstock")


if __name__ == "__main__":
    main()

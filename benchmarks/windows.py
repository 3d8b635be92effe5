"""Event-time windows: a tumbling 10 s count and a 60 s count sliding by 1 s, 10,000 keys, on penstock and PyFlink.

Both engines run the same program (engines/windows_flink_api.py): 10,000 records per second of event time, one
per key, counted by an AggregateFunction. usage: windows.py [--rows N] [--quick]
"""

from __future__ import annotations

import argparse

from side_by_side import flink_python, report, run, script

PROGRAM = "engines/windows_flink_api.py"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows for penstock")
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    arguments = parser.parse_args()
    scale = 10 if arguments.quick else 1
    flink = flink_python()
    rates = {}
    for kind, flink_rows in (("tumbling", 20_000), ("sliding", 500)):
        measured = [
            run("penstock", script(PROGRAM, kind, arguments.rows // scale)),
            run("PyFlink, process mode", script(PROGRAM, kind, flink_rows // scale, python=flink)),
        ]
        report(f"{kind} windows", measured, base="penstock")
        rates[kind] = measured[0].rows_per_second
    print(
        f"on penstock the sliding window costs {rates['tumbling'] / rates['sliding']:.2f} x the tumbling one"
    )


if __name__ == "__main__":
    main()

"""Writes the events of benchmarks/latency.py: a file of stamped events every 50 ms, at a steady rate, until killed.

The events of a file are created together, stamped with the moment before they are written; the file is there at once,
as a whole. Ticks keep their place on the clock, so a late one does not lower the rate.
usage: latency_events.py FOLDER RATE
"""

from __future__ import annotations

import pathlib
import sys
import time

TICK_SECONDS = 0.05
KEYS = 1_000


def write(base: pathlib.Path, name: str, events: int, first: int = 0) -> None:
    """A file of events in `base/in`, made aside and renamed; keys go round from the number of the first event."""
    rest = [f",{number % KEYS}\n" for number in range(first, first + events)]
    stamp = str(int(time.time() * 1000))
    hidden = base / f".{name}"
    hidden.write_text("".join(stamp + each for each in rest))
    hidden.rename(base / "in" / f"{name}.csv")


def main() -> None:
    base, rate = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    begins, tick, events = time.time(), 0, int(rate * TICK_SECONDS)
    while True:
        write(base, f"{tick:06d}", events, tick * events)
        tick += 1
        time.sleep(max(0.0, begins + tick * TICK_SECONDS - time.time()))


if __name__ == "__main__":
    main()

"""Window table functions in batch: every row gets the array of windows it belongs to, then one row each.

    time      ────────x──────────────▶          x = 8:07, size 10 min, slide 5 min
    last      [8:05        8:15)                last start = x - (x - offset) mod slide
    before  [8:00        8:10)                  go back slide by slide while the window still covers x

All arithmetic is on microseconds of local time: for TIMESTAMP_LTZ that is the time in the session's zone,
so that daily windows follow the calendar across changes of the clock.
"""

from __future__ import annotations

from penstock.common.datatypes import DataType, LocalZonedTimestampType
from penstock.sql.plan.algebra import WindowTvf


def window_columns(plan: WindowTvf, time: str, time_type: DataType, alias: str) -> tuple[str, list[str]]:
    """The array of (start, end) pairs of a row, and the three window columns over one exploded pair."""
    zoned = isinstance(time_type, LocalZonedTimestampType)
    local = f"CAST({time} AS TIMESTAMP_NTZ)" if zoned else time
    micros = _micros(local)
    size, offset = plan.size * 1000, plan.offset * 1000
    if plan.kind == "TUMBLE":
        start = _floor(micros, size, offset)
        windows = f"array(named_struct('s', {start}, 'e', {start} + {size}L))"
    elif plan.kind == "HOP":
        windows = _hop(micros, size, (plan.slide or 1) * 1000, offset)
    else:
        windows = _cumulate(micros, size, (plan.slide or 1) * 1000, offset)
    starts = [_stamp(f"{alias}.{alias}e.s"), _stamp(f"{alias}.{alias}e.e")]
    last = _stamp(f"{alias}.{alias}e.e - 1000L")
    return windows, [*starts, f"CAST({last} AS TIMESTAMP)" if zoned else last]


def _micros(local: str) -> str:
    """Microseconds since 1970 of a TIMESTAMP_NTZ, without any time zone in between."""
    return f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ '1970-01-01 00:00:00', {local})"


def _stamp(micros: str) -> str:
    return f"timestampadd(MICROSECOND, {micros}, TIMESTAMP_NTZ '1970-01-01 00:00:00')"


def _floor(micros: str, size: int, offset: int) -> str:
    return f"({micros} - pmod({micros} - {offset}L, {size}L))"


def _hop(micros: str, size: int, slide: int, offset: int) -> str:
    last = _floor(micros, slide, offset)
    count = -(-size // slide)
    windows = (
        f"transform(sequence(0, {count - 1}), i -> named_struct("
        f"'s', {last} - i * {slide}L, 'e', {last} - i * {slide}L + {size}L))"
    )
    return windows if size % slide == 0 else f"filter({windows}, w -> w.e > {micros})"


def _cumulate(micros: str, size: int, step: int, offset: int) -> str:
    """Windows of one start and growing ends; a row is in those that end behind it."""
    start = _floor(micros, size, offset)
    first = f"CAST(floor(({micros} - {start}) / {step}D) AS INT)"
    return (
        f"transform(sequence({first}, {size // step - 1}), i -> named_struct("
        f"'s', {start}, 'e', {start} + (i + 1) * {step}L))"
    )

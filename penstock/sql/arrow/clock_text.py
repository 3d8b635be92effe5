"""Dates and timestamps as text, written digit by digit into one buffer.

Spark writes a year of four digits, with a sign if it has more or is negative; the fields that follow have two digits
each. So for the years 0 to 9999 all texts of a column have the same length and are made by numpy. The few others
are written one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common import java_time
from penstock.sql.arrow.days import DAY, civil, days_of
from penstock.sql.arrow.values import Mask

PIECES = {"yyyy": (1, 4), "MM": (6, 2), "dd": (9, 2), "HH": (12, 2), "mm": (15, 2), "ss": (18, 2)}
"""Pattern letters and where (from 1) and how long their text is in `yyyy-MM-dd HH:mm:ss.SSSSSSSSS`."""

_FIRST, _END = int(days_of(0, 1, 1)) * DAY, int(days_of(10_000, 1, 1)) * DAY

Piece = tuple[str, str]
"""A field of `PIECES` or a run of S, and ""; or "", and literal text."""


def plain_pieces(pattern: str) -> list[Piece] | None:
    """A pattern taken apart; None if it has more than plain digits.

    >>> plain_pieces("yyyy/MM"), plain_pieces("d MMM")
    ([('yyyy', ''), ('', '/'), ('MM', '')], None)
    """
    pieces: list[Piece] = []
    for token in java_time.tokens(pattern):
        run = token.letter * token.count
        if not token.letter:
            pieces.append(("", token.text))
        elif run in PIECES or (token.letter == "S" and token.count <= 9):
            pieces.append((run, ""))
        else:
            return None
    return pieces


def clock_column(
    micros: Any, missing: Mask | None, pieces: list[Piece], odd_one: Callable[[int], str] | None = None
) -> pa.Array:
    """The text of each moment, given in microseconds since 1970 of the clock that is shown.

    Args:
        odd_one: Writes a moment whose year has a sign; by default its pieces are cut out of Spark's text at the
            usual places, as DATE_FORMAT does.

    >>> clock_column(np.array([-1]), None, plain_pieces("yyyy-MM-dd HH:mm:ss.SSS")).to_pylist()
    ['1969-12-31 23:59:59.999']
    """
    odd = (micros < _FIRST) | (micros >= _END)
    if missing is not None:
        odd &= ~missing
    texts = _fixed_width(np.where(odd, 0, micros) if odd.any() else micros, missing, pieces)
    if not odd.any():
        return texts
    found = texts.to_pylist()
    for i in np.flatnonzero(odd).tolist():
        found[i] = odd_one(int(micros[i])) if odd_one else _cut_out(int(micros[i]), pieces)
    return pa.array(found, pa.string())


def _fixed_width(micros: Any, missing: Mask | None, pieces: list[Piece]) -> pa.Array:
    fields = _fields(micros, pieces)
    blocks = [_digits(fields[run], len(run)) if run else _literal(text, len(micros)) for run, text in pieces]
    data = np.concatenate(blocks, axis=1) if blocks else np.empty((len(micros), 0), np.uint8)
    width = data.shape[1]
    offsets = np.arange(len(micros) + 1, dtype=np.int32) * np.int32(width)
    validity = None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(pa.string(), len(micros), buffers)


def _fields(micros: Any, pieces: list[Piece]) -> dict[str, Any]:
    """The numbers that the runs of letters stand for."""
    days, rest = np.divmod(micros, DAY)
    wanted = {run for run, _ in pieces}
    found: dict[str, Any] = {}
    if wanted & {"yyyy", "MM", "dd"}:
        found["yyyy"], found["MM"], found["dd"] = civil(days)
    found["HH"], found["mm"] = rest // 3_600_000_000, rest // 60_000_000 % 60
    found["ss"] = rest // 1_000_000 % 60
    for run in wanted:
        if run.startswith("S"):
            digits = len(run)
            fraction = rest % 1_000_000
            found[run] = fraction // 10 ** (6 - digits) if digits <= 6 else fraction * 10 ** (digits - 6)
    return found


def _digits(numbers: Any, width: int) -> Any:
    """A row of ASCII digits per number."""
    out = np.empty((len(numbers), width), np.uint8)
    rest = numbers
    for place in range(width - 1, -1, -1):
        rest, digit = np.divmod(rest, 10)
        out[:, place] = digit + 48
    return out


def _literal(text: str, rows: int) -> Any:
    return np.broadcast_to(np.frombuffer(text.encode(), np.uint8), (rows, len(text.encode())))


def spark_text(micros: int) -> str:
    """CAST(timestamp AS STRING) in Spark, without trailing zeros behind the second.

    >>> spark_text(-62198755200000000), spark_text(1500000)
    ('-0001-01-01 00:00:00', '1970-01-01 00:00:01.5')
    """
    days, rest = divmod(micros, DAY)
    seconds, fraction = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    tail = f".{fraction:06}".rstrip("0") if fraction else ""
    return f"{date_text(days)} {clock}{tail}"


def date_text(days: int) -> str:
    """CAST(date AS STRING) in Spark."""
    year, month, day = (int(part) for part in civil(np.int64(days)))
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


def _cut_out(micros: int, pieces: list[Piece]) -> str:
    """What cutting pieces out of Spark's text gives for years that have a sign."""
    text = spark_text(micros)
    text = (text if "." in text else text + ".").ljust(29, "0")[:29]
    out = []
    for run, literal in pieces:
        start, length = PIECES.get(run, (21, len(run)))
        out.append(text[start - 1 : start - 1 + length] if run else literal)
    return "".join(out)

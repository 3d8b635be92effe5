"""Columns of text are read by kernels as the readers of single texts read them."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from penstock.sql.arrow.reading import read_date, read_double, read_integer, read_timestamp
from penstock.sql.arrow.reading_columns import read_dates, read_doubles, read_integers, read_timestamps
from penstock.sql.arrow.time_text import _read_pattern
from penstock.sql.functions.udfs import UDFS

ODD = [
    "", " ", "2023-02-30 00:00:00", "0000-01-01 00:00:00", "0999-01-01 00:00:00", "9999-12-31 23:59:59.999999",
    "2024-02-29 24:00:00", "2024-02-29 23:59:60", "2024-13-01 00:00:00", "2024-1-1", "2024-01-01", "2024-00-10",
    "1969-12-31 23:59:59.9999", "2024-01-01 00:00:00.1234567", "2024-01-01T00:00:00", "2024-01-01 00:00:00\n",
    "1900-01-01 00:00:00.000001", "300", "-128", "-129", "+7", "007", "-0", "1.5", "-1.25", "1e3", "9" * 18, "9" * 19,
    "0.1", "123456789012345.123456789012345", ".5", "5.", "NaN", "x", "12\n", "2024", "31.12.1999", "29.02.2023",
    "00.01.2024", "31/12/1999 23:15", "20240229", "20230229", "20240229101112", " 2024-01-01 10:00:00 ",
]  # fmt: skip


def _batches() -> list[list[str | None]]:
    """Each text alone, all together, and plain ones among which some are odd."""
    plain = [
        "2024-02-29 10:11:12",
        "1965-07-01 01:02:03.5",
        "2001-01-01 00:00:00.123456",
        "42",
        "-17",
        "3.25",
    ]
    random.seed(5)
    mixed = [random.sample(plain + ODD, 6) for _ in range(200)]
    return [[text] for text in ODD] + [[*ODD, None], [*plain, None], *mixed]  # type: ignore[list-item]


CASES: list[tuple[Any, Any]] = [
    *((partial(read_timestamps, p, o), partial(read_timestamp, p, o)) for p in (0, 3, 6) for o in (0, 3_600_000_000)),
    (read_dates, read_date),
    (read_doubles, read_double),
    *(
        (partial(read_integers, kind), partial(read_integer, kind.bit_width))
        for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())
    ),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CASES)))
def test_a_column_is_read_as_its_texts_are(number: int) -> None:
    read_all, read_one = CASES[number]
    for texts in _batches():
        wanted = [None if text is None else read_one(text) for text in texts]
        assert str(read_all(read_one, pa.array(texts, pa.string())).to_pylist()) == str(wanted), texts


@pytest.mark.parametrize(
    "pattern",
    ["dd.MM.yyyy", "dd/MM/yyyy HH:mm", "yyyyMMdd", "yyyyMMddHHmmss", "yyyy-MM-dd HH:mm:ss.SSSSSS", "d.M.yy"],
)
def test_a_pattern_of_fixed_width_is_read_as_the_udf_reads_it(pattern: str) -> None:
    for texts in _batches():
        wanted = [UDFS["to_timestamp"].function(text, pattern, 3) for text in texts]
        assert _read_pattern(3, pattern, pa.array(texts, pa.string())).to_pylist() == wanted, texts

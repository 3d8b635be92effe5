"""Rows of two sides with equal keys, as pairs of row numbers, so many at a time that they fit into memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.delta.columns import Ints


def matches(
    left_codes: Ints, left_rows: Ints, right_codes: Ints, right_rows: Ints, at_once: int
) -> Iterator[tuple[Ints, Ints]]:
    """Numbers of left and right rows with equal codes, of the rows given; about `at_once` pairs at a time.

    A row with more partners than that meets them in portions too.
    """
    if not len(left_rows) or not len(right_rows):
        return
    order = right_rows[np.argsort(right_codes[right_rows], kind="stable")]
    sorted_codes = right_codes[order]
    wanted = left_codes[left_rows]
    starts = np.searchsorted(sorted_codes, wanted, "left")
    counts = np.searchsorted(sorted_codes, wanted, "right") - starts
    for rows in portions(counts, at_once):
        if len(rows) == 1 and counts[rows[0]] > at_once:
            start, end = starts[rows[0]], starts[rows[0]] + counts[rows[0]]
            for at in range(start, end, at_once):
                partners = order[at : min(at + at_once, end)]
                yield np.full(len(partners), left_rows[rows[0]]), partners
        else:
            mine, partners = spread(rows, starts, counts, order)
            yield left_rows[mine], partners


def portions(counts: Ints, at_once: int) -> Iterator[Ints]:
    """Numbers of rows that have partners, so many at a time that their pairs are about `at_once`."""
    rows = np.flatnonzero(counts)
    if not len(rows):
        return
    sums = np.cumsum(counts[rows])
    # A row with many partners stands alone, so that it can be cut.
    large = counts[rows] > at_once
    cuts = np.flatnonzero((np.diff(sums // at_once) > 0) | large[1:] | large[:-1]) + 1
    yield from np.split(rows, cuts)


def spread(rows: Ints, starts: Ints, counts: Ints, order: Ints) -> tuple[Ints, Ints]:
    """Every row once per partner, and the partners."""
    repeats = counts[rows]
    offsets = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return np.repeat(rows, repeats), order[np.repeat(starts[rows], repeats) + offsets]

"""Rows of two sides with equal keys, as pairs of row numbers, so many at a time that they fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from penstock.delta.columns import Ints


@dataclass(frozen=True)
class ByCode:
    """Rows of one side in the order of their codes."""

    rows: Ints
    codes: Ints

    @classmethod
    def of(cls, codes: Ints, rows: Ints) -> ByCode:
        order = rows[np.argsort(codes[rows], kind="stable")]
        return cls(order, codes[order])

    def find(self, wanted: Ints) -> tuple[Ints, Ints]:
        """For each code where its rows begin, and how many they are."""
        starts = np.searchsorted(self.codes, wanted, "left")
        return starts, np.searchsorted(self.codes, wanted, "right") - starts


def matches(
    left_codes: Ints, left_rows: Ints, right_codes: Ints, right_rows: Ints, at_once: int
) -> Iterator[tuple[Ints, Ints]]:
    """Numbers of left and right rows with equal codes, of the rows given; about `at_once` pairs at a time."""
    if not len(left_rows) or not len(right_rows):
        return
    for at, partners in partners_of(left_codes[left_rows], ByCode.of(right_codes, right_rows), at_once):
        yield left_rows[at], partners


def partners_of(wanted: Ints, index: ByCode, at_once: int) -> Iterator[tuple[Ints, Ints]]:
    """Numbers of codes that are wanted, and of a row that has the code; about `at_once` pairs at a time.

    A code with more rows than that meets them in portions too.
    """
    starts, counts = index.find(wanted)
    for at in portions(counts, at_once):
        if len(at) == 1 and counts[at[0]] > at_once:
            start, end = starts[at[0]], starts[at[0]] + counts[at[0]]
            for begin in range(start, end, at_once):
                partners = index.rows[begin : min(begin + at_once, end)]
                yield np.full(len(partners), at[0]), partners
        else:
            yield spread(at, starts, counts, index.rows)


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

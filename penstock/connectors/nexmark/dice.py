"""Randomness that counts: the throw of a die is a hash of the event's number and the die's name.

There is no state, so event 7,000,000 costs what event 7 costs, and whoever throws finds the same. (A generator with a
seed would have to be wound forward, and numpy may change what its generators give.)
"""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt

from penstock.connectors.nexmark.clock import Integers

_STRIDE = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def fractions(numbers: Integers, die: str) -> npt.NDArray[np.float64]:
    """Evenly spread over [0, 1), one per number."""
    salt = np.uint64((zlib.crc32(die.encode()) * 0x2545F4914F6CDD1D) & (2**64 - 1))
    bits = (numbers.astype(np.uint64) * _STRIDE) ^ salt
    for shift, factor in ((np.uint64(30), _FIRST), (np.uint64(27), _SECOND)):
        bits ^= bits >> shift
        bits *= factor
    bits ^= bits >> np.uint64(31)
    spread: npt.NDArray[np.float64] = (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return spread


def below(numbers: Integers, die: str, bound: int | Integers) -> Integers:
    """Whole numbers from 0 to `bound` - 1, one per number.

    >>> below(np.arange(8), "example", 6).tolist() == below(np.arange(100), "example", 6).tolist()[:8]
    True
    """
    whole: Integers = (fractions(numbers, die) * bound).astype(np.int64)
    return whole

"""Texts of events. They are made once per process, in pools; an event picks from a pool, which costs a copy."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.connectors.nexmark.clock import Integers
from penstock.connectors.nexmark.dice import below

STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = (
    "Bend", "Boise", "Cheyenne", "Kent", "Los Angeles", "Phoenix", "Portland", "Redmond", "San Francisco", "Seattle",
)  # fmt: skip
FIRST_NAMES = ("Deiter", "John", "Julie", "Kate", "Luke", "Paul", "Peter", "Sarah", "Saul", "Vicky", "Walter")
LAST_NAMES = ("Abrams", "Bartels", "Jones", "Noris", "Shultz", "Smith", "Spencer", "Walton", "White")
HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
COLD_CHANNELS = 10_000

_SHORTEST = 3
_POOL_BYTES = 4 << 20
_POOL_TEXTS = 32_768


@lru_cache(maxsize=8)
def pool(names: tuple[str, ...]) -> pa.StringArray:
    """The names as an array, made when first picked from: pyarrow imports pandas for its first array."""
    return pa.array(names)


@lru_cache(maxsize=64)
def words(die: str, count: int, longest: int, gap: str = " ") -> pa.StringArray:
    """Texts of 3 to `longest` - 1 lower-case letters, with a gap in one of 13 places."""
    lengths = _SHORTEST + below(np.arange(count), f"{die} length", longest - _SHORTEST)
    places = np.arange(int(lengths.sum()))
    gaps = below(places, f"{die} gap", 13) == 0
    letters = np.where(gaps, ord(gap), _letters(places, die))
    return pc.utf8_trim_whitespace(_cut(letters.astype(np.uint8), lengths))


@lru_cache(maxsize=16)
def extras(die: str, average: int) -> pa.StringArray:
    """Letters that make an event as long as it shall be: about `average`, a fifth more or less."""
    if average <= 0:
        return pa.array([""])
    count = min(_POOL_TEXTS, max(16, _POOL_BYTES // average))
    spread = round(average * 0.2)
    lengths = average - spread + below(np.arange(count), f"{die} length", max(1, 2 * spread))
    letters = _letters(np.arange(int(lengths.sum())), die)
    return _cut(letters.astype(np.uint8), lengths)


@lru_cache(maxsize=1)
def four_digits() -> pa.StringArray:
    return pa.array([f"{number:04d}" for number in range(10_000)])


@lru_cache(maxsize=1)
def channels() -> tuple[pa.StringArray, pa.StringArray]:
    """The channels of bids, hot ones first, and the URL of each; of the cold ones, nine of ten have an id in it."""
    names = [*HOT_CHANNELS, *(f"channel-{number}" for number in range(COLD_CHANNELS))]
    count = len(names)
    folders = [words(f"url {level}", count, 5, "_").to_pylist() for level in range(3)]
    has_id = below(np.arange(count), "url has id", 10) > 0
    has_id[: len(HOT_CHANNELS)] = False
    ids = below(np.arange(count), "url id", 2**31 - 1)
    urls = [
        f"https://www.nexmark.com/{a}/{b}/{c}/item.htm?query=1"
        + (f"&channel_id={ids[i]}" if has_id[i] else "")
        for i, (a, b, c) in enumerate(zip(*folders, strict=True))
    ]
    return pa.array(names), pa.array(urls)


def _letters(places: Integers, die: str) -> Integers:
    return ord("a") + below(places, die, 26)


def _cut(letters: npt.NDArray[np.uint8], lengths: Integers) -> pa.StringArray:
    """One long text as many of these lengths."""
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.StringArray.from_buffers(len(lengths), pa.py_buffer(offsets), pa.py_buffer(letters))

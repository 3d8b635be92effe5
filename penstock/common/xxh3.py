"""XXH3 of many short inputs at once, in numpy: what `xxhash.xxh3_64_intdigest` gives for each row.

Keys that are whole numbers encode to at most 16 bytes, for which XXH3 is a handful of multiplications. Longer inputs
go to the library, one call each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Hashes = np.ndarray[Any, np.dtype[np.uint64]]

LONGEST = 16

# The first bytes of XXH3's default secret, as little-endian words.
_SECRET = np.frombuffer(
    bytes.fromhex(
        "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
        "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    ),
    "<u8",
).tolist()
_U = np.uint64
_PRIME_2, _PRIME_3 = _U(0xC2B2AE3D27D4EB4F), _U(0x165667B19E3779F9)
_PRIME_MX1, _PRIME_MX2 = _U(0x165667919E3779F9), _U(0x9FB21C651E98DF25)
_LOW = _U(0xFFFFFFFF)


def hash_rows(data: Bytes, lengths: np.ndarray[Any, Any]) -> Hashes:
    """The hash of the first `lengths[i]` bytes of each row of a matrix with LONGEST columns and zeros behind.

    Lengths are 1 to LONGEST.
    """
    result: Hashes = np.empty(len(data), np.uint64)
    for low, high, kernel in ((1, 3, _up_to_3), (4, 8, _up_to_8), (9, 16, _up_to_16)):
        mine = (lengths >= low) & (lengths <= high)
        if mine.all():
            return kernel(data, lengths)
        if mine.any():
            result[mine] = kernel(data[mine], lengths[mine])
    return result


def _up_to_3(data: Bytes, lengths: np.ndarray[Any, Any]) -> Hashes:
    rows, size = np.arange(len(data)), lengths.astype(np.uint64)
    first, middle = data[:, 0].astype(np.uint64), data[rows, lengths >> 1].astype(np.uint64)
    last = data[rows, lengths - 1].astype(np.uint64)
    combined = (first << _U(16)) | (middle << _U(24)) | last | (size << _U(8))
    h = combined ^ _U((_SECRET[0] & 0xFFFFFFFF) ^ (_SECRET[0] >> 32))
    h ^= h >> _U(33)
    h *= _PRIME_2
    h ^= h >> _U(29)
    h *= _PRIME_3
    h ^= h >> _U(32)
    return h


def _up_to_8(data: Bytes, lengths: np.ndarray[Any, Any]) -> Hashes:
    size = lengths.astype(np.uint64)
    word = _words(data, np.zeros_like(lengths))
    first = word & _LOW
    last = _words(data, lengths - 4) & _LOW
    h = (last + (first << _U(32))) ^ _U(_SECRET[1] ^ _SECRET[2])
    h ^= _rotated(h, 49) ^ _rotated(h, 24)
    h *= _PRIME_MX2
    h ^= (h >> _U(35)) + size
    h *= _PRIME_MX2
    h ^= h >> _U(28)
    return h


def _up_to_16(data: Bytes, lengths: np.ndarray[Any, Any]) -> Hashes:
    low = _words(data, np.zeros_like(lengths)) ^ _U(_SECRET[3] ^ _SECRET[4])
    high = _words(data, lengths - 8) ^ _U(_SECRET[5] ^ _SECRET[6])
    h = lengths.astype(np.uint64) + low.byteswap() + high + _folded_product(low, high)
    h ^= h >> _U(37)
    h *= _PRIME_MX1
    h ^= h >> _U(32)
    return h


def _words(data: Bytes, starts: np.ndarray[Any, Any]) -> Hashes:
    """Eight bytes of each row from a place on, as little-endian numbers; zeros beyond the row's end."""
    both = np.ascontiguousarray(data).view("<u8")
    low, high = both[:, 0], both[:, 1]
    if not starts.any():
        return low
    shift = (starts * 8).astype(np.uint64)
    # A shift by 64 is undefined, so rows that begin at 0 or 8 are done apart.
    inner = (low >> (shift & _U(63))) | (high << ((_U(64) - shift) & _U(63)))
    return np.where(starts == 0, low, np.where(starts == 8, high, inner))


def _rotated(h: Hashes, by: int) -> Hashes:
    return (h << _U(by)) | (h >> _U(64 - by))


def _folded_product(a: Hashes, b: Hashes) -> Hashes:
    """The two halves of the 128-bit product, xored."""
    a_low, a_high, b_low, b_high = a & _LOW, a >> _U(32), b & _LOW, b >> _U(32)
    low_low, high_low = a_low * b_low, a_high * b_low
    low_high, high_high = a_low * b_high, a_high * b_high
    cross = (low_low >> _U(32)) + (high_low & _LOW) + low_high
    upper = (high_low >> _U(32)) + (cross >> _U(32)) + high_high
    lower = (cross << _U(32)) | (low_low & _LOW)
    return upper ^ lower

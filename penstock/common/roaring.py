"""Roaring bitmaps in their portable byte format, in plain Python.

A set of unsigned 32-bit numbers is cut into containers by the upper 16 bits. A container of up to 4,096
numbers is a sorted list of 16-bit numbers, a larger one a bit set of 8 KiB; files of other writers may
also have containers of runs. Little-endian throughout:

    cookie 12346 · number of containers · (key, count - 1)* · offset* · containers

See "Roaring Bitmaps: Implementation of an Optimized Software Library" (Lemire et al., 2018).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

_PLAIN, _WITH_RUNS = 12346, 12347
_LIST_LIMIT = 4096
_NO_OFFSETS_BELOW = 4


def dump(values: Iterable[int]) -> bytes:
    """The bytes of a set of integers; negative ones are taken as unsigned.

    >>> sorted(load(dump([5, 1, 3, 1])))
    [1, 3, 5]
    """
    containers: dict[int, list[int]] = {}
    for value in sorted({v & 0xFFFFFFFF for v in values}):
        containers.setdefault(value >> 16, []).append(value & 0xFFFF)
    head = [struct.pack("<II", _PLAIN, len(containers))]
    bodies = []
    for key, lows in containers.items():
        head.append(struct.pack("<HH", key, len(lows) - 1))
        bodies.append(_list(lows) if len(lows) <= _LIST_LIMIT else _bits(lows))
    at = 8 + 8 * len(containers)
    for body in bodies:
        head.append(struct.pack("<I", at))
        at += len(body)
    return b"".join(head + bodies)


def _list(lows: list[int]) -> bytes:
    return struct.pack(f"<{len(lows)}H", *lows)


def _bits(lows: list[int]) -> bytes:
    bits = bytearray(8192)
    for low in lows:
        bits[low >> 3] |= 1 << (low & 7)
    return bytes(bits)


def load(data: bytes) -> set[int]:
    """The numbers in a bitmap, unsigned."""
    (cookie,) = struct.unpack_from("<I", data)
    runs, at = b"", 8
    if cookie & 0xFFFF == _WITH_RUNS:
        count = (cookie >> 16) + 1
        flags = (count + 7) // 8
        runs, at = data[4 : 4 + flags], 4 + flags
    elif cookie == _PLAIN:
        (count,) = struct.unpack_from("<I", data, 4)
    else:
        raise ValueError(f"these bytes are no Roaring bitmap: they start with {cookie}")
    heads = [struct.unpack_from("<HH", data, at + 4 * i) for i in range(count)]
    at += 4 * count
    if not runs or count >= _NO_OFFSETS_BELOW:
        at += 4 * count
    out: set[int] = set()
    for i, (key, last) in enumerate(heads):
        is_run = bool(runs) and bool(runs[i >> 3] >> (i & 7) & 1)
        lows, at = _read(data, at, last + 1, is_run)
        out.update(key << 16 | low for low in lows)
    return out


def _read(data: bytes, at: int, count: int, is_run: bool) -> tuple[list[int], int]:
    if is_run:
        (runs,) = struct.unpack_from("<H", data, at)
        pairs = struct.unpack_from(f"<{2 * runs}H", data, at + 2)
        lows = [low for i in range(0, 2 * runs, 2) for low in range(pairs[i], pairs[i] + pairs[i + 1] + 1)]
        return lows, at + 2 + 4 * runs
    if count <= _LIST_LIMIT:
        return list(struct.unpack_from(f"<{count}H", data, at)), at + 2 * count
    bits = int.from_bytes(data[at : at + 8192], "little")
    return [i for i in range(65536) if bits >> i & 1], at + 8192


def signed(value: int) -> int:
    """The 32 bits of a number as a signed one."""
    return value - (1 << 32) if value >= 1 << 31 else value

"""Which session each of an epoch's rows belongs to; `session_windows.py` has the rules and why sorting finds them."""

from __future__ import annotations

import numpy as np

from penstock.delta.columns import Ints

_TOO_LARGE = 1 << 62


def assigned(codes: Ints, starts: Ints, ends: Ints, marks: Ints, stored: int) -> Ints:
    """The number of each item's session, from 0 on; -1 if it is dropped.

    Items are in order of arrival, sessions of earlier epochs first.

    Args:
        codes: The number of each item's key.
        starts: When it begins.
        ends: When the session would end that has no other item; of a stored one, when it ends.
        marks: The watermark before it; the least one for stored sessions.
        stored: How many of the items are stored sessions.
    """
    if not len(codes):
        return codes
    order = np.lexsort((starts, codes))
    code, start, end, mark = codes[order], starts[order], ends[order], marks[order]
    reach = _reach(code, end)
    if reach is None:
        return _row_by_row(codes, starts, ends, marks, np.ones(len(codes), bool), stored)
    joined = np.zeros(len(code), bool)
    joined[1:] = (code[1:] == code[:-1]) & (start[1:] <= reach[:-1])
    found = np.empty(len(code), np.int64)
    numbers = np.cumsum(~joined) - 1
    alone = ~joined
    alone[:-1] &= ~joined[1:]
    numbers[alone & (end - 1 <= mark)] = -1
    found[order] = numbers
    unclear = joined & (order < stored)  # two that did not join before may do so through a row only
    unclear[1:] |= joined[1:] & (reach[:-1] - 1 <= np.maximum(mark[1:], mark[:-1]))
    if not unclear.any():
        return found
    slow = np.zeros(int(codes.max()) + 1, bool)
    slow[code[unclear]] = True
    chosen = slow[codes]
    return np.where(chosen, _row_by_row(codes, starts, ends, marks, chosen, stored), found)


def _reach(code: Ints, end: Ints) -> Ints | None:
    """The latest end so far of each key, in order of key and time; None if there are no numbers for it."""
    least = int(end.min())
    span = int(end.max()) - least + 1
    if span * (int(code[-1]) + 1) >= _TOO_LARGE:
        return None
    shift = code * span - least
    reach: Ints = np.maximum.accumulate(end + shift) - shift
    return reach


def _row_by_row(codes: Ints, starts: Ints, ends: Ints, marks: Ints, chosen: Ints, stored: int) -> Ints:
    """The same for the chosen items, by the rules themselves. The numbers begin behind those of the others."""
    found = np.full(len(codes), -1, np.int64)
    sessions: dict[int, list[tuple[int, int, list[int]]]] = {}
    items = np.flatnonzero(chosen)
    for item, code, start, end, mark in zip(
        items.tolist(), *(a[items].tolist() for a in (codes, starts, ends, marks)), strict=True
    ):
        known = sessions.setdefault(code, [])
        touched = []
        if item >= stored:
            touched = [s for s in known if s[0] <= end and start <= s[1] and s[1] - 1 > mark]
        if not touched and end - 1 <= mark:
            continue
        mine = [s for s in known if not any(s is t for t in touched)]
        members = [i for s in touched for i in s[2]]
        first, last = min([start, *(s[0] for s in touched)]), max([end, *(s[1] for s in touched)])
        sessions[code] = [*mine, (first, last, [*members, item])]
    for known in sessions.values():
        for _, _, members in known:
            found[members] = len(codes) + members[0]
    return found

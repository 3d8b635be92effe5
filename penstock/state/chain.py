"""Which files a copy of the state was made of, as one digest.

State as of an epoch is a snapshot and the deltas since: a chain of files. Two copies are equal when their
chains are, so a copy remembers the digest of its chain, and the chain that the driver expects is compared
with it:

    expected  S  d1 d2 d3        digest after each file:  a b c e
    copy has                b?   then d2 and d3 are missing; none of them: rebuild

A new snapshot replaces a chain by one file with the same content. Whoever takes it knows that, and remembers
the *alias*: the snapshot's id stands for the digest it was taken at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xxhash import xxh3_128_hexdigest

from penstock.checkpoint.handles import FileRef
from penstock.state.backend import KeyedStateRestore

EMPTY = "empty"
"""Digest of the chain without files."""


@dataclass(frozen=True)
class Step:
    """One file to apply, cut to the key groups that the handle and the subtask have in common."""

    file: FileRef
    first_group: int
    last_group: int

    @property
    def id(self) -> str:
        return f"{self.file.path}#{self.file.checksum}#{self.first_group}-{self.last_group}"


def steps_of(restore: KeyedStateRestore) -> tuple[Step, ...]:
    """The files that make up the state, in the order in which they are applied."""
    steps = []
    for handle in restore.handles:
        first = max(handle.first_key_group, restore.first_key_group)
        last = min(handle.last_key_group, restore.last_key_group)
        if first <= last:
            steps += [Step(file, first, last) for file in handle.files]
    return tuple(steps)


def extend(digest: str, step: Step) -> str:
    """The digest behind a file. A packed file leads to where the files led that it stands for."""
    file = step.file
    if file.since == digest and file.groups == (step.first_group, step.last_group):
        return file.until
    return xxh3_128_hexdigest(f"{digest}\n{step.id}".encode())


def digests_of(steps: tuple[Step, ...], start: str = EMPTY) -> list[str]:
    """The digest before the first step, and after each."""
    digests = [start]
    for step in steps:
        digests.append(extend(digests[-1], step))
    return digests


def steps_applied(current: str, steps: tuple[Step, ...], aliases: Mapping[str, str]) -> int | None:
    """How many of the expected steps a copy with digest `current` has already; None if it is another state.

    >>> a, b = Step(FileRef("a", 1, "1"), 0, 9), Step(FileRef("b", 1, "2"), 0, 9)
    >>> steps_applied(extend(EMPTY, a), (a, b), {})
    1
    >>> steps_applied("of something else", (a, b), {}) is None
    True
    """
    digests = digests_of(steps)
    if current in digests:
        return digests.index(current)
    if steps and steps[0].id in aliases:
        digests = digests_of(steps[1:], aliases[steps[0].id])
        if current in digests:
            return digests.index(current) + 1
    return None

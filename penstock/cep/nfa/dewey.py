"""Versions of paths through the shared buffer: Dewey numbers, as plain tuples.

When a partial match branches, its branches get versions that only differ in the last digit; when it takes an event, a
digit is added. A link in the buffer has the version of the partial match that made it, and belongs to all partial
matches whose versions descend from it.

>>> compatible((1, 0, 0), (1, 0)), compatible((1, 2), (1, 0)), compatible((1, 0), (1, 2)), compatible((2, 0), (1,))
(True, True, False, False)
"""

from __future__ import annotations

Version = tuple[int, ...]


def increase(version: Version, by: int) -> Version:
    """The version of a later branch of the same partial match."""
    return (*version[:-1], version[-1] + by) if by else version


def add_stage(version: Version) -> Version:
    """The version of what follows."""
    return (*version, 0)


def compatible(version: Version, link: Version) -> bool:
    """Whether a partial match of `version` may follow a link: it descends from it, or is a later branch of it."""
    length = len(link)
    if len(version) > length:
        return version[:length] == link
    return len(version) == length and version[-1] >= link[-1] and version[:-1] == link[:-1]

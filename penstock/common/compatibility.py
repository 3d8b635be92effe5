"""Whether state written with one type can be read with another, told from their fingerprints.

A fingerprint is the type as text, such as `TUPLE<INT,STRING>` or `ROW<"id" INT,"name" STRING>`. State stays
readable when the text is the same; when a number became wider (the bytes are the same); and when one field of
all got a name that no field had before. Swapped fields are not: their values would change places. Nor are several
new names: they are more likely other fields than other names.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s<>,"]+|[<>,]')
_INTEGERS = ("BYTE", "SHORT", "INT", "LONG")
_FLOATS = ("FLOAT", "DOUBLE")


def compatible(now: str, then: str) -> bool:
    """Whether a codec with fingerprint `now` reads what one with `then` wrote.

    >>> compatible("TUPLE<LONG,STRING>", "TUPLE<INT,STRING>")
    True
    >>> compatible("TUPLE<INT,STRING>", "TUPLE<LONG,STRING>")
    False
    >>> compatible('ROW<"a" INT,"c" INT>', 'ROW<"a" INT,"b" INT>')
    True
    >>> compatible('ROW<"c" INT,"d" INT>', 'ROW<"a" INT,"b" INT>')
    False
    """
    if now == then:
        return True
    new, old = _types(now), _types(then)
    if len(new) != len(old) or not all(map(_reads, new, old)):
        return False
    return _names_kept(_names(now), _names(then))


def _types(fingerprint: str) -> list[str]:
    return [token for token in _TOKEN.findall(fingerprint) if not token.startswith('"')]


def _names(fingerprint: str) -> list[str]:
    return [token for token in _TOKEN.findall(fingerprint) if token.startswith('"')]


def _reads(new: str, old: str) -> bool:
    if new == old:
        return True
    for family in (_INTEGERS, _FLOATS):
        if new in family and old in family:
            return family.index(new) > family.index(old)
    return False


def _names_kept(new: list[str], old: list[str]) -> bool:
    if len(new) != len(old):
        return not new or not old  # a row that gained or lost all of its names
    renamed = [(a, b) for a, b in zip(new, old, strict=True) if a != b]
    return not renamed or (len(renamed) == 1 and renamed[0][0] not in old and renamed[0][1] not in new)

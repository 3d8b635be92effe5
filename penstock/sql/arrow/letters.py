"""UPPER and LOWER of text beyond ASCII, as ICU does it for Spark.

Python's full case mapping is the same one (`straße` becomes `STRASSE`, a Σ that ends a word ς), but its
tables are those of an older Unicode: ICU knows version 17. The letters that came since Unicode 13 are listed
here; tests compare every character with Spark.
"""

from __future__ import annotations

import re


def _pairs() -> dict[int, int]:
    """Capital letters and their small ones that are newer than Unicode 13."""
    pairs = {
        0x1C89: 0x1C8A, 0x2C2F: 0x2C5F, 0xA7C0: 0xA7C1, 0xA7CB: 0x264, 0xA7CC: 0xA7CD, 0xA7CE: 0xA7CF, 0xA7D0: 0xA7D1,
        0xA7D2: 0xA7D3, 0xA7D4: 0xA7D5, 0xA7D6: 0xA7D7, 0xA7D8: 0xA7D9, 0xA7DA: 0xA7DB, 0xA7DC: 0x19B,
    }  # fmt: skip
    blocks = ((0x10570, 0x1057A, 39), (0x1057C, 0x1058A, 39), (0x1058C, 0x10592, 39), (0x10594, 0x10595, 39))
    for first, last, distance in (*blocks, (0x10D50, 0x10D65, 32), (0x16EA0, 0x16EB8, 27)):
        pairs.update((code, code + distance) for code in range(first, last + 1))
    return pairs


_LOWER = _pairs()
_UPPER = {small: capital for capital, small in _LOWER.items()}

_CASED = "1c89-1c8a a7cb-a7cf a7d2 a7d4 a7da-a7dc 10d50-10d65 10d70-10d85 16ea0-16eb8 16ebb-16ed3 1df25-1df2a"
_IGNORED = (
    "897 ece 1acf-1add 1ae0-1aeb a7f1 10d4e 10d69-10d6d 10d6f 10ec5 10efa-10eff 11241 113bb-113c0 113ce "
    "113d0 113d2 113e1-113e2 1171e 11b60 11b62-11b64 11b66 11dd9 11f00-11f01 11f36-11f3a 11f40 11f42 "
    "11f5a 13439-13440 13447-13455 1611e-16129 1612d-1612f 16d40-16d42 16d6b-16d6c 16ff2-16ff3 "
    "1e030-1e06d 1e08f 1e4eb-1e4ef 1e5ee-1e5ef 1e6e3 1e6e6 1e6ee-1e6ef 1e6f5 1e6ff"
)


def _contexts() -> dict[int, str]:
    """Characters that Python takes for others when it looks around a Σ, and one of the kind that they are."""
    table = {0x295: "-"}
    for ranges, kind in ((_CASED, "a"), (_IGNORED, "'")):
        for part in ranges.split():
            first, _, last = part.partition("-")
            table.update((code, kind) for code in range(int(first, 16), int(last or first, 16) + 1))
    return table


_CONTEXT = _contexts()
_SIGMA = "Σ"


def upper(text: str) -> str:
    """
    >>> upper("straße")
    'STRASSE'
    """
    return text.translate(_UPPER).upper()


def lower(text: str) -> str:
    """
    >>> lower("ΟΔΟΣ")
    'οδος'
    """
    if _SIGMA in text:
        text = _with_small_sigmas(text)
    return text.translate(_LOWER).lower()


def _with_small_sigmas(text: str) -> str:
    around = text.translate(_CONTEXT)

    def small(found: re.Match[str]) -> str:
        before = len(around[: found.start()].lower())
        return around.lower()[before]

    return re.sub(_SIGMA, small, text)

"""What can be said of a constant regular expression without running it.

Java's and Python's expressions have the same structure where they use the signs that both know, so Python's parser
tells what holds for Java's matcher, too: whether an expression compiles, and what Spark's '' for a group means. Spark
answers '' for a group that took no part in the match; if the group always takes part, or never matches nothing, the
two can be told apart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

try:
    from re import _parser as _sre  # type: ignore[attr-defined]
except ImportError:  # Python 3.10
    import sre_parse as _sre

__all__ = ["Group", "group_of", "is_good_pattern"]

_PLAIN = re.compile(
    r"""(?:[\w\s\-,:;!#%&'"/<=>@`~.*+?^$|()\[\]]     # signs that mean the same
       |\{\d{1,3}(?:,\d{0,3})?\}                     # a{2,3}, and no other brace
       |\\[dDwWsSbBtnrf]
       |\(\?<[A-Za-z][A-Za-z0-9]*>
       |\\[!-/:-@\[-`{-~]                            # punctuation stands for itself
       )*""",
    re.ASCII | re.X,
)
_OPENING = re.compile(r"\(\?(?![:=!>]|[ims]+[:)]|<[=!]|P<)")
_ODD_CLASS = re.compile(r"\[\^?\]|\[[^\]]*(?:\[|&&)")
_WORD_EDGE_IN_CLASS = re.compile(r"\[[^\]]*\\[bB]")


@lru_cache(maxsize=512)
def is_good_pattern(pattern: object) -> bool:
    """Whether a constant surely is a Java regular expression: it is one of the plain ones.

    >>> [is_good_pattern(p) for p in ("a{2}", "(?:a|b)+", "[[]", "(?P<a>b)", "a{,2}", "(", None)]
    [True, True, False, False, False, False, False]
    """
    if not isinstance(pattern, str) or not _PLAIN.fullmatch(pattern):
        return False
    if "(?P" in pattern:
        return False
    pattern = _in_python(pattern)
    bare = re.sub(r"\\.", "", pattern)
    if _OPENING.search(bare) or _ODD_CLASS.search(bare) or _WORD_EDGE_IN_CLASS.search(pattern):
        return False
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _in_python(pattern: str) -> str:
    """Groups with names, as Python writes them."""
    return re.sub(r"(?<!\\)\(\?<(?![=!])", "(?P<", pattern)


@dataclass(frozen=True)
class Group:
    """A group of an expression.

    Attributes:
        always: It takes part in every match.
        may_be_empty: It can match the empty text.
    """

    always: bool
    may_be_empty: bool


@lru_cache(maxsize=512)
def group_of(pattern: str, number: int) -> Group | None:
    """The group of that number, 0 being the whole; None if there is no such group.

    >>> group_of("(&|^)channel_id=([^&]*)", 2), group_of("(a)?b", 1)
    (Group(always=True, may_be_empty=True), Group(always=False, may_be_empty=False))
    """
    parsed = _sre.parse(_in_python(pattern))
    if number == 0:
        return Group(True, parsed.getwidth()[0] == 0)
    return _find(parsed, number, always=True)


def _find(part: Any, number: int, always: bool) -> Group | None:
    for operation, value in part:
        name = str(operation)
        if name == "SUBPATTERN" and value[0] == number:
            return Group(always, value[3].getwidth()[0] == 0)
        for child, sure in _children(name, value):
            found = _find(child, number, always and sure)
            if found is not None:
                return found
    return None


def _children(name: str, value: Any) -> list[tuple[Any, bool]]:
    """The parts of a part, and whether each takes part whenever the whole does."""
    if name == "SUBPATTERN":
        return [(value[3], True)]
    if name == "BRANCH":
        return [(branch, False) for branch in value[1]]
    if name.endswith("_REPEAT"):
        return [(value[2], value[0] > 0)]
    if name == "ATOMIC_GROUP":
        return [(value, True)]
    if name in ("ASSERT", "ASSERT_NOT"):
        return [(value[1], name == "ASSERT")]
    if name == "GROUPREF_EXISTS":
        return [(branch, False) for branch in value[1:] if branch is not None]
    return []

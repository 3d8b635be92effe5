"""The filters of JSON paths: `@.price > 5 && @.name =~ /a.*/i || !(@.old)`.

Numbers compare with numbers and texts with texts; everything else is neither smaller nor greater. A place that is not
there is equal to nothing. A place alone asks whether it is there.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Callable
from typing import Any

from penstock.sql.functions.java_regex import java_pattern

__all__ = ["Filter", "filter_of"]

Filter = Callable[[Any, Any], bool]
"""Of an item and the whole document."""
_Value = Callable[[Any, Any], Any]


class _Missing:
    """Stands for a place that is not there."""


_MISSING = _Missing()
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
      | (?P<regex>/(?:[^/\\]|\\.)+/[a-z]*)
      | (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
      | (?P<path>[@$](?:\[(?:[^\]'"]|'[^']*'|"[^"]*")*\]|[^\s=!<>&|()\[\],~]|\(\))*)
      | (?P<sign>===|!==|==|!=|<=|>=|=~|&&|\|\||[<>!()\[\],])
      | (?P<word>[A-Za-z]+)
    )""",
    re.X,
)


def filter_of(text: str) -> Filter:
    """The condition of a text; raises ValueError."""
    tokens, at = [], 0
    text = text.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"cannot read the filter {text!r}")
        tokens.append((str(found.lastgroup), found[str(found.lastgroup)]))
        at = found.end()
    parser = _Parser(tokens)
    condition = parser.either()
    if parser.rest:
        raise ValueError(f"cannot read the filter {text!r}")
    return condition


class _Parser:
    """Reads a condition from tokens; each method takes what it understands from the front."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.rest = tokens

    def _next(self, sign: str) -> bool:
        if self.rest and self.rest[0] == ("sign", sign):
            self.rest = self.rest[1:]
            return True
        return False

    def either(self) -> Filter:
        parts = [self._both()]
        while self._next("||"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else lambda item, root: any(p(item, root) for p in parts)

    def _both(self) -> Filter:
        parts = [self._single()]
        while self._next("&&"):
            parts.append(self._single())
        return parts[0] if len(parts) == 1 else lambda item, root: all(p(item, root) for p in parts)

    def _single(self) -> Filter:
        if self._next("!"):
            inner = self._single()
            return lambda item, root: not inner(item, root)
        if self._next("("):
            inner = self.either()
            if not self._next(")"):
                raise ValueError("a parenthesis of the filter is not closed")
            return inner
        return self._comparison()

    def _comparison(self) -> Filter:
        left = self._value()
        if not self.rest or self.rest[0] in (("sign", "&&"), ("sign", "||"), ("sign", ")")):
            return lambda item, root: left(item, root) is not _MISSING
        operator = self.rest[0][1].lower()
        self.rest = self.rest[1:]
        test = _TESTS.get(operator)
        if test is None:
            raise ValueError(f"the filter has no operator {operator}")
        right = self._value()
        return lambda item, root: test(left(item, root), right(item, root))

    def _value(self) -> _Value:
        if not self.rest:
            raise ValueError("a value of the filter is missing")
        (kind, text), self.rest = self.rest[0], self.rest[1:]
        if kind == "path":
            return _place(text)
        constant = self._list() if (kind, text) == ("sign", "[") else _constant(kind, text)
        return lambda item, root: constant

    def _list(self) -> list[Any]:
        values: list[Any] = []
        while not self._next("]"):
            if not self.rest:
                raise ValueError("a list of the filter is not closed")
            kind, text = self.rest[0]
            self.rest = self.rest[1:]
            if (kind, text) != ("sign", ","):
                values.append(_constant(kind, text))
        return values


def _constant(kind: str, text: str) -> Any:
    if kind == "text":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    if kind == "number":
        return decimal.Decimal(text)
    if kind == "regex":
        body, _, flags = text[1:].rpartition("/")
        return java_pattern(f"(?{flags}){body}" if flags else body)
    if kind == "word" and text in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[text]
    raise ValueError(f"cannot read {text!r} in a filter")


def _place(text: str) -> _Value:
    from penstock.sql.functions.json_paths import PathError, path_of

    path = path_of("$" + text[1:])
    of_root = text.startswith("$")

    def value(item: Any, root: Any) -> Any:
        try:
            return path.read(root if of_root else item, root)
        except PathError:
            return _MISSING

    return value


# --- comparing ------------------------------------------------------------------------------------------


def _number(value: Any) -> decimal.Decimal | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, decimal.Decimal)):
        return decimal.Decimal(value)
    if isinstance(value, float):
        return decimal.Decimal(repr(value))
    return None


def _equal(left: Any, right: Any) -> bool:
    """A text that shows a number is equal to it."""
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    numbers = [_number(v) if not isinstance(v, str) else _shown(v) for v in (left, right)]
    if None not in numbers:
        return numbers[0] == numbers[1]
    return type(left) is type(right) and bool(left == right)


def _shown(text: str) -> decimal.Decimal | None:
    try:
        return decimal.Decimal(text)
    except decimal.InvalidOperation:
        return None


def _ordered(left: Any, right: Any, holds: Callable[[Any, Any], bool]) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        return holds(left, right)
    a, b = _number(left), _number(right)
    return a is not None and b is not None and holds(a, b)


def _size(left: Any, right: Any) -> bool:
    return isinstance(left, (list, str)) and len(left) == _number(right)


def _within(left: Any, right: Any) -> bool:
    return isinstance(right, list) and any(_equal(left, item) for item in right)


def _contains(left: Any, right: Any) -> bool:
    if isinstance(left, str):
        return isinstance(right, str) and right in left
    return _within(right, left)


def _any_of(left: Any, right: Any) -> bool:
    return isinstance(left, list) and any(_within(item, right) for item in left)


def _matches(left: Any, right: Any) -> bool:
    if isinstance(right, re.Pattern):
        shown = left if isinstance(left, str) else None if _number(left) is None else str(left)
        return shown is not None and right.fullmatch(shown) is not None
    return False


_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "==": _equal,
    "!=": lambda a, b: not _equal(a, b),
    "===": lambda a, b: type(a) is type(b) and _equal(a, b),
    "!==": lambda a, b: not (type(a) is type(b) and _equal(a, b)),
    "<": lambda a, b: _ordered(a, b, lambda x, y: x < y),
    "<=": lambda a, b: _ordered(a, b, lambda x, y: x <= y),
    ">": lambda a, b: _ordered(a, b, lambda x, y: x > y),
    ">=": lambda a, b: _ordered(a, b, lambda x, y: x >= y),
    "=~": _matches,
    "in": _within,
    "nin": lambda a, b: not _within(a, b),
    "contains": _contains,
    "size": _size,
    "empty": lambda a, b: isinstance(a, (list, str)) and (not a) == b,
    "anyof": _any_of,
    "noneof": lambda a, b: isinstance(a, list) and not _any_of(a, b),
    "subsetof": lambda a, b: isinstance(a, list) and all(_within(item, b) for item in a),
}

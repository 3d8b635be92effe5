"""Three-valued logic and the forms that do not answer NULL to every NULL, as Python functions of a row.

None is both NULL and unknown. Each form takes evaluators, so that what need not be evaluated is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Evaluator = Callable[[Sequence[Any]], Any]


def logical_form(name: str, args: list[Evaluator]) -> Evaluator | None:
    """The evaluator of a form; None if `name` is an ordinary function.

    >>> false, unknown = (lambda row: False), (lambda row: None)
    >>> logical_form("AND", [unknown, false])(())
    False
    >>> print(logical_form("IN", [lambda row: 1, lambda row: 2, unknown])(()))
    None
    """
    if name in _TESTS:
        test = _TESTS[name]
        return lambda row: test(args[0](row))
    form = _FORMS.get(name)
    return None if form is None else form(*args)


def _kleene(decisive: bool, *parts: Evaluator) -> Evaluator:
    """AND (decided by a false) or OR (decided by a true), with unknown in between."""

    def evaluate(row: Sequence[Any]) -> Any:
        result: bool | None = not decisive
        for part in parts:
            value = part(row)
            if value is None:
                result = None
            elif value is decisive:
                return decisive
        return result

    return evaluate


def _not(part: Evaluator) -> Evaluator:
    return lambda row: None if (value := part(row)) is None else not value


def _compare(left: Evaluator, right: Evaluator, compare: Callable[[Any, Any], bool]) -> Evaluator:
    def evaluate(row: Sequence[Any]) -> Any:
        a, b = left(row), right(row)
        return None if a is None or b is None else compare(a, b)

    return evaluate


def _equal(left: Evaluator, right: Evaluator) -> Evaluator:
    return _compare(left, right, lambda a, b: bool(a == b))


def _same(left: Evaluator, right: Evaluator) -> Evaluator:
    return lambda row: bool(left(row) == right(row))


def _between(value: Evaluator, low: Evaluator, high: Evaluator) -> Evaluator:
    return _kleene(
        False, _compare(value, low, lambda a, b: a >= b), _compare(value, high, lambda a, b: a <= b)
    )


def _in(value: Evaluator, *items: Evaluator) -> Evaluator:
    return _kleene(True, *(_equal(value, item) for item in items))


def _null_if(first: Evaluator, second: Evaluator) -> Evaluator:
    equal = _equal(first, second)
    return lambda row: None if equal(row) is True else first(row)


def _coalesce(*parts: Evaluator) -> Evaluator:
    return lambda row: next((v for v in (p(row) for p in parts) if v is not None), None)


def _case(*parts: Evaluator) -> Evaluator:
    """condition, value, condition, value, ..., and the value of ELSE if there is one."""

    def evaluate(row: Sequence[Any]) -> Any:
        for at in range(0, len(parts) - 1, 2):
            if parts[at](row) is True:
                return parts[at + 1](row)
        return parts[-1](row) if len(parts) % 2 else None

    return evaluate


_TESTS: dict[str, Callable[[Any], bool]] = {
    "IS NULL": lambda v: v is None,
    "IS NOT NULL": lambda v: v is not None,
    "IS TRUE": lambda v: v is True,
    "IS NOT TRUE": lambda v: v is not True,
    "IS FALSE": lambda v: v is False,
    "IS NOT FALSE": lambda v: v is not False,
    "IS UNKNOWN": lambda v: v is None,
    "IS NOT UNKNOWN": lambda v: v is not None,
}
_FORMS: dict[str, Callable[..., Evaluator]] = {
    "AND": lambda *parts: _kleene(False, *parts),
    "OR": lambda *parts: _kleene(True, *parts),
    "NOT": _not,
    "BETWEEN": _between,
    "NOT BETWEEN": lambda *args: _not(_between(*args)),
    "IN": _in,
    "NOT IN": lambda *args: _not(_in(*args)),
    "IS NOT DISTINCT FROM": _same,
    "IS DISTINCT FROM": lambda *args: _not(_same(*args)),
    "CASE": _case,
    "COALESCE": _coalesce,
    "NULLIF": _null_if,
}

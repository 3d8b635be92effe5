"""Where in a statement a failure at run time comes from, if the statement leaves only one possibility.

A failing task knows the values, not the text: `/ by zero`, `cannot cast 'a' to INT`. If the statement divides at one
place only, or has one CAST to that type, that is the place; if there are several, nothing is said.
"""

from __future__ import annotations

import re

import sqlglot.errors
from sqlglot.tokens import Token, TokenType

from penstock.common.errors import PenstockError, SqlError
from penstock.sql.dialect.flink import Flink, FlinkTokenizer

__all__ = ["placed"]

_BY_ZERO = re.compile(r"(?:/|Division) by zero")
_CAST = re.compile(r"cannot cast .* to (?P<type>[A-Z][A-Z0-9_]*(?:\([\d, ]+\))?)\s*$", re.M | re.S)
_ZERO_CALLS = ("MOD", "DIV")


def placed(error: BaseException, sql: str) -> BaseException:
    """The error with its place, or as it was."""
    if not isinstance(error, PenstockError) or isinstance(error, SqlError):
        return error
    try:
        tokens = FlinkTokenizer(dialect=Flink()).tokenize(sql)
    except sqlglot.errors.TokenError:
        return error
    found = _candidates(error.what, tokens)
    if len(found) != 1:
        return error
    start, end = found[0]
    before = sql[:start]
    line, column = before.count("\n") + 1, start - before.rfind("\n")
    return SqlError(error.what, sql=sql, line=line, column=column, length=end - start, do=error.do)


def _candidates(what: str, tokens: list[Token]) -> list[tuple[int, int]]:
    if _BY_ZERO.search(what):
        return [(token.start, token.end + 1) for token in tokens if _divides(token)]
    cast = _CAST.search(what)
    return _casts(tokens, cast["type"]) if cast else []


def _divides(token: Token) -> bool:
    named = token.token_type != TokenType.STRING and token.text.upper() in _ZERO_CALLS
    return token.token_type in (TokenType.SLASH, TokenType.MOD) or named


def _casts(tokens: list[Token], wanted: str) -> list[tuple[int, int]]:
    """CASTs whose type is written like this, from the word to its closing bracket."""
    found = []
    for i, token in enumerate(tokens[:-1]):
        if token.text.upper() == "CAST" and tokens[i + 1].token_type == TokenType.L_PAREN:
            inside = _inside(tokens, i + 2)
            words = [t.text.upper() for t in inside]
            target = "".join(words[_last(words, "AS") + 1 :])
            if inside and _same_type(target, wanted.replace(" ", "")):
                found.append((token.start, inside[-1].end + 2))
    return found


def _inside(tokens: list[Token], start: int) -> list[Token]:
    depth = 1
    for i in range(start, len(tokens)):
        kind = tokens[i].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if depth == 0:
            return tokens[start:i]
    return []


def _last(words: list[str], word: str) -> int:
    return max((i for i, found in enumerate(words) if found == word), default=-1)


def _same_type(written: str, wanted: str) -> bool:
    """
    >>> _same_type("INTEGER", "INT"), _same_type("STRING", "INT")
    (True, False)
    """
    names = {"INTEGER": "INT", "DEC": "DECIMAL", "NUMERIC": "DECIMAL"}
    return names.get(written, written) == wanted or written == wanted.split("(")[0]

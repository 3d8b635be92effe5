"""LIKE, SIMILAR TO and the REGEXP functions.

Java's regular expressions on both sides, so Spark's functions do the matching. Three things differ. LIKE
has no escape character unless ESCAPE names one, and its `_` does not match a line break. A replacement is
plain text. And a pattern from a column that does not compile must answer NULL (or FALSE), so patterns
that are not known to be good are compiled first, by calling `java.util.regex.Pattern` from the expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import groupby

from penstock.common.datatypes import DataType, DataTypes
from penstock.common.errors import ValidationError
from penstock.sql.functions.regex_shape import group_of, is_good_pattern
from penstock.sql.functions.registry import Arg, Render
from penstock.sql.functions.rules import CHARACTER, INTEGER, maybe, of, opt, scalar
from penstock.sql.functions.strings import in_units, quoted_replacement
from penstock.sql.functions.text import fail, let, string, udf

_BOOLEAN = of(DataTypes.BOOLEAN)

# --- LIKE -----------------------------------------------------------------------------------------------


def _escape_of(args: Sequence[Arg], name: str) -> str | None:
    if len(args) < 3:
        return None
    escape = args[2].literal
    if not isinstance(escape, str) or len(escape) > 1:
        raise ValidationError(f"{name}: the escape text {escape!r} is not one character")
    return escape or None


def like_tokens(pattern: str, escape: str | None) -> list[tuple[str, str]]:
    """(kind, character) for each place of a LIKE pattern; kind is "any", "one" or "is"."""
    tokens, i = [], 0
    while i < len(pattern):
        c = pattern[i]
        if c == escape:
            i += 1
            if i == len(pattern) or pattern[i] not in ("%", "_", escape):
                raise ValidationError(f"the pattern {pattern!r} has nothing to escape behind {escape!r}")
            tokens.append(("is", pattern[i]))
        else:
            tokens.append(("any" if c == "%" else "one" if c == "_" else "is", c))
        i += 1
    return tokens


def like_regex(pattern: str, escape: str | None) -> str:
    """The Java regular expression of a LIKE pattern.

    >>> like_regex("a_c%", None)
    '\\\\Aa.c(?s:.*)\\\\z'
    """
    parts = {"any": lambda c: "(?s:.*)", "one": lambda c: ".", "is": _quote}
    return "\\A" + "".join(parts[kind](c) for kind, c in like_tokens(pattern, escape)) + "\\z"


_SIGNS = r"\.[]{}()*+-?^$|&#~"
_SPECIAL, _BEHIND_BACKSLASH = r"([\\.\[\]{}()*+\-?^$|&#~])", r"\\$1"
"""What Java's expressions take for more than itself, and the replacement that quotes it."""


def _quote(c: str) -> str:
    return "\\" + c if c in _SIGNS else c


def _like_literal(x: str, pattern: str, escape: str | None) -> str:
    """The cheapest test for a constant pattern: comparisons where they do, which Spark can push down."""
    tokens = like_tokens(pattern, escape)
    kinds = [kind for kind, _ in tokens]
    text = "".join(c for kind, c in tokens if kind == "is")
    if "one" not in kinds:
        inner = kinds[1:-1] if len(kinds) > 1 else []
        if "any" not in kinds:
            return f"({x} = {string(text)})"
        if kinds[0] == "any" and "any" not in kinds[1:]:
            return f"endswith({x}, {string(text)})"
        if kinds[-1] == "any" and "any" not in kinds[:-1]:
            return f"startswith({x}, {string(text)})"
        if kinds[0] == kinds[-1] == "any" and "any" not in inner:
            return f"contains({x}, {string(text)})"
    # Searching for the fixed texts first: most rows lack one, and an expression with several .* is slow to fail.
    fixed = [f"contains({x}, {string(part)})" for part in _fixed_texts(tokens)]
    return f"({' AND '.join([*fixed, f'{x} RLIKE {string(like_regex(pattern, escape))}'])})"


def _fixed_texts(tokens: list[tuple[str, str]]) -> list[str]:
    """The texts between the wildcards.

    >>> _fixed_texts(like_tokens("%special%re_uests%", None))
    ['special', 're', 'uests']
    """
    groups = groupby(tokens, key=lambda token: token[0] == "is")
    return ["".join(c for _, c in group) for is_text, group in groups if is_text]


def _like(name: str, args: Sequence[Arg]) -> str:
    escape = _escape_of(args, name)
    if isinstance(args[1].literal, str):
        return _like_literal(args[0].sql, args[1].literal, escape)
    if escape is None:
        quoted = f"regexp_replace({args[1].sql}, {string(_SPECIAL)}, {string(_BEHIND_BACKSLASH)})"
        body = f"replace(replace({quoted}, '%', '(?s:.*)'), '_', '.')"
        return f"({args[0].sql} RLIKE concat('\\\\A', {body}, '\\\\z'))"
    return _matched(args, udf("like_regex", args[1].sql, string(escape)))


def _matched(args: Sequence[Arg], regex: str) -> str:
    """Whether the text matches an expression that was made from the pattern; NULL says that there is none."""
    wrong = string("this is no pattern: ")

    def test(text: str, pattern: str, made: str) -> str:
        failing = fail(f"concat({wrong}, {pattern})")
        return f"if({text} IS NULL OR {pattern} IS NULL, NULL, {text} RLIKE coalesce({made}, {failing}))"

    return let(test, args[0].sql, args[1].sql, regex)


# --- SIMILAR TO -----------------------------------------------------------------------------------------


def similar_regex(pattern: str, escape: str | None) -> str:
    """The Java regular expression of a SIMILAR TO pattern; raises ValidationError."""
    out, i, in_class = [], 0, False
    while i < len(pattern):
        c = pattern[i]
        if escape is not None and c == escape:
            i += 1
            if i == len(pattern) or pattern[i] not in _SIMILAR_SIGNS + escape:
                raise ValidationError(f"the pattern {pattern!r} has nothing to escape behind {escape!r}")
            out.append(_quote(pattern[i]))
        elif in_class and pattern.startswith("[:", i):
            name = _posix_name(pattern, i)
            out.append(_POSIX[name.upper()])
            i += len(name) + 3
        elif in_class:
            in_class = c != "]"
            if c in _SIMILAR_SIGNS and c not in "]^-":
                raise ValidationError(f"{c!r} cannot stand in a list of characters, as in {pattern!r}")
            out.append("\\\\" if c == "\\" else c)
        else:
            in_class = c == "["
            out.append({"%": "(?s:.*)", "_": ".", "\\": "\\\\", "$": "\\$"}.get(c, c))
        i += 1
    return f"\\A(?:{''.join(out)})\\z"


def _posix_name(pattern: str, at: int) -> str:
    found = re.compile(r"\[:(\w+):\]").match(pattern, at)
    if found is None or found[1].upper() not in _POSIX:
        raise ValidationError(f"the pattern {pattern!r} has an unknown class of characters")
    return found[1]


_SIMILAR_SIGNS = "[]()|^-+*_%?{}"
_POSIX = {
    "ALPHA": "\\p{Alpha}",
    "UPPER": "\\p{Upper}",
    "LOWER": "\\p{Lower}",
    "DIGIT": "\\d",
    "ALNUM": "\\p{Alnum}",
    "SPACE": " ",
    "WHITESPACE": "\\s",
}


def _similar(name: str, args: Sequence[Arg]) -> str:
    escape = _escape_of(args, name)
    if not isinstance(args[1].literal, str):
        return _matched(args, udf("similar_regex", args[1].sql, string(escape or "")))
    try:
        return f"({args[0].sql} RLIKE {string(similar_regex(args[1].literal, escape))})"
    except ValidationError as error:  # a wrong pattern fails where there is a text to match
        return f"if({args[0].sql} IS NULL, NULL, {fail(string(str(error)))})"


_Test = Callable[[str, Sequence[Arg]], str]


def _test_render(name: str, test: _Test, negated: bool) -> Render:
    def render(args: Sequence[Arg], result: DataType) -> str:
        return f"(NOT {test(name, args)})" if negated else test(name, args)

    return render


_TESTS: tuple[tuple[str, _Test], ...] = (("LIKE", _like), ("SIMILAR TO", _similar))
for _base, _test in _TESTS:
    for _name, _negated in ((_base, False), (f"NOT {_base}", True)):
        scalar(
            _name,
            (CHARACTER, CHARACTER, opt(CHARACTER)),
            _BOOLEAN,
            render=_test_render(_name, _test, _negated),
        )

# --- REGEXP ---------------------------------------------------------------------------------------------


def _guarded(args: Sequence[Arg], body: Callable[..., str], otherwise: str = "NULL") -> str:
    """`body` over the argument texts; `otherwise` where the pattern (the second one) does not compile."""
    if is_good_pattern(args[1].literal):
        return let(body, *(a.sql for a in args))

    def text(*x: str) -> str:
        compiled = f"try_reflect('java.util.regex.Pattern', 'compile', {x[1]})"
        known = " OR ".join(f"{v} IS NULL" for v in x)
        return f"CASE WHEN {known} THEN NULL WHEN {compiled} IS NULL THEN {otherwise} ELSE {body(*x)} END"

    return let(text, *(a.sql for a in args))


def _regexp(args: Sequence[Arg], result: DataType) -> str:
    return _guarded(args, lambda s, p: f"if({p} = '', if({s} IS NULL, NULL, FALSE), {s} RLIKE {p})", "FALSE")


def _replace(args: Sequence[Arg], result: DataType) -> str:
    return _guarded(args, lambda s, p, r: f"regexp_replace({s}, {p}, {quoted_replacement(r)})")


def _extract(args: Sequence[Arg], result: DataType) -> str:
    pattern, number = args[1].literal, args[2].literal if len(args) > 2 else 0
    if is_good_pattern(pattern) and isinstance(number, int):
        group = group_of(str(pattern), number)
        if group is None:
            return "CAST(NULL AS STRING)"
        found = f"regexp_extract({{0}}, {{1}}, {number})"
        if not group.may_be_empty:  # then '' means that there is no match, or that the group took no part
            return f"nullif({found.format(args[0].sql, args[1].sql)}, '')"
        if group.always:
            return let(
                lambda s, p: f"if({s} RLIKE {p}, {found.format(s, p)}, NULL)", args[0].sql, args[1].sql
            )
    # Spark answers '' for a group that took no part in the match, so Python has to look.
    return udf("regexp_extract", *(a.sql for a in args[:2]), args[2].sql if len(args) > 2 else "0")


def _extract_all(args: Sequence[Arg], result: DataType) -> str:
    pattern, group = args[1].literal, args[2].literal if len(args) > 2 else 1
    texts = [args[0].sql, args[1].sql, args[2].sql if len(args) > 2 else "1"]
    if is_good_pattern(pattern) and isinstance(group, int):
        found = group_of(str(pattern), group)
        if found is None:
            return "CAST(NULL AS ARRAY<STRING>)"
        if found.always:
            return f"regexp_extract_all({', '.join(texts)})"
    return udf("regexp_extract_all", *texts)


_TWO = (CHARACTER, CHARACTER)
scalar("REGEXP", _TWO, _BOOLEAN, render=_regexp)
scalar(
    "REGEXP_COUNT",
    _TWO,
    maybe(DataTypes.INT),
    render=lambda a, r: _guarded(a, lambda s, p: f"regexp_count({s}, {p})"),
)


def _place(s: str, p: str) -> str:
    """The place of the first match, which Java counts in units of 16 bits; 0 if there is none."""
    place = f"greatest(regexp_instr({s}, {p}), 1)"
    units = f"octet_length({in_units(f'substring({s}, 1, {place} - 1)')}) div 2 + 1"
    found = f"if(octet_length({s}) = char_length({s}), {place}, CAST({units} AS INT))"
    return f"CASE WHEN {s} RLIKE {p} THEN {found} WHEN NOT {s} RLIKE {p} THEN 0 END"


scalar("REGEXP_INSTR", _TWO, maybe(DataTypes.INT), render=lambda a, r: _guarded(a, _place))
scalar(
    "REGEXP_SUBSTR",
    _TWO,
    maybe(DataTypes.STRING),
    render=lambda a, r: _guarded(a, lambda s, p: f"if({s} RLIKE {p}, regexp_extract({s}, {p}, 0), NULL)"),
)
scalar("REGEXP_REPLACE", (CHARACTER, CHARACTER, CHARACTER), of(DataTypes.STRING), render=_replace)
scalar(
    "REGEXP_EXTRACT",
    (CHARACTER, CHARACTER, opt(INTEGER)),
    maybe(DataTypes.STRING),
    render=_extract,
    how="udf",
)
scalar(
    "REGEXP_EXTRACT_ALL",
    (CHARACTER, CHARACTER, opt(INTEGER)),
    maybe(DataTypes.ARRAY, DataTypes.STRING()),
    render=_extract_all,
    how="udf",
)

"""LIKE, SIMILAR TO, the REGEXP functions and SPLIT_INDEX, with constant patterns."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import NumericType
from penstock.common.errors import ValidationError
from penstock.sql.arrow import text_functions as python
from penstock.sql.arrow.compiler import Compiler, NoArrowForm, register
from penstock.sql.arrow.java_patterns import python_pattern
from penstock.sql.arrow.logic import negated
from penstock.sql.arrow.nodes import Node, apply, constant
from penstock.sql.arrow.re2_patterns import re2_pattern
from penstock.sql.arrow.text import fixed, text_node
from penstock.sql.arrow.values import per_value
from penstock.sql.functions.regex import like_tokens, similar_regex
from penstock.sql.functions.regex_shape import Group, group_of, is_good_pattern
from penstock.sql.functions.udfs import UDFS
from penstock.sql.plan.rex import Call, Const, Rex


def literal(rex: Rex, what: str) -> str:
    """The text of a constant."""
    if isinstance(rex, Const) and isinstance(rex.value, str):
        return rex.value
    raise NoArrowForm(f"{what} that is no constant")


def _escape(call: Call) -> str | None:
    found = literal(call.args[2], "an escape character") if len(call.args) > 2 else None
    if found is not None and len(found) > 1:
        raise NoArrowForm("an escape character that is none")  # refused by who writes its text
    return found or None


# --- LIKE and SIMILAR TO --------------------------------------------------------------------------------

_ONE = r"[^\n\r\x{85}\x{2028}\x{2029}]"
"""`_` in RE2's spelling: any character but a line break."""


def build_like(opposite: bool, call: Call, compiler: Compiler) -> Node:
    pattern = literal(call.args[1], "a LIKE pattern")
    try:
        tokens = like_tokens(pattern, _escape(call))
    except ValidationError as error:
        raise NoArrowForm(str(error)) from None
    found = apply(_like_kernel(tokens), pa.bool_(), text_node(call.args[0], compiler))
    return negated(found) if opposite else found


def _like_kernel(tokens: list[tuple[str, str]]) -> Callable[[pa.Array], pa.Array]:
    """The cheapest test.

    >>> _like_kernel(like_tokens("a%", None))(pa.array(["ab", "ba", None])).to_pylist()
    [True, False, None]
    """
    kinds = [kind for kind, _ in tokens]
    text = "".join(c for kind, c in tokens if kind == "is")
    if "one" not in kinds:
        if "any" not in kinds:
            return partial(_equals, text)
        if "any" not in kinds[1:]:
            return partial(pc.ends_with, pattern=text)
        if "any" not in kinds[:-1]:
            return partial(pc.starts_with, pattern=text)
        if kinds[0] == kinds[-1] == "any" and "any" not in kinds[1:-1]:
            return partial(pc.match_substring, pattern=text)
    parts = {"any": lambda c: "(?s:.*)", "one": lambda c: _ONE, "is": _quoted}
    body = "".join(parts[kind](c) for kind, c in tokens)
    return partial(pc.match_substring_regex, pattern=f"\\A{body}\\z")


def _equals(text: str, datum: pa.Array) -> pa.Array:
    return pc.equal(datum, pa.scalar(text))


def _quoted(character: str) -> str:
    if character == "\0":
        return "\\x00"
    return "\\" + character if character.isascii() and not character.isalnum() else character


def build_similar(opposite: bool, call: Call, compiler: Compiler) -> Node:
    pattern = literal(call.args[1], "a SIMILAR TO pattern")
    try:
        java = similar_regex(pattern, _escape(call))
    except ValidationError as error:
        raise NoArrowForm(str(error)) from None
    found = _matches(_translated(java), text_node(call.args[0], compiler))
    return negated(found) if opposite else found


for _opposite in (False, True):
    _word = "NOT " if _opposite else ""
    register(f"{_word}LIKE", partial(build_like, _opposite))
    register(f"{_word}SIMILAR TO", partial(build_similar, _opposite))

# --- REGEXP ---------------------------------------------------------------------------------------------


def _translated(pattern: str, may_be_empty: bool = True) -> re.Pattern[str]:
    found = python_pattern(pattern, may_be_empty)
    if found is None:
        raise NoArrowForm(f"the regular expression {pattern!r}")
    return found


def _per_text(function: Callable[[str], Any], kind: pa.DataType, node: Node) -> Node:
    return apply(partial(per_value, function, kind), kind, node)


def _matches(pattern: re.Pattern[str], node: Node) -> Node:
    by_column = re2_pattern(pattern)
    if by_column is not None:
        return apply(partial(pc.match_substring_regex, pattern=by_column), pa.bool_(), node)
    return _per_text(partial(_found, pattern), pa.bool_(), node)


def _found(pattern: re.Pattern[str], text: str) -> bool:
    return pattern.search(text) is not None


def build_regexp(call: Call, compiler: Compiler) -> Node:
    pattern = literal(call.args[1], "a regular expression")
    if not pattern:
        raise NoArrowForm("an empty regular expression")
    return _matches(_translated(pattern), text_node(call.args[0], compiler))


def build_replace(call: Call, compiler: Compiler) -> Node:
    """REGEXP_REPLACE (text, pattern, other), where `other` is plain text."""
    pattern = _translated(literal(call.args[1], "a regular expression"), may_be_empty=False)
    other = literal(call.args[2], "a replacement")
    by_column = re2_pattern(pattern)
    if by_column is not None:
        kernel = partial(
            pc.replace_substring_regex, pattern=by_column, replacement=other.replace("\\", "\\\\")
        )
        return apply(kernel, pa.string(), text_node(call.args[0], compiler))
    return _per_text(partial(_replaced, pattern, other), pa.string(), text_node(call.args[0], compiler))


def _replaced(pattern: re.Pattern[str], other: str, text: str) -> str:
    return pattern.sub(lambda found: other, text)


def build_extract(call: Call, compiler: Compiler) -> Node:
    """REGEXP_EXTRACT (text, pattern[, group]): Java's for plain patterns, else the UDF, which is Python's."""
    group = call.args[2] if len(call.args) > 2 else None
    number = 0 if group is None else group.value if isinstance(group, Const) else None
    pattern = call.args[1].value if isinstance(call.args[1], Const) else None
    text = text_node(call.args[0], compiler)
    if not isinstance(pattern, str) or not isinstance(number, int):
        raise NoArrowForm("REGEXP_EXTRACT with a pattern or a group that is no constant")
    if not is_good_pattern(pattern):
        return _per_text(partial(_udf_group, pattern, number), pa.string(), text)
    found = group_of(pattern, number)
    if found is None:
        return constant(None, pa.string())
    if not found.always and found.may_be_empty:
        return _per_text(partial(_udf_group, pattern, number), pa.string(), text)
    return _extracted(_translated(pattern), number, found, text)


def _extracted(pattern: re.Pattern[str], number: int, group: Group, text: Node) -> Node:
    """The group of the first match, by column if RE2 can."""
    by_column = re2_pattern(pattern)
    if by_column is None:
        return _per_text(partial(_group, pattern, number), pa.string(), text)
    named = _with_name(by_column, number)
    return apply(partial(_extract_column, named, group.may_be_empty), pa.string(), text)


def _with_name(pattern: str, number: int) -> str:
    """RE2's pattern with a name for one group, and none captured but that.

    >>> _with_name("(a)[(](b)", 2), _with_name("a|b", 0)
    ('(?:a)[(](?P<g>b)', '(?P<g>a|b)')
    """
    if number == 0:
        return f"(?P<g>{_with_name(pattern, -1)})"
    out, seen, in_class = [], 0, False
    for token in re.finditer(r"\\.|.", pattern, re.S):
        sign = token[0]
        if sign == "(" and not in_class and not pattern.startswith("(?", token.start()):
            seen += 1
            sign = "(?P<g>" if seen == number else "(?:"
        in_class = sign == "[" or (in_class and sign != "]")
        out.append(sign)
    return "".join(out)


def _extract_column(pattern: str, may_be_empty: bool, texts: pa.Array) -> pa.Array:
    """
    >>> _extract_column("(?P<g>a)?b", False, pa.array(["ab", "b", "c", None])).to_pylist()
    ['a', None, None, None]
    """
    matches = pc.extract_regex(texts, pattern)
    found = pc.struct_field(matches, "g")
    return found if may_be_empty else pc.if_else(pc.equal(found, ""), pa.scalar(None, pa.string()), found)


def _group(pattern: re.Pattern[str], number: int, text: str) -> str | None:
    """
    >>> _group(python_pattern("([a-z]+)-([0-9]+)"), 2, "foo-12")
    '12'
    """
    found = pattern.search(text)
    return found[number] if found else None


def _udf_group(pattern: str, number: int, text: str) -> str | None:
    return UDFS["regexp_extract"].function(text, pattern, number)  # type: ignore[no-any-return]


def build_substr(call: Call, compiler: Compiler) -> Node:
    java = literal(call.args[1], "a regular expression")
    pattern = _translated(java)
    text = text_node(call.args[0], compiler)
    whole = group_of(java, 0) if is_good_pattern(java) else None
    if whole is not None:
        return _extracted(pattern, 0, whole, text)
    return _per_text(partial(_group, pattern, 0), pa.string(), text)


def build_count(call: Call, compiler: Compiler) -> Node:
    pattern = _translated(literal(call.args[1], "a regular expression"), may_be_empty=False)
    return _per_text(partial(_count, pattern), pa.int32(), text_node(call.args[0], compiler))


def _count(pattern: re.Pattern[str], text: str) -> int:
    return sum(1 for _ in pattern.finditer(text))


register("REGEXP", build_regexp)
register("REGEXP_REPLACE", build_replace)
register("REGEXP_EXTRACT", build_extract)
register("REGEXP_SUBSTR", build_substr)
register("REGEXP_COUNT", build_count)

# --- SPLIT ----------------------------------------------------------------------------------------------


def _delimiter(rex: Rex, compiler: Compiler) -> str:
    """A constant text, or the number of a character; what Java could not quote is left to Catalyst."""
    value = fixed(compiler.node(rex))
    if isinstance(value, int) and isinstance(rex.type, NumericType):
        value = python.character(value)
    if not isinstance(value, str) or "\\E" in value:
        raise NoArrowForm("a delimiter that is no constant")
    return value


def build_split_index(call: Call, compiler: Compiler) -> Node:
    """SPLIT_INDEX (text, delimiter, index), counted from 0."""
    text, delimiter = text_node(call.args[0], compiler), _delimiter(call.args[1], compiler)
    index = fixed(compiler.node(call.args[2]))
    if not isinstance(index, int) or index >= 2**31:
        raise NoArrowForm("SPLIT_INDEX with an index that is no constant")
    if index < 0 or (not delimiter and index > 0):
        return constant(None, pa.string())
    if not delimiter:
        return apply(_if_not_empty, pa.string(), text)
    return apply(partial(_split_index, delimiter, index), pa.string(), text)


def _if_not_empty(text: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)


def _split_index(delimiter: str, index: int, text: pa.Array) -> pa.Array:
    """
    >>> _split_index(",", 1, pa.array(["a,b", "a", "", None])).to_pylist()
    ['b', None, None, None]
    """
    lists = pc.split_pattern(_if_not_empty(text), delimiter, max_splits=index + 1)
    starts, ends = (np.asarray(lists.offsets)[part] for part in (slice(None, -1), slice(1, None)))
    places = starts.astype(np.int64) + index
    missing = places >= ends
    if lists.null_count:
        missing |= np.asarray(lists.is_null())
    return lists.values.take(pa.array(places, mask=missing))


def build_split(call: Call, compiler: Compiler) -> Node:
    """SPLIT (text, delimiter) as an array; an empty text has no parts."""
    delimiter = _delimiter(call.args[1], compiler)
    if not delimiter:
        raise NoArrowForm("SPLIT without a delimiter")
    kind = pa.list_(pa.string())
    return apply(partial(_split, delimiter), kind, text_node(call.args[0], compiler))


def _split(delimiter: str, text: pa.Array) -> pa.Array:
    return per_value(partial(_parts, delimiter), pa.list_(pa.string()), text)


def _parts(delimiter: str, text: str) -> list[str]:
    return text.split(delimiter) if text else []


register("SPLIT_INDEX", build_split_index)
register("SPLIT", build_split)

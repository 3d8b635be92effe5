"""Text functions: length, case, pieces, search, putting together.

Characters are code points. Where Arrow's kernels count bytes or know another Unicode, or an argument is a
column that they want to be constant, Python does the work (`text_functions.py`), once for each different
value.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import (
    BigIntType,
    BinaryType,
    CharType,
    DataTypes,
    IntegralType,
    IntType,
    NullType,
    VarBinaryType,
    VarCharType,
)
from penstock.sql.arrow import text_functions as python
from penstock.sql.arrow.casts import cast_node
from penstock.sql.arrow.compiler import Builder, Compiler, NoArrowForm, register, type_of
from penstock.sql.arrow.letters import lower, upper
from penstock.sql.arrow.nodes import Constant, Node, apply, constant
from penstock.sql.arrow.values import Datum, per_row, per_value
from penstock.sql.plan.rex import Call, Const, Rex

_TEXT = (CharType, VarCharType)
_BYTES = (BinaryType, VarBinaryType)


# --- arguments ------------------------------------------------------------------------------------------


def text_node(rex: Rex, compiler: Compiler) -> Node:
    """A text argument; a bare NULL is one, too."""
    if isinstance(rex.type, NullType):
        return constant(None, pa.string())
    if not isinstance(rex.type, _TEXT):
        raise NoArrowForm(f"{rex.type} where text is expected")
    return compiler.node(rex)


def octets_node(rex: Rex, compiler: Compiler) -> Node:
    """Text or bytes."""
    return compiler.node(rex) if isinstance(rex.type, _BYTES) else text_node(rex, compiler)


def cut_integer_node(rex: Rex, compiler: Compiler) -> Node:
    """An integer that the Spark text casts to INT: the highest bits of a BIGINT are lost."""
    if isinstance(rex, Const) and isinstance(rex.value, int) and not -(2**31) <= rex.value < 2**31:
        raise NoArrowForm(f"the number {rex.value} as INT")
    if not isinstance(rex.type, (IntegralType, NullType)):
        raise NoArrowForm(f"{rex.type} where an integer is expected")
    return cast_node(compiler.node(rex), rex.type, DataTypes.INT(), compiler)


def integer_node(rex: Rex, compiler: Compiler) -> Node:
    """An integer that fits INT."""
    if isinstance(rex.type, BigIntType):
        raise NoArrowForm("BIGINT where an INT is expected")
    return cut_integer_node(rex, compiler)


def plain_integer_node(rex: Rex, compiler: Compiler) -> Node:
    """An INT and nothing else: sums of narrower ones would wrap around earlier."""
    if not isinstance(rex.type, IntType):
        raise NoArrowForm(f"{rex.type} where an INT is expected")
    return compiler.node(rex)


def long_node(rex: Rex, compiler: Compiler) -> Node:
    if not isinstance(rex.type, IntegralType):
        raise NoArrowForm(f"{rex.type} where an integer is expected")
    return cast_node(compiler.node(rex), rex.type, DataTypes.BIGINT(), compiler)


_ARGUMENTS: dict[str, Callable[[Rex, Compiler], Node]] = {
    "s": text_node,
    "o": octets_node,
    "I": cut_integer_node,
    "i": integer_node,
    "j": plain_integer_node,
    "l": long_node,
}


def python_call(function: Callable[..., Any], kinds: str, sees_null: bool = False) -> Builder:
    """A builder for a Python function; `kinds` has a letter of `_ARGUMENTS` for each argument."""

    def build(call: Call, compiler: Compiler) -> Node:
        if len(call.args) != len(kinds):
            raise NoArrowForm(f"{call.name} with {len(call.args)} arguments")
        nodes = [_ARGUMENTS[k](arg, compiler) for k, arg in zip(kinds, call.args, strict=True)]
        kind = type_of(call)
        return apply(partial(per_row if sees_null else per_value, function, kind), kind, *nodes)

    return build


def fixed(node: Node) -> Any:
    """The value of a constant that is not NULL, else None."""
    return node.value.as_py() if isinstance(node, Constant) else None


# --- size and case --------------------------------------------------------------------------------------


def build_length(call: Call, compiler: Compiler) -> Node:
    return apply(pc.utf8_length, pa.int32(), text_node(call.args[0], compiler))


def is_ascii(datum: Datum) -> bool:
    return pc.all(pc.string_is_ascii(datum)).as_py() is not False


def _upper(datum: pa.Array) -> pa.Array:
    """
    >>> _upper(pa.array(["straße", None])).to_pylist()
    ['STRASSE', None]
    """
    return pc.ascii_upper(datum) if is_ascii(datum) else per_value(upper, pa.string(), datum)


def _lower(datum: pa.Array) -> pa.Array:
    return pc.ascii_lower(datum) if is_ascii(datum) else per_value(lower, pa.string(), datum)


def build_case_change(kernel: Callable[[pa.Array], pa.Array], call: Call, compiler: Compiler) -> Node:
    """UPPER and LOWER. Of two in a row Catalyst drops the inner one, which matters to `ß`; let it."""
    source = call.args[0]
    if isinstance(source, Call) and source.name in ("UPPER", "LOWER"):
        raise NoArrowForm(f"{call.name} of {source.name}")
    return apply(kernel, pa.string(), text_node(source, compiler))


register("CHAR_LENGTH", build_length, "CHARACTER_LENGTH")
register("UPPER", partial(build_case_change, _upper))
register("LOWER", partial(build_case_change, _lower))

# --- pieces ---------------------------------------------------------------------------------------------


def build_substring(call: Call, compiler: Compiler) -> Node:
    text, *bounds = [
        text_node(call.args[0], compiler),
        *(cut_integer_node(a, compiler) for a in call.args[1:]),
    ]
    values = [fixed(bound) for bound in bounds]
    if None in values:
        return apply(partial(per_row, python.substring, pa.string()), pa.string(), text, *bounds)
    position, length = values[0], values[1] if len(values) > 1 else 2**31 - 1
    if length < 0:
        return constant(None, pa.string())
    kernel = _front_piece if position >= 0 else _back_piece
    return apply(partial(kernel, position, length), pa.string(), text)


def _front_piece(position: int, length: int, text: pa.Array) -> pa.Array:
    start = max(position - 1, 0)
    return pc.utf8_slice_codeunits(text, start, start + length)


def _back_piece(position: int, length: int, text: pa.Array) -> pa.Array:
    """
    >>> _back_piece(-2, 1, pa.array(["abc", "a"])).to_pylist()
    ['b', '']
    """
    end = position + length
    pieces = pc.utf8_slice_codeunits(text, position, end if end < 0 else None)
    return pc.if_else(pc.less(pc.utf8_length(text), -position), "", pieces)


def build_overlay(call: Call, compiler: Compiler) -> Node:
    if len(call.args) == 3:
        return python_call(python.overlay_whole, "ssj", sees_null=True)(call, compiler)
    return python_call(python.overlay, "ssjj", sees_null=True)(call, compiler)


register("SUBSTRING", build_substring, "SUBSTR")
register("LEFT", python_call(python.left, "sI"))
register("RIGHT", python_call(python.right, "sI"))
register("OVERLAY", build_overlay)
register("LPAD", python_call(python.lpad, "sis"))
register("RPAD", python_call(python.rpad, "sis"))
register("REPEAT", python_call(python.repeat, "sI"))
register("REVERSE", python_call(python.reverse, "s"))
register("ASCII", python_call(python.ascii_code, "s"))
register("CHR", python_call(python.character, "l"))

# --- TRIM -----------------------------------------------------------------------------------------------

_TRIMS = {
    "BOTH": (pc.utf8_trim, python.trim_both),
    "LEADING": (pc.utf8_ltrim, python.trim_leading),
    "TRAILING": (pc.utf8_rtrim, python.trim_trailing),
}


def _trimmed(where: str, characters: Node, text: Node) -> Node:
    kernel, function = _TRIMS[where]
    if fixed(characters):
        return apply(partial(kernel, characters=fixed(characters)), pa.string(), text)
    return apply(partial(per_value, function, pa.string()), pa.string(), characters, text)


def build_trim(call: Call, compiler: Compiler) -> Node:
    """TRIM (s) or TRIM ('LEADING', c, s)."""
    if len(call.args) == 1:
        return _trimmed("BOTH", constant(" ", pa.string()), text_node(call.args[0], compiler))
    where = call.args[0].value if isinstance(call.args[0], Const) else "BOTH"
    nodes = [text_node(arg, compiler) for arg in call.args[1:]]
    return _trimmed(str(where or "BOTH").upper(), *nodes)


def _build_side_trim(where: str, call: Call, compiler: Compiler) -> Node:
    """LTRIM, RTRIM, BTRIM (s[, c])."""
    text = text_node(call.args[0], compiler)
    characters = text_node(call.args[1], compiler) if len(call.args) > 1 else constant(" ", pa.string())
    return _trimmed(where, characters, text)


register("TRIM", build_trim)
for _name, _where in (("LTRIM", "LEADING"), ("RTRIM", "TRAILING"), ("BTRIM", "BOTH")):
    register(_name, partial(_build_side_trim, _where))

# --- search ---------------------------------------------------------------------------------------------


def _build_ends(
    kernel: Callable[..., Datum], function: Callable[..., bool], call: Call, compiler: Compiler
) -> Node:
    """STARTSWITH and ENDSWITH."""
    text, part = (octets_node(arg, compiler) for arg in call.args)
    if isinstance(fixed(part), str):
        return apply(partial(kernel, pattern=fixed(part)), pa.bool_(), text)
    return apply(partial(per_value, function, pa.bool_()), pa.bool_(), text, part)


register("STARTSWITH", partial(_build_ends, pc.starts_with, python.starts_with))
register("ENDSWITH", partial(_build_ends, pc.ends_with, python.ends_with))


def _place(part: str, text: pa.Array) -> pa.Array:
    """Where a constant part is; Arrow counts bytes, which are characters only in ASCII."""
    if is_ascii(text):
        return pc.add(pc.find_substring(text, part), pa.scalar(1, pa.int32()))
    return per_value(partial(python.position, part), pa.int32(), text)


def _place_node(part: Node, text: Node) -> Node:
    if fixed(part):
        return apply(partial(_place, fixed(part)), pa.int32(), text)
    return apply(partial(per_value, python.position, pa.int32()), pa.int32(), part, text)


def build_position(call: Call, compiler: Compiler) -> Node:
    """POSITION (part, text)."""
    part, text = (text_node(arg, compiler) for arg in call.args)
    return _place_node(part, text)


def build_instr(call: Call, compiler: Compiler) -> Node:
    if len(call.args) > 2:
        raise NoArrowForm("INSTR with a start")
    text, part = (text_node(arg, compiler) for arg in call.args)
    return _place_node(part, text)


def build_locate(call: Call, compiler: Compiler) -> Node:
    if len(call.args) == 2:
        return build_position(call, compiler)
    return python_call(python.locate, "ssi", sees_null=True)(call, compiler)


register("POSITION", build_position)
register("INSTR", build_instr)
register("LOCATE", build_locate)

# --- putting together, replacing ------------------------------------------------------------------------


def build_concat(call: Call, compiler: Compiler) -> Node:
    kind = type_of(call)
    return apply(partial(_concat, kind), kind, *(octets_node(arg, compiler) for arg in call.args))


def _concat(kind: pa.DataType, *data: Datum) -> pa.Array:
    """NULL if one part is.

    >>> _concat(pa.string(), pa.array(["a", None]), pa.scalar("b")).to_pylist()
    ['ab', None]
    """
    return pc.binary_join_element_wise(*(d.cast(kind) for d in data), pa.scalar("", kind))


def build_concat_ws(call: Call, compiler: Compiler) -> Node:
    """CONCAT_WS (separator, …): parts that are NULL are left out."""
    separator, *parts = (text_node(arg, compiler) for arg in call.args)
    return apply(partial(per_row, _joined, pa.string()), pa.string(), separator, *parts)


def _joined(separator: str | None, *parts: str | None) -> str | None:
    return None if separator is None else separator.join(part for part in parts if part is not None)


def build_replace(call: Call, compiler: Compiler) -> Node:
    """REPLACE (s, part, other) of a constant part; an empty one is Catalyst's."""
    text, part, other = (text_node(arg, compiler) for arg in call.args)
    if not fixed(part):
        raise NoArrowForm("REPLACE of a part that may be empty")
    if fixed(other) is not None:
        kernel = partial(pc.replace_substring, pattern=fixed(part), replacement=fixed(other))
        return apply(kernel, pa.string(), text)
    return apply(partial(per_value, python.replace, pa.string()), pa.string(), text, part, other)


def build_elt(call: Call, compiler: Compiler) -> Node:
    return python_call(python.elt, "I" + "s" * (len(call.args) - 1), sees_null=True)(call, compiler)


register("||", build_concat, "CONCAT")
register("CONCAT_WS", build_concat_ws)
register("REPLACE", build_replace)
register("TRANSLATE", python_call(python.translate, "sss", sees_null=True))
register("ELT", build_elt)

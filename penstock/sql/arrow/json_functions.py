"""JSON_VALUE, JSON_QUERY, JSON_EXISTS, IS JSON, JSON_OBJECT and JSON_ARRAY.

Spark calls Python for these, too (`functions/json.py`): a query answers with a letter and a text, `V…` a
value, `E` nothing there, `X` an error, and CASE decides what becomes of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import (
    BooleanType,
    CharType,
    DataType,
    DataTypes,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    VarCharType,
)
from penstock.sql.arrow.casts import cast_node
from penstock.sql.arrow.compiler import Compiler, NoArrowForm, register, type_of
from penstock.sql.arrow.conditional import choice
from penstock.sql.arrow.failures import failure
from penstock.sql.arrow.logic import negated
from penstock.sql.arrow.nodes import Node, apply, constant
from penstock.sql.arrow.patterns import literal
from penstock.sql.arrow.text import text_node
from penstock.sql.arrow.udf_calls import udf_node
from penstock.sql.arrow.values import per_value
from penstock.sql.functions.json import json_kind
from penstock.sql.functions.udfs import UDFS
from penstock.sql.plan.rex import Call, Const, Rex

_TEXT = (CharType, VarCharType)
_WRITABLE = (*_TEXT, BooleanType, IntegralType, DoubleType, DecimalType)
_EMPTY = "nothing is at the path, and ERROR ON EMPTY was asked for"
_WRONG = "the document or path is wrong, and ERROR ON ERROR was asked for"


def _word(args: Sequence[Rex], index: int, default: str) -> str:
    """A keyword argument such as 'NULL' or 'EMPTY ARRAY'."""
    arg = args[index] if len(args) > index else None
    return arg.value.upper() if isinstance(arg, Const) and isinstance(arg.value, str) else default


def _failing(message: str, kind: pa.DataType, like: Node) -> Node:
    """A node that fails for every row it is asked for."""
    return apply(partial(_fail, message), kind, like, fails=True)


def _fail(message: str, datum: pa.Array) -> pa.Array:
    raise failure(message)


def _by_tag(tag: Node, values: dict[str, Node], kind: pa.DataType) -> Node:
    conditions: list[Node] = [apply(partial(_equals, letter), pa.bool_(), tag) for letter in values]
    return choice(conditions, [*values.values(), constant(None, kind)])


def _equals(letter: str, tags: pa.Array) -> pa.Array:
    return pc.equal(tags, pa.scalar(letter))


def _first(texts: pa.Array) -> pa.Array:
    return pc.utf8_slice_codeunits(texts, 0, 1)


def _behind(texts: pa.Array) -> pa.Array:
    return pc.utf8_slice_codeunits(texts, 1)


# --- JSON_VALUE -----------------------------------------------------------------------------------------


def build_value(call: Call, compiler: Compiler) -> Node:
    """JSON_VALUE (document, path[, type, on empty, default, on error, default])."""
    kind, path = type_of(call), constant(literal(call.args[1], "a JSON path"), pa.string())
    wanted = str(json_kind(call.type))
    answer = udf_node(
        "json_value", pa.string(), text_node(call.args[0], compiler), path, constant(wanted, pa.string())
    )
    tag, text = apply(_first, pa.string(), answer), apply(_behind, pa.string(), answer)
    values = {
        "V": _read(text, call.type, compiler),
        "E": _behaviour(call, 3, f"JSON_VALUE: {_EMPTY}", answer, compiler),
        "X": _behaviour(call, 5, f"JSON_VALUE: {_WRONG}", answer, compiler),
    }
    if wanted != "TEXT":
        values["T"] = _failing(f"JSON_VALUE: what is there is no {wanted}", kind, answer)
    return _by_tag(tag, values, kind)


def _read(text: Node, target: DataType, compiler: Compiler) -> Node:
    """The value that the text shows, which is known to be of that type; texts are not cut to their length."""
    if isinstance(target, _TEXT):
        return text
    if isinstance(target, BooleanType):
        return apply(partial(_equals, "true"), pa.bool_(), text)
    return cast_node(text, DataTypes.STRING(), target, compiler)


def _behaviour(call: Call, at: int, message: str, like: Node, compiler: Compiler) -> Node:
    word, kind = _word(call.args, at, "NULL"), type_of(call)
    if word == "ERROR":
        return _failing(message, kind, like)
    if word == "DEFAULT" and len(call.args) > at + 1:
        default = call.args[at + 1]
        node = cast_node(compiler.node(default), default.type, call.type, compiler)
        if node.may_fail:
            raise NoArrowForm("a default that has to be read from text")
        return node
    return constant(None, kind)


register("JSON_VALUE", build_value)

# --- JSON_QUERY, JSON_EXISTS, IS JSON -------------------------------------------------------------------


def _query(path: str, wrapper: str, document: str) -> str:
    """The tag and the text in one, as JSON_VALUE has it."""
    tag, value = UDFS["json_query"].function(document, path, wrapper)
    return tag + (value or "")  # type: ignore[no-any-return]


def build_query(call: Call, compiler: Compiler) -> Node:
    """JSON_QUERY (document, path[, type, wrapper, on empty, on error]) as text."""
    if not isinstance(call.type, _TEXT):
        raise NoArrowForm("JSON_QUERY as an array")
    path, wrapper = literal(call.args[1], "a JSON path"), _word(call.args, 3, "WITHOUT")
    kernel = partial(per_value, partial(_query, path, wrapper), pa.string())
    answer = apply(kernel, pa.string(), text_node(call.args[0], compiler))
    values = {
        "V": apply(_behind, pa.string(), answer),
        "E": _query_behaviour(_word(call.args, 4, "NULL"), f"JSON_QUERY: {_EMPTY}", answer),
        "X": _query_behaviour(_word(call.args, 5, "NULL"), f"JSON_QUERY: {_WRONG}", answer),
    }
    return _by_tag(apply(_first, pa.string(), answer), values, pa.string())


def _query_behaviour(word: str, message: str, like: Node) -> Node:
    if word == "ERROR":
        return _failing(message, pa.string(), like)
    return constant({"EMPTY ARRAY": "[]", "EMPTY OBJECT": "{}"}.get(word), pa.string())


def build_exists(call: Call, compiler: Compiler) -> Node:
    nodes = [text_node(arg, compiler) for arg in call.args[:2]]
    tag = udf_node("json_exists", pa.string(), *nodes)
    word = _word(call.args, 2, "FALSE")
    answers = {"TRUE": True, "FALSE": False, "UNKNOWN": None}
    message = "JSON_EXISTS: the path is not there, and ERROR ON ERROR was asked for"
    error = constant(answers[word], pa.bool_()) if word in answers else _failing(message, pa.bool_(), tag)
    values = {"V": constant(True, pa.bool_()), "E": constant(False, pa.bool_()), "X": error}
    return _by_tag(tag, values, pa.bool_())


def _build_is_json(opposite: bool, call: Call, compiler: Compiler) -> Node:
    kind = constant(_word(call.args, 1, "VALUE"), pa.string())
    found = udf_node("is_json", pa.bool_(), text_node(call.args[0], compiler), kind)
    known = apply(_known, pa.bool_(), found)
    return negated(known) if opposite else known


def _known(datum: pa.Array) -> pa.Array:
    return datum.fill_null(False)


register("JSON_QUERY", build_query)
register("JSON_EXISTS", build_exists)
register("IS JSON", partial(_build_is_json, False))
register("IS NOT JSON", partial(_build_is_json, True))

# --- writing --------------------------------------------------------------------------------------------


def _argument(rex: Rex, compiler: Compiler) -> list[Node]:
    """A value for the JSON writer, and whether it is JSON already."""
    raw = isinstance(rex, Call) and rex.name in ("JSON_OBJECT", "JSON_ARRAY", "JSON")
    flag = constant(raw, pa.bool_())
    if isinstance(rex.type, FloatType):
        return [cast_node(compiler.node(rex), rex.type, DataTypes.DOUBLE(), compiler), flag]
    if not isinstance(rex.type, _WRITABLE):
        raise NoArrowForm(f"{rex.type} in JSON")
    return [compiler.node(rex), flag]


def build_object(call: Call, compiler: Compiler) -> Node:
    nodes: list[Node] = [constant(_word(call.args, 0, "NULL"), pa.string())]
    for key, value in zip(call.args[1::2], call.args[2::2], strict=True):
        nodes += [text_node(key, compiler), *_argument(value, compiler)]
    return udf_node("json_object", pa.string(), *nodes, sees_null=True)


def build_array(call: Call, compiler: Compiler) -> Node:
    nodes: list[Node] = [constant(_word(call.args, 0, "ABSENT"), pa.string())]
    for value in call.args[1:]:
        nodes += _argument(value, compiler)
    return udf_node("json_array", pa.string(), *nodes, sees_null=True)


def build_string(call: Call, compiler: Compiler) -> Node:
    return udf_node("json_string", pa.string(), _argument(call.args[0], compiler)[0])


def build_raw(call: Call, compiler: Compiler) -> Node:
    return text_node(call.args[0], compiler)


register("JSON_OBJECT", build_object)
register("JSON_ARRAY", build_array)
register("JSON_STRING", build_string)
register("JSON", build_raw)

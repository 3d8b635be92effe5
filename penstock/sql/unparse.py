"""Expressions back to SQL text in the form Flink prints: names in backquotes, one blank around operators.

DESCRIBE, SHOW CREATE TABLE and catalogs that store tables as text use it, so that a computed column reads the
same however it was typed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from penstock.common.datatype_parser import parse_type
from penstock.common.datatypes import DataType, IntType, LocalZonedTimestampType, VarCharType
from penstock.sql.dialect import nodes
from penstock.sql.dialect.statement_parser import parse_expression

_BINARY: dict[type, str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.DPipe: "||",
    exp.And: "AND",
    exp.Or: "OR",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
}


def canonical(text: str) -> str:
    """The canonical form of an expression's text; what cannot be printed stays as it is."""
    try:
        return unparse(parse_expression(text))
    except KeyError:
        return " ".join(text.split())


def unparse(node: Any) -> str:
    """SQL text of an expression tree.

    Raises:
        KeyError: For a node this module has no text for.
    """
    kind = type(node)
    if kind in _BINARY:
        return f"{unparse(node.this)} {_BINARY[kind]} {unparse(node.expression)}"
    return _WRITERS[kind](node)


def _name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _column(node: exp.Column) -> str:
    return ".".join(_name(p.name) for p in node.parts)


def _literal(node: exp.Literal) -> str:
    return "'" + node.this.replace("'", "''") + "'" if node.is_string else str(node.this)


def _type(text: str) -> str:
    data_type = parse_type(text, in_sql=True)
    return _type_text(data_type)


def _type_text(data_type: DataType) -> str:
    if isinstance(data_type, IntType):
        return "INTEGER"
    if isinstance(data_type, VarCharType):
        return data_type.nullable().as_summary()
    if isinstance(data_type, LocalZonedTimestampType):
        return data_type.nullable().as_sql()
    return data_type.nullable().as_summary()


def _cast(node: nodes.FlinkCast) -> str:
    word = "TRY_CAST" if node.args.get("safe") else "CAST"
    return f"{word}({unparse(node.this)} AS {_type(node.args['to'])})"


def _interval(node: nodes.IntervalLiteral) -> str:
    sign = "-" if node.args.get("negative") else ""
    to = f" TO {node.args['to']}" if node.args.get("to") else ""
    precision = f"({node.args['precision']})" if node.args.get("precision") else ""
    return f"INTERVAL {sign}'{node.this}' {node.args['unit']}{precision}{to}"


def _call(node: exp.Anonymous) -> str:
    name = node.this if isinstance(node.this, str) else node.this.name
    args = ", ".join(unparse(e) for e in node.expressions)
    if name.upper() in ("ARRAY", "MAP", "MULTISET"):
        return f"{name.upper()}[{args}]"
    return f"{_call_name(name)}({args})"


def _call_name(name: str) -> str:
    from penstock.sql.functions import FUNCTIONS

    return name.upper() if name.upper() in FUNCTIONS else _name(name)


def _case(node: exp.Case) -> str:
    head = "CASE" + (f" {unparse(node.this)}" if node.this is not None else "")
    whens = "".join(f" WHEN {unparse(b.this)} THEN {unparse(b.args['true'])}" for b in node.args["ifs"])
    default = node.args.get("default")
    tail = f" ELSE {unparse(default)}" if default is not None else " ELSE NULL"
    return f"{head}{whens}{tail} END"


def _is(node: exp.Is, negated: bool = False) -> str:
    word = "IS NOT" if negated else "IS"
    right = node.expression
    text = "UNKNOWN"
    if isinstance(right, exp.Null):
        text = "NULL"
    elif isinstance(right, exp.Boolean):
        text = "TRUE" if right.this else "FALSE"
    return f"{unparse(node.this)} {word} {text}"


def _not(node: exp.Not) -> str:
    return _is(node.this, True) if isinstance(node.this, exp.Is) else f"NOT {unparse(node.this)}"


def _in(node: exp.In) -> str:
    return f"{unparse(node.this)} IN ({', '.join(unparse(e) for e in node.expressions)})"


def _between(node: exp.Between) -> str:
    return f"{unparse(node.this)} BETWEEN ASYMMETRIC {unparse(node.args['low'])} AND {unparse(node.args['high'])}"


_WRITERS: dict[type, Callable[[Any], str]] = {
    exp.Column: _column,
    exp.Dot: lambda n: f"{unparse(n.this)}.{_name(n.expression.name)}",
    exp.Literal: _literal,
    exp.Boolean: lambda n: "TRUE" if n.this else "FALSE",
    exp.Null: lambda n: "NULL",
    exp.Neg: lambda n: f"- {unparse(n.this)}",
    exp.Paren: lambda n: f"({unparse(n.this)})",
    exp.Not: _not,
    exp.Is: _is,
    exp.Like: lambda n: (
        f"{unparse(n.this)} {'NOT ' if n.args.get('negate') else ''}LIKE {unparse(n.expression)}"
    ),
    exp.In: _in,
    exp.Between: _between,
    exp.Case: _case,
    exp.Anonymous: _call,
    exp.Bracket: lambda n: f"{unparse(n.this)}[{unparse(n.expressions[0])}]",
    nodes.FlinkCast: _cast,
    nodes.IntervalLiteral: _interval,
    nodes.TypedLiteral: lambda n: f"{n.args['kind']} {unparse(n.this)}",
}

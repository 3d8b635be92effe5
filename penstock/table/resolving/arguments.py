"""What programs pass to methods of tables: expressions, or something that is refused with what to write instead."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from penstock.table.expression_parts.base import Operand
from penstock.table.expression_parts.nodes import Name, Node
from penstock.table.resolving.context import ProgramContext

_WORD = re.compile(r"[A-Za-z_]\w*")


def nodes_of(ctx: ProgramContext, values: Sequence[Any]) -> list[Node]:
    """The trees of expressions."""
    return [node_of_expression(ctx, value) for value in values]


def node_of_expression(ctx: ProgramContext, value: Any) -> Node:
    """An expression, or a plain value, as a node of a query."""
    if isinstance(value, Operand):
        return value._node
    if isinstance(value, str):
        raise ctx.error(
            f"{ctx.call} takes expressions, and texts are no expressions any more: {value!r}",
            do=f"write {ctx.call}({modern(value)})",
        )
    if hasattr(value, "to_user_function"):
        raise ctx.error(
            f"{ctx.call} takes expressions, and a function is none before it is called",
            do="call it with columns: f(col('a'))",
        )
    raise ctx.error(f"{ctx.call} takes expressions, got {value!r}", do="write col('a') or lit(value)")


def modern(text: str) -> str:
    """How an expression of Flink 1.x is written now.

    >>> modern("a, b as c")
    "col('a'), col('b').alias('c')"
    """
    return ", ".join(_modern(part.strip()) for part in text.split(","))


def _modern(part: str) -> str:
    renamed = re.fullmatch(r"([A-Za-z_]\w*)\s+as\s+([A-Za-z_]\w*)", part, re.IGNORECASE)
    if renamed:
        return f"col('{renamed[1]}').alias('{renamed[2]}')"
    if _WORD.fullmatch(part):
        return f"col('{part}')"
    return f"call_sql({part!r})"


def column_name(ctx: ProgramContext, value: Any) -> str:
    """The column that an expression names, and nothing else."""
    node = node_of_expression(ctx, value)
    if not isinstance(node, Name):
        raise ctx.error(f"{ctx.call} takes columns, got {node}", do="write col('a')")
    return node.name

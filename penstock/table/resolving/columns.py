"""Columns of a select list: what stands for several is spread out, what has no name gets one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.common.datatypes import RowType
from penstock.common.near_names import did_you_mean
from penstock.sql.functions import FUNCTIONS
from penstock.sql.plan.algebra import Fields
from penstock.table.expression_parts.base import literal
from penstock.table.expression_parts.nodes import (
    Apply,
    CallByName,
    CallOf,
    Name,
    Node,
    TypeNode,
    Value,
    walk_nodes,
)
from penstock.table.resolving.binder import NodeBinder
from penstock.table.resolving.context import ProgramContext
from penstock.table.resolving.functions import registry_name

_PROPERTIES = frozenset({"start", "end", "rowtime", "proctime"})


@dataclass(frozen=True)
class Columns:
    """The columns of a table, by which ranges and stars are spread out."""

    ctx: ProgramContext
    fields: Fields

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return [f.name for f in self.fields]

    def spread(self, nodes: Sequence[Node]) -> list[Node]:
        """The nodes with `*`, ranges and flattened rows spread out, also inside calls."""
        found: list[Node] = []
        for node in nodes:
            found += self._spread(node)
        return found

    def _spread(self, node: Node) -> list[Node]:
        if isinstance(node, Name) and node.name == "*":
            return [Name(n) for n in self.names]
        if isinstance(node, Apply) and node.function == "withAllColumns":
            return [Name(n) for n in self.names]
        if isinstance(node, Apply) and node.function == "withColumns":
            return [Name(n) for n in self.chosen(node.args)]
        if isinstance(node, Apply) and node.function == "withoutColumns":
            left_out = set(self.chosen(node.args))
            return [Name(n) for n in self.names if n not in left_out]
        if isinstance(node, Apply) and node.function == "flatten":
            return self._flattened(node.args[0])
        if isinstance(node, (Apply, CallByName, CallOf)) and node.args:
            return [replace(node, args=tuple(self.spread(node.args)))]
        return [node]

    def chosen(self, nodes: Sequence[Node]) -> list[str]:
        """Names of the columns that names, positions and ranges choose."""
        found: list[str] = []
        for node in nodes:
            if isinstance(node, Apply) and node.function == "rangeTo":
                first, last = (self._position(n) for n in node.args)
                if first > last:
                    raise self.ctx.error(f"the range {node} begins behind its end")
                found += self.names[first : last + 1]
            elif isinstance(node, Apply) and node.function in ("withColumns", "withAllColumns"):
                found += self.chosen(node.args) if node.args else self.names
            elif isinstance(node, Name) and node.name == "*":
                found += self.names
            else:
                found.append(self.names[self._position(node)])
        return found

    def _position(self, node: Node) -> int:
        if isinstance(node, Name):
            if node.name not in self.names:
                hint = did_you_mean(node.name, self.names) or f"the columns are {', '.join(self.names)}"
                raise self.ctx.error(f"column '{node.name}' not found", do=hint)
            return self.names.index(node.name)
        if isinstance(node, Value) and isinstance(node.value, int):
            if not 1 <= node.value <= len(self.names):
                raise self.ctx.error(f"there is no column {node.value}: they are 1 to {len(self.names)}")
            return node.value - 1
        raise self.ctx.error(
            f"columns are chosen by name or by position, not by {node}", do="write with_columns(col('a'), 2)"
        )

    def _flattened(self, node: Node) -> list[Node]:
        row = NodeBinder(self.ctx, self.fields, place="flatten").bind(node)
        if not isinstance(row.type, RowType):
            return [node]
        return [Apply("get", (node, literal(name))) for name in row.type.field_names()]


def is_aggregate(node: Node) -> bool:
    """Whether the node itself is the call of an aggregate function."""
    if isinstance(node, Apply) and node.function in ("distinct", "sum0"):
        return True
    if isinstance(node, Apply):
        definition = FUNCTIONS.get(registry_name(node.function))
        return definition is not None and definition.kind == "aggregate"
    if isinstance(node, CallOf):
        return getattr(node.function, "kind", "") == "aggregate"
    return False


def column_names(nodes: Sequence[Node], grouped: bool) -> list[str]:
    """Names as Flink gives them: aliases, columns' own, EXPR$n for aggregates and windows, _cn for the rest."""
    numbered = _numbered(nodes) if grouped else []
    return [_name(node, i, numbered) for i, node in enumerate(nodes)]


def _numbered(nodes: Sequence[Node]) -> list[Node]:
    found: list[Node] = []
    for node in nodes:
        hidden: set[int] = set()
        for part in walk_nodes(node):
            window = isinstance(part, Apply) and part.function in _PROPERTIES
            if id(part) in hidden or not (is_aggregate(part) or window):
                continue
            hidden.update(id(inner) for inner in walk_nodes(part))
            if part not in found:
                found.append(part)
    return found


def _name(node: Node, index: int, numbered: list[Node]) -> str:
    return _own_name(node) or (f"EXPR${numbered.index(node)}" if node in numbered else f"_c{index}")


def _own_name(node: Node) -> str | None:
    if isinstance(node, Name):
        return node.name
    if not isinstance(node, Apply):
        return None
    if node.function == "as" and isinstance(node.args[1], Value):
        return str(node.args[1].value)
    inner = _own_name(node.args[0]) if node.args else None
    if node.function == "get" and inner and isinstance(node.args[1], Value):
        key = node.args[1].value
        return f"{inner}${key if isinstance(key, str) else f'_{key}'}"
    if node.function == "cast" and inner and isinstance(node.args[1], TypeNode):
        return f"{inner}-{node.args[1].type.as_summary()}"
    return None

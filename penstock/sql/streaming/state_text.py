"""What EXPLAIN says of an operator's state: what is kept of which columns, by which key, and for how long.

state=[left: every row (id, price) by (id), for ever; right: every row (id) by (id), for ever]
"""

from __future__ import annotations

from penstock.delta.kept import Kept
from penstock.sql.plan.algebra import Project
from penstock.sql.plan.rex_text import rex_text
from penstock.sql.streaming.physical import DeltaNode, Stream


def state_text(node: DeltaNode) -> str:
    """All that the node's operator keeps; "" if it keeps nothing."""
    assert node.operator is not None
    found = node.operator.kept()
    sided = len({kept.input_index for kept in found}) > 1
    labels = [_label(node, kept.input_index) if sided else "" for kept in found]
    return "; ".join(label + _kept_text(node, kept) for label, kept in zip(labels, found, strict=True))


def _label(node: DeltaNode, index: int) -> str:
    return f"input {index + 1}: " if len(node.inputs) > 2 else ("left: ", "right: ")[index]


def _kept_text(node: DeltaNode, kept: Kept) -> str:
    assert node.operator is not None
    names = column_names(node.inputs[kept.input_index])
    columns = range(len(names)) if kept.columns is None else kept.columns
    text = kept.what + (f" ({', '.join(names[i] for i in columns)})" if columns else "")
    keys = ", ".join(names[i] for i in _key(node, kept.input_index))
    by = [f"({keys})"] if keys else []
    by += ["window"] if kept.windowed else []
    return f"{text} {'by ' + ' and '.join(by) if by else 'at one subtask'}, {kept.bound}"


def _key(node: DeltaNode, index: int) -> list[int]:
    """The key as columns of the input; a local stage may have moved them."""
    assert node.operator is not None
    key = node.operator.key_columns(index)
    local = node.local[index] if node.local else None
    return list(key) if local is None else [local.came_from(column) for column in key]


def column_names(stream: Stream) -> list[str]:
    """What the columns of an operator's input are called in the query, or how they are computed."""
    plan = stream.plan
    if not isinstance(plan, Project):
        return [f.name for f in stream.fields]
    below = [f.name for f in plan.input.fields]
    return [rex_text(rex, below) for rex in plan.exprs[: stream.width]]

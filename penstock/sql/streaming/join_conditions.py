"""A join's condition taken apart, and what its keys mean for the order of changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.sql.binder.coercion import cast_rex
from penstock.sql.functions.common_types import common_type
from penstock.sql.plan.rex import Call, Rex, conjuncts
from penstock.sql.streaming.physical import Stream
from penstock.sql.streaming.residual import sides_of, unshift
from penstock.sql.streaming.state_text import column_names


@dataclass
class Parts:
    """A join condition taken apart: pairs of equal expressions (each over its own input), and what is left."""

    left: list[Rex] = field(default_factory=list)
    right: list[Rex] = field(default_factory=list)
    null_safe: list[bool] = field(default_factory=list)
    rest: list[Rex] = field(default_factory=list)


def take_apart(condition: Rex | None, left_width: int) -> Parts:
    parts = Parts()
    for item in [] if condition is None else conjuncts(condition):
        if not _equal_pair(item, left_width, parts):
            parts.rest.append(item)
    return parts


def _equal_pair(item: Rex, left_width: int, parts: Parts) -> bool:
    if not isinstance(item, Call) or item.name not in ("=", "IS NOT DISTINCT FROM"):
        return False
    first, second = item.args
    sides = sides_of(first, left_width), sides_of(second, left_width)
    if sides == (frozenset({1}), frozenset({0})):
        first, second = second, first
    elif sides != (frozenset({0}), frozenset({1})):
        return False
    if first.type.nullable() != second.type.nullable():
        shared = common_type([first.type.nullable(), second.type.nullable()])
        if shared is None:
            return False
        first, second = _as(first, shared), _as(second, shared)
    parts.left.append(first)
    parts.right.append(unshift(second, left_width))
    parts.null_safe.append(item.name != "=")
    return True


def _as(rex: Rex, data_type: Any) -> Rex:
    return rex if rex.type.nullable() == data_type.nullable() else cast_rex(rex, data_type.nullable())


def disorder(
    name: str, streams: Sequence[Stream], wide: Sequence[Stream], keys: Sequence[Sequence[int]]
) -> str:
    """Says so if an update of an input may send a row to another subtask than the row it replaces.

    `wide` are the inputs as they are sent, by the columns that are their `keys`.
    """
    for stream, sent, key in zip(streams, wide, keys, strict=True):
        if stream.retracts and key and stream.keys and not any(k.issuperset(key) for k in stream.keys):
            names = column_names(sent)
            shown = ", ".join(names[i] for i in key)
            return f"{name} sends rows by ({shown}), which {stream.updated_by} may change"
    return next((stream.disordered_by for stream in streams if stream.disordered_by), "")

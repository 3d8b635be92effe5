"""Hints behind SELECT: what a user tells the planner about the tables of one query block.

    SELECT /*+ STATE_TTL('o' = '1d', 'c' = '3d') */ …      how long a join or aggregate remembers its inputs
    SELECT /*+ LOOKUP('table' = 'c', 'max-attempts' = '3', …) */ …   how a lookup join asks the table

Names are those by which the query block knows its tables: the alias if there is one. Other hints are advice for
Flink's batch joins, which Spark's optimizer needs not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from penstock.common.config_values import parse_duration
from penstock.common.errors import ValidationError
from penstock.common.near_names import did_you_mean
from penstock.sql.binder.context import BindContext
from penstock.sql.dialect.flink import parse_hints

LookupHint = tuple[tuple[str, str], ...]


@dataclass
class SelectHints:
    """The hints of one query block; `ttl_ms` and `lookups` are by table name."""

    ttl_ms: dict[str, int] = field(default_factory=dict)
    lookups: dict[str, LookupHint] = field(default_factory=dict)

    def check(self, names: Iterable[str | None], ctx: BindContext, node: Any) -> None:
        """Refuses hints for tables that the query block does not have."""
        known = [n for n in names if n is not None]
        for name in (*self.ttl_ms, *self.lookups):
            if name not in known:
                raise ctx.error(
                    f"the hint names '{name}', which is no table or view of this query",
                    node,
                    do=did_you_mean(name, known) or f"use one of: {', '.join(known)}",
                )


def select_hints(select: Any) -> SelectHints:
    """Reads the comment behind SELECT."""
    hints = SelectHints()
    node = select.args.get("hint") if select is not None else None
    for part in node.expressions if node is not None else ():
        for name, pairs in parse_hints(part.sql(dialect="spark")):
            given = [(key, value) for key, value in pairs if key is not None]
            if name == "STATE_TTL":
                hints.ttl_ms.update((key, _millis(value)) for key, value in given)
            elif name == "LOOKUP":
                options = dict(given)
                table = options.pop("table", None)
                if table is None:
                    raise ValidationError("the LOOKUP hint does not say which table", do="add 'table' = '…'")
                hints.lookups[table] = tuple(options.items())
    return hints


def _millis(text: str) -> int:
    try:
        return parse_duration(text).to_millis()
    except ValueError as error:
        raise ValidationError(f"STATE_TTL: {error}", do="write a duration such as '1d' or '12h'") from None

"""UNNEST in batch: LATERAL VIEW with posexplode, a row's fields spread out."""

from __future__ import annotations

from penstock.common.datatypes import MapType, MultisetType, RowType
from penstock.sql.functions.text import quoted_name
from penstock.sql.plan.algebra import Unnest


def unnest_text(plan: Unnest, collection: str, alias: str) -> tuple[str, list[str]]:
    """The LATERAL VIEW clause and the texts of the added columns."""
    outer = "OUTER " if plan.outer else ""
    data_type = plan.collection.type
    if isinstance(data_type, MapType):
        view = f"LATERAL VIEW {outer}posexplode(map_entries({collection})) {alias} AS p, e"
        columns = [f"{alias}.e.key", f"{alias}.e.value"]
    else:
        items = collection
        if isinstance(data_type, MultisetType):
            items = f"flatten(transform(map_entries({collection}), x -> array_repeat(x.key, x.value)))"
        view = f"LATERAL VIEW {outer}posexplode({items}) {alias} AS p, e"
        element = data_type.element_type  # type: ignore[attr-defined]
        if isinstance(element, RowType):
            columns = [f"{alias}.e.{quoted_name(f.name)}" for f in element]
        else:
            columns = [f"{alias}.e"]
    if plan.ordinality:
        columns.append(f"({alias}.p + 1)")
    return view, columns

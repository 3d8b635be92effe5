"""Column lineage for people and for tools: as rows, and as OpenLineage's columnLineage facets.

`sql/plan/lineage.py` finds it; here it gets names. A row says one way in which one source column matters to one
column of a result, or, where `column` is None, to which rows the result has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.common.datatypes import DataType, DataTypes
from penstock.sql.plan.algebra import InsertInto, Plan
from penstock.sql.plan.lineage import Origin, Origins, SourceColumn, merged, trace
from penstock.version import __version__

COLUMNS: list[tuple[str, DataType]] = [
    ("target table", DataTypes.STRING()),
    ("column", DataTypes.STRING()),
    ("source table", DataTypes.STRING()),
    ("source column", DataTypes.STRING()),
    ("type", DataTypes.STRING()),
    ("subtype", DataTypes.STRING()),
    ("functions", DataTypes.ARRAY(DataTypes.STRING())),
]
"""Of EXPLAIN LINEAGE."""
SCHEMA_URL = (
    "https://openlineage.io/spec/facets/1-2-0/ColumnLineageDatasetFacet.json#/$defs/ColumnLineageDatasetFacet"
)
PRODUCER = f"penstock/{__version__}"


class LineageRow(NamedTuple):
    """One way in which a source column matters; functions from the inside out."""

    target_table: str | None
    column: str | None
    source_table: str | None
    source_column: str | None
    type: str
    subtype: str
    functions: tuple[str, ...]


@dataclass(frozen=True)
class ResultLineage:
    """Of one query or INSERT. `rows` decide which rows there are."""

    target: str | None
    columns: tuple[tuple[str, Origins], ...]
    rows: Origins


@dataclass(frozen=True)
class Lineage:
    """Of one or several results; what `Table.lineage()` gives."""

    results: tuple[ResultLineage, ...]

    def rows(self) -> list[LineageRow]:
        """Everything as rows: result by result, its columns in order, then what decides its rows."""
        return [row for result in self.results for row in _rows(result)]

    def sources(self, column: str, target_table: str | None = None) -> list[SourceColumn]:
        """The columns whose values a result column shows, or is computed from."""
        found = [
            o.source
            for result in self.results
            if target_table in (None, result.target)
            for name, origins in result.columns
            if name == column
            for o in origins
            if o.source is not None and o.type == "DIRECT"
        ]
        return list(dict.fromkeys(found))

    def to_open_lineage(self, namespace: str = "penstock") -> dict[str, dict[str, Any]]:
        """The columnLineage facet of each target table, by its path; that of a query is under the empty name.

        Args:
            namespace: Of the source tables; a name in it is catalog.database.table.
        """
        merged_results: dict[str, dict[str, Any]] = {}
        for result in self.results:
            _add(merged_results.setdefault(result.target or "", _facet()), result, namespace)
        return merged_results


def lineage_of(plans: Sequence[Plan], streaming: bool = False) -> Lineage:
    """The lineage of queries and INSERTs."""
    return Lineage(tuple(_result(plan, streaming) for plan in plans))


def _result(plan: Plan, streaming: bool) -> ResultLineage:
    from penstock.sql.session import result_schema

    found = trace(plan)
    target = plan.identifier.as_summary_string() if isinstance(plan, InsertInto) else None
    names = result_schema(plan, streaming).get_column_names()
    columns = tuple(zip(names, [merged(c) for c in found.columns], strict=True))
    return ResultLineage(target, columns, merged(found.rows))


def _rows(result: ResultLineage) -> Iterator[LineageRow]:
    for name, origins in result.columns:
        for origin in origins or (Origin(None),):
            yield _row(result.target, name, origin)
    for origin in result.rows:
        yield _row(result.target, None, origin)


def _row(target: str | None, column: str | None, origin: Origin) -> LineageRow:
    source = origin.source
    table, name = (None, None) if source is None else (source.table, source.name)
    return LineageRow(target, column, table, name, origin.type, origin.subtype, origin.functions)


# -- OpenLineage ---------------------------------------------------------------------------------------------


def _facet() -> dict[str, Any]:
    return {"_producer": PRODUCER, "_schemaURL": SCHEMA_URL, "fields": {}, "dataset": []}


def _add(facet: dict[str, Any], result: ResultLineage, namespace: str) -> None:
    """Several INSERTs may write to one table: their sources come together."""
    for name, origins in result.columns:
        known = facet["fields"].setdefault(name, {"inputFields": []})["inputFields"]
        _extend(known, origins, namespace)
    _extend(facet["dataset"], result.rows, namespace)


def _extend(known: list[dict[str, Any]], origins: Origins, namespace: str) -> None:
    for origin in origins:
        if origin.source is None:
            continue
        names = {"namespace": namespace, "name": origin.source.table, "field": origin.source.name}
        entry = next((e for e in known if {k: e[k] for k in names} == names), None)
        if entry is None:
            entry = {**names, "transformations": []}
            known.append(entry)
        how = {
            "type": origin.type,
            "subtype": origin.subtype,
            "description": " > ".join(origin.functions),
            "masking": False,
        }
        if how not in entry["transformations"]:
            entry["transformations"].append(how)

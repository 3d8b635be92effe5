"""What a job of SQL is about: its statement, its plan, the tables it reads and writes, the lineage of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from penstock.common.secrets import masked_sql
from penstock.runtime.job_description import Datasets, JobDescription
from penstock.sql.lineage import PRODUCER, Lineage, lineage_of
from penstock.sql.plan.algebra import InsertInto, Plan

__all__ = ["describe", "statement_text"]

_TEXT: ContextVar[str] = ContextVar("statement", default="")
_SCHEMA = "https://openlineage.io/spec/facets/1-1-1/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet"


@contextmanager
def statement_text(*texts: str) -> Iterator[None]:
    """Jobs that are submitted inside are those of this text; the outermost one counts."""
    token = _TEXT.set(_TEXT.get() or ";\n".join(text.strip().rstrip(";") for text in texts if text))
    try:
        yield
    finally:
        _TEXT.reset(token)


def describe(
    plans: Sequence[Plan], explain: Callable[[], str], retracts: bool | None = None, streaming: bool = True
) -> JobDescription:
    """The description of a job that computes these plans together."""
    mode = "" if retracts is None else "I,UB,UA,D" if retracts else "I"
    return JobDescription(
        masked_sql(_TEXT.get()), explain, mode, lambda namespace: _datasets(plans, namespace, streaming)
    )


def _datasets(plans: Sequence[Plan], namespace: str, streaming: bool) -> Datasets:
    lineage = lineage_of(plans, streaming)
    facets = lineage.to_open_lineage(namespace)
    outputs = {
        plan.identifier.as_summary_string(): {"schema": _schema(plan)}
        for plan in plans
        if isinstance(plan, InsertInto)
    }
    return (
        [_dataset(namespace, name, {}) for name in _sources(lineage)],
        [
            _dataset(namespace, name, {**own, "columnLineage": facets[name]})
            for name, own in outputs.items()
            if name in facets
        ],
    )


def _sources(lineage: Lineage) -> list[str]:
    return list(dict.fromkeys(row.source_table for row in lineage.rows() if row.source_table))


def _schema(plan: InsertInto) -> dict[str, Any]:
    fields = [{"name": field.name, "type": str(field.type)} for field in plan.input.fields]
    return {"_producer": PRODUCER, "_schemaURL": _SCHEMA, "fields": fields}


def _dataset(namespace: str, name: str, facets: dict[str, Any]) -> dict[str, Any]:
    return {"namespace": namespace, "name": name, "facets": facets}

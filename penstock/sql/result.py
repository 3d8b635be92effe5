"""What a statement gives back: columns and rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from penstock.catalog.resolved_schema import Column, PhysicalColumn, ResolvedSchema
from penstock.common.datatypes import DataType, DataTypes
from penstock.common.types import Row


@dataclass
class StatementResult:
    """Rows of a statement; `rows` is called once, when somebody wants them.

    `success_only` marks statements that just say OK, `is_query` those whose rows come from a job. `zone` is where
    points in time are looked at when the rows are printed.
    """

    schema: ResolvedSchema
    rows: Callable[[], Iterator[Row]]
    success_only: bool = False
    is_query: bool = False
    streaming: bool = False
    zone: str = "UTC"
    details: dict[str, object] = field(default_factory=dict)


def ok() -> StatementResult:
    """The result of DDL: one row that says OK."""
    schema = ResolvedSchema([PhysicalColumn("result", DataTypes.STRING())])
    return StatementResult(schema, lambda: iter([Row("OK")]), success_only=True)


def table(columns: Iterable[tuple[str, DataType]], rows: Iterable[Iterable[object]]) -> StatementResult:
    """A small result that is known already."""
    built: list[Column] = [PhysicalColumn(name, data_type) for name, data_type in columns]
    made = [Row(*values) for values in rows]
    return StatementResult(ResolvedSchema(built), lambda: iter(made))


def strings(name: str, values: Iterable[str]) -> StatementResult:
    """One column of texts, as SHOW gives."""
    return table([(name, DataTypes.STRING(False))], [[v] for v in values])

"""Which columns of a database's table are read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from penstock.common.errors import ValidationError
from penstock.connectors.cdc.database import Selection
from penstock.connectors.cdc.model import CapturedTable, Column, TableName


def captured(
    selection: Selection,
    name: TableName,
    there: Mapping[str, Column],
    key: Sequence[str],
    ordered: Collection[str],
    where: str,
) -> CapturedTable:
    """What is read of a table: the columns that are asked for, then those of its keys.

    Args:
        there: All columns of the table.
        key: The primary key.
        ordered: Kinds of columns whose values Python orders as the database does.
    """
    wanted = there if selection.columns is None else selection.columns
    columns = [find_column(there, column, where) for column in wanted]
    chunk_key = selection.chunk_key or (key[0] if key else None)
    if chunk_key is None and selection.parallel:
        raise ValidationError(
            "the table has no primary key by which it could be cut into chunks",
            where=where,
            do="set 'scan.incremental.snapshot.chunk.key-column'",
        )
    for needed in (*key, *([chunk_key] if chunk_key else [])):
        column = find_column(there, needed, where)
        if column not in columns:
            columns.append(column)
    at = None if chunk_key is None else columns.index(find_column(there, chunk_key, where))
    places = tuple(columns.index(there[part]) for part in key)
    return CapturedTable(name, tuple(columns), places, at, at is None or columns[at].kind in ordered)


def find_column(there: Mapping[str, Column], wanted: str, where: str) -> Column:
    """By its exact name or, failing that, without regard to case."""
    found = there.get(wanted) or {n.lower(): c for n, c in reversed(list(there.items()))}.get(wanted.lower())
    if found is None:
        raise ValidationError(
            f"the database's table has no column '{wanted}'",
            where=where,
            do=f"its columns are {some(list(there))}",
        )
    return found


def some(names: Sequence[str]) -> str:
    """Names for a message, not too many."""
    return ", ".join(names[:20]) + (", …" if len(names) > 20 else "") if names else "none"

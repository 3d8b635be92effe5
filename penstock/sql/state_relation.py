"""`SELECT … FROM penstock_state('job', 'operator uid', 'state' [, key])`: committed state as a table.

The job is one of this process (by id or name), the folder of a job, checkpoint or savepoint, or the id of a job below
`execution.checkpointing.dir`. Rows are read when the query is planned, from the newest committed epoch.

    keyed state               key, map_key, value, window_start, window_end, last_access: as far as it has them
    state in columns          the rows of SQL joins, Top-N, deduplication and GROUP BY (`checkpoint/column_state.py`)
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.checkpoint.column_state import ColumnStateView, column_type, is_in_columns
from penstock.checkpoint.contents import StateContents, open_contents
from penstock.checkpoint.entries import KeyedStateView, StateEntry
from penstock.checkpoint.listing import find_snapshots, keys_meant
from penstock.common.datatypes import DataTypes
from penstock.common.errors import CheckpointError, TypeMismatchError, ValidationError
from penstock.runtime.running_job import running_job
from penstock.runtime.state_queries import committed_state
from penstock.sql.plan.algebra import Field, LocalRows, LocalTable
from penstock.state.schema import StateSchema, declared_type, element_types
from penstock.state_processor.columns import (
    Batches,
    Column,
    Decimals,
    columns_of,
    namespace_columns,
    namespace_values,
)

DECIMALS = "penstock.state.decimals"


def state_relation(config: Mapping[str, str], arguments: Sequence[Any]) -> LocalRows:
    """The rows of a state.

    Raises:
        ValidationError: The arguments are not those of the function.
        CheckpointError: There is no such job, operator or state.
    """
    if len(arguments) not in (3, 4) or not all(isinstance(a, str) for a in arguments[:3]):
        raise ValidationError(
            f"penstock_state has {len(arguments)} arguments",
            do="call penstock_state('job', 'operator uid', 'state'), with a key as fourth argument for one key",
        )
    job, uid, state = arguments[:3]
    operator = _contents(config, job).operator(uid)
    schemas = operator.schemas()
    schema = schemas.get(state.encode())
    if is_in_columns(schema):
        if len(arguments) == 4:
            raise ValidationError(
                f"state {state!r} is kept in columns, not by key", do="leave the key out, and use WHERE"
            )
        return _of_columns(ColumnStateView(operator, state, schemas))
    view = KeyedStateView(operator, state, schemas=schemas)
    assert schema is not None
    entries = (
        (entry for share in view.shares for entry in view.entries(share))
        if len(arguments) == 3
        else _of_key(view, arguments[3])
    )
    return _of_entries(view, schema, entries, Decimals.of(config.get(DECIMALS, "decimal")))


def _of_key(view: KeyedStateView, key: Any) -> Iterator[StateEntry]:
    """The entries of a key; one that is a row or tuple is written as JSON: '["a", 7]'.

    Raises:
        TypeMismatchError: However the key is read, it is not of the type that the keys have.
    """
    fits = False
    for meant in [key, *(keys_meant(key) if isinstance(key, str) else ())]:
        with contextlib.suppress(TypeMismatchError):
            found = list(view.of_key(meant))
            fits = True
            if found:
                return iter(found)
    if not fits:
        assert view.key_schema is not None  # keys of undeclared type may be anything
        raise TypeMismatchError(
            f"{key!r} is no key of state '{view.state}', whose keys are {view.key_schema.fingerprint}",
            where=f"operator '{view.operator.uid}'",
            do="give a key of that type; a row or tuple as JSON: '[\"a\", 7]'",
        )
    return iter(())


def _contents(config: Mapping[str, str], job: str) -> StateContents:
    running = running_job(job)
    if running is not None:
        return committed_state(running.coordinator)
    base = config.get("execution.checkpointing.dir")
    places = [job] if "/" in job else [f"{base.rstrip('/')}/{job}"] if base else []
    for place in places:
        usable = [snapshot for snapshot in find_snapshots(place) if not snapshot.problem]
        if usable:
            return open_contents(max(usable, key=lambda s: (s.epoch, s.timestamp_ms)).path)
    raise CheckpointError(
        f"there is no job '{job}'",
        do="give the name or id of a job that runs in this process, or the folder of its checkpoints",
    )


def _of_entries(
    view: KeyedStateView, schema: StateSchema, entries: Iterable[StateEntry], decimals: Decimals
) -> LocalRows:
    map_key, value = element_types(schema)
    key_type = declared_type(view.key_schema) if view.key_schema is not None else None
    value = declared_type(schema) if schema.kind == "list" else value
    columns = columns_of("key", key_type, decimals)[:1]
    columns += columns_of("map_key", map_key, decimals)[:1] if schema.kind == "map" else []
    columns += columns_of("value", value, decimals)[:1]
    columns += namespace_columns()[:2] if schema.namespaced else []
    columns += [Column("last_access", DataTypes.BIGINT())] if schema.has_ttl else []

    def cells(entry: StateEntry) -> list[Any]:
        found = [entry.key, *([entry.map_key] if schema.kind == "map" else []), entry.value]
        found += namespace_values(entry.namespace)[:2] if schema.namespaced else ()
        return found + ([entry.accessed_ms] if schema.has_ttl else [])

    batches = Batches(columns, f"operator {view.operator.uid!r}, state {view.state!r}")
    table = pa.Table.from_batches(list(batches.of(map(cells, entries))), batches.schema)
    return _leaf([Field(c.name, c.data_type.nullable()) for c in columns], table)


def _of_columns(view: ColumnStateView) -> LocalRows:
    if view.schema is None:
        return _leaf([Field("value", DataTypes.STRING())], pa.table({"value": pa.array([], pa.string())}))
    tables = [table for share in view.shares if (table := view.table(share)) is not None]
    table = pa.concat_tables(tables) if tables else view.schema.empty_table()
    fields = [Field(f.name, column_type(f.type).nullable()) for f in table.schema]
    return _leaf(fields, table)


def _leaf(fields: list[Field], table: pa.Table) -> LocalRows:
    renamed = table.rename_columns([f"c{i}" for i in range(len(fields))])
    return LocalRows(tuple(fields), LocalTable(renamed))

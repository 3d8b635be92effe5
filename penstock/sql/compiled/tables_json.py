"""What a compiled plan refers to: tables of catalogs, rows of the program, users' functions.

`table.plan.compile.catalog-objects` says how much of a table is stored: ALL, SCHEMA (no options) or IDENTIFIER.
`table.plan.restore.catalog-objects` says where it comes from when the plan is loaded: ALL (the plan, with the catalog
for what it leaves out; a table that the catalog has must still have the same columns), ALL_ENFORCED (the plan only)
or IDENTIFIER (the catalog only). Functions are always looked up by name: their code is not in the plan.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock.catalog.catalog_manager import CatalogManager
from penstock.catalog.identifiers import ObjectIdentifier
from penstock.catalog.objects import CatalogTable
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.sql.ddl_text import table_from_text, table_text
from penstock.sql.plan.algebra import LocalTable
from penstock.sql.user_functions import UserFunction, find_user_function

COMPILE = "table.plan.compile.catalog-objects"
RESTORE = "table.plan.restore.catalog-objects"
_COMPILE_WAYS = ("ALL", "SCHEMA", "IDENTIFIER")
_RESTORE_WAYS = ("ALL", "ALL_ENFORCED", "IDENTIFIER")


class PlanReferences:
    """Collects what plans refer to, or finds it again: `tables` and `rows` are lists that the plan's JSON holds."""

    def __init__(
        self, catalogs: CatalogManager, config: Mapping[str, str], stored: dict[str, Any] | None = None
    ) -> None:
        self._catalogs = catalogs
        self._compile = _way(config, COMPILE, _COMPILE_WAYS)
        self._restore = _way(config, RESTORE, _RESTORE_WAYS)
        self.tables: list[dict[str, Any]] = list((stored or {}).get("tables", []))
        self.rows: list[str] = list((stored or {}).get("rows", []))
        self._seen: dict[int, tuple[Any, int]] = {}
        self._read: dict[int, LocalTable] = {}

    # -- writing ---------------------------------------------------------------------------------------

    def write(self, value: CatalogTable | LocalTable | UserFunction, owner: Any) -> Any:
        if isinstance(value, UserFunction):
            return self._function_name(value, owner)
        if isinstance(value, LocalTable):
            return self._number(value, self.rows, lambda: _ipc(value))
        return self._table(owner.identifier, value)

    def _number(self, value: Any, places: list[Any], make: Any) -> int:
        if id(value) not in self._seen:
            self._seen[id(value)] = value, len(places)
            places.append(make())
        return self._seen[id(value)][1]

    def _table(self, identifier: ObjectIdentifier, table: CatalogTable) -> int:
        bare = replace(table, requested_metadata=(), filters=())
        entry: dict[str, Any] = {"identifier": identifier.as_serializable_string()}
        if self._compile != "IDENTIFIER":
            entry["schema"] = table_text(identifier, replace(bare, options={}))
        if self._compile == "ALL":
            entry["options"] = dict(bare.options)
        if table.requested_metadata:
            entry["metadata"] = [c.name for c in table.requested_metadata]
        if entry not in self.tables:
            self.tables.append(entry)
        return self.tables.index(entry)

    def _function_name(self, function: UserFunction, owner: Any) -> str:
        name = owner.name
        found = find_user_function(self._catalogs, name)
        if found is None or (found.kind, found.result) != (function.kind, function.result):
            raise NotSupportedError(
                f"a compiled plan that calls {name}",
                "a plan names functions, and this one is not registered under its name",
                do="register it with create_temporary_system_function(...) and call it by that name",
            )
        return str(name)

    # -- reading ---------------------------------------------------------------------------------------

    def read(self, kind: str, value: Any, owner: dict[str, Any]) -> Any:
        if kind == "function":
            return self._function(value)
        if kind == "rows":
            if value not in self._read:
                self._read[value] = _local_table(self.rows[value])
            return self._read[value]
        if kind == "table":
            return self._restored(self.tables[value])
        raise ValidationError(f"a compiled plan has a value that is not known here: {kind!r}")

    def _function(self, name: str) -> UserFunction:
        found = find_user_function(self._catalogs, name)
        if found is None:
            raise ValidationError(
                f"the compiled plan calls function '{name}', which this session does not have",
                do="register it under that name before the plan is loaded",
            )
        made: UserFunction = found
        return made

    def _restored(self, entry: dict[str, Any]) -> CatalogTable:
        path = entry["identifier"]
        mine = self._of_catalog(path) if self._restore != "ALL_ENFORCED" else None
        stored = table_from_text(entry["schema"]) if "schema" in entry else None
        if mine is not None and stored is not None and self._restore == "ALL":
            _same_columns(path, mine, stored)
        table = mine or (stored if self._restore != "IDENTIFIER" else None)
        if table is None:
            raise ValidationError(
                f"the compiled plan needs table {path}, which no catalog of this session has",
                do=f"create it, or compile the plan with '{COMPILE}' = 'ALL' and restore it with '{RESTORE}' = 'ALL'",
            )
        if self._restore != "IDENTIFIER" and "options" in entry:
            table = table.with_options(entry["options"])
        elif mine is not None:
            table = table.with_options(mine.options)
        wanted = [c for name in entry.get("metadata", ()) if (c := table.schema.column(name)) is not None]
        return replace(table, requested_metadata=tuple(wanted))

    def _of_catalog(self, path: str) -> CatalogTable | None:
        from penstock.catalog.identifiers import split_path

        parts = split_path(path)
        if parts[0] not in self._catalogs.catalogs:
            return None
        found = self._catalogs.find_table(parts)
        return found[1] if found is not None and isinstance(found[1], CatalogTable) else None


def _same_columns(path: str, mine: CatalogTable, stored: CatalogTable) -> None:
    identifier = ObjectIdentifier("", "", "")
    texts = [table_text(identifier, CatalogTable(t.schema)) for t in (mine, stored)]
    if texts[0] != texts[1]:
        raise ValidationError(
            f"the schema of table {path} is not the one that the plan was compiled with",
            where=f"here:    {_columns(mine)}\n         in plan: {_columns(stored)}",
            do=f"compile the plan again, or restore it with '{RESTORE}' = 'ALL_ENFORCED'",
        )


def _columns(table: CatalogTable) -> str:
    return ", ".join(
        f"{c.name} {c.data_type.as_summary() if c.data_type else '…'}" for c in table.schema.columns
    )


def _way(config: Mapping[str, str], key: str, ways: tuple[str, ...]) -> str:
    way = config.get(key, "ALL").upper()
    if way not in ways:
        raise ValidationError(f"invalid value {way!r} for '{key}'", do=f"use {', '.join(ways)}")
    return way


def _ipc(rows: LocalTable) -> str:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.table.schema) as writer:
        writer.write_table(rows.table)
    return base64.b64encode(sink.getvalue().to_pybytes()).decode()


def _local_table(text: str) -> LocalTable:
    import pyarrow as pa

    return LocalTable(pa.ipc.open_stream(base64.b64decode(text)).read_all())

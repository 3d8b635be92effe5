"""`SavepointReader`: the state of a savepoint or checkpoint as Spark DataFrames.

    savepoint = SavepointReader.read(env, "/savepoints/savepoint-1a2b3c-…")
    savepoint.read_keyed_state("counts", "count").groupBy("value").count().show()
    savepoint.read_timers("counts").where("timestamp < 1700000000000").show()

Each task of Spark reads one share of an operator's state, straight from the files; nothing passes through the driver.
Columns have the types that the program declared; what it did not declare is JSON to read and bytes. BIG_DEC and
BIG_INT are decimals of 38 digits; `read(..., decimals="string")` makes them texts, for numbers that do not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.checkpoint.column_state import ColumnStateView, is_in_columns
from penstock.checkpoint.contents import KeyedShare, OperatorContents, StateContents, open_contents
from penstock.checkpoint.entries import TIMER_STATES, KeyedStateView, StateEntry, Unreadable
from penstock.common.codecs import compile_codec
from penstock.common.datatypes import DataTypes
from penstock.common.errors import CheckpointError, PenstockError, ValidationError
from penstock.common.typeinfo import TypeInformation, Types
from penstock.state.descriptors import StateDescriptor
from penstock.state.operator import SavedState
from penstock.state.schema import StateSchema, declared_type, element_types, pickled_type
from penstock.state_processor.columns import (
    Column,
    Decimals,
    columns_of,
    namespace_columns,
    namespace_values,
    row_columns,
)
from penstock.state_processor.functions import KeyedStateReaderFunction
from penstock.state_processor.identifiers import OperatorIdentifier, uid_of
from penstock.state_processor.key_reading import read_keys
from penstock.state_processor.spark_tasks import frame_of, frame_of_tables, session_of
from penstock.state_processor.window_reader import WindowSavepointReader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.windowing.assigner import WindowAssigner

__all__ = ["SavepointReader"]


class SavepointReader:
    """Reads a savepoint or a checkpoint. Make one with `SavepointReader.read`."""

    def __init__(
        self, spark: SparkSession, contents: StateContents, decimals: Decimals = Decimals.DECIMAL
    ) -> None:
        self._spark = spark
        self._contents = contents
        self._decimals = decimals

    @staticmethod
    def read(env: Any, path: str, state_backend: Any = None, *, decimals: str = "decimal") -> SavepointReader:
        """Opens a savepoint or checkpoint.

        Args:
            env: A StreamExecutionEnvironment, a SparkSession, or None for the session of this process.
            path: Its folder, or its metadata file.
            state_backend: As in Flink; state files are the same for all backends here.
            decimals: What BIG_DEC and BIG_INT come as. `decimal`: DECIMAL(38, 18) and DECIMAL(38, 0), and a number
                that does not fit is an error when the DataFrame is used. `string`: all their digits, as text.

        Raises:
            CheckpointError: There is none, or it is damaged.
        """
        return SavepointReader(session_of(env), open_contents(path), Decimals.of(decimals))

    @property
    def operators(self) -> list[OperatorIdentifier]:
        """The operators that have state."""
        return [OperatorIdentifier.for_uid(uid) for uid in self._contents.operators]

    # --- keyed state --------------------------------------------------------------------------------------

    def read_keyed_state(
        self,
        uid: str | OperatorIdentifier,
        state: str | StateDescriptor | KeyedStateReaderFunction,
        key_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataFrame:
        """One state as a DataFrame, or what a function makes of the states of each key.

        Args:
            uid: The operator.
            state: A state's name: columns `key`, `map_key` (of a map), `value`, the window it is for, if it is
                kept per window, and `last_access` if it has a time to live. Of state that SQL operators keep in
                columns, those. A descriptor says how to read values that were not declared. A function gives rows
                of `output_type`.
            key_type: The type of the keys, if the program did not declare it.
            output_type: What a function yields: a row or tuple becomes a column per field.

        Raises:
            CheckpointError: There is no such operator or state.
        """
        operator = self._contents.operator(uid_of(uid))
        if isinstance(state, KeyedStateReaderFunction):
            return self._by_function(operator, state, key_type, output_type)
        name = state.name if isinstance(state, StateDescriptor) else state
        schemas = operator.schemas()
        if is_in_columns(schemas.get(name.encode())):
            if isinstance(state, StateDescriptor) or key_type is not None:
                raise ValidationError(
                    f"state {name!r} is kept in columns, which have their types",
                    do="give the name of the state and nothing else",
                )
            return self._in_columns(ColumnStateView(operator, name, schemas))
        view = _typed(operator, name, state if isinstance(state, StateDescriptor) else None, key_type)
        assert view.schema is not None
        columns, values = _layout(view, view.schema, self._decimals)
        tasks = [partial(_rows, view, share, values) for share in view.shares]
        return frame_of(self._spark, tasks, columns, _where(operator, name))

    def _in_columns(self, view: ColumnStateView) -> DataFrame:
        if view.schema is None:
            return frame_of(self._spark, [], columns_of("value", Types.STRING()), "")
        tasks = [partial(view.table, share) for share in view.shares]
        return frame_of_tables(self._spark, tasks, view.schema)

    def _by_function(
        self,
        operator: OperatorContents,
        function: KeyedStateReaderFunction,
        key_type: TypeInformation | None,
        output_type: TypeInformation | None,
    ) -> DataFrame:
        columns = [Column("value", DataTypes.STRING(), str)]
        if output_type is not None:
            columns = row_columns(output_type, self._decimals)
        schemas = _with_key_type(operator.schemas(), key_type)
        whole = output_type is None or (len(columns) == 1 and columns[0].name == "value")
        checkpoint = operator.checkpoint
        tasks = [partial(read_keys, function, share, checkpoint, schemas, whole) for share in operator.shares]
        return frame_of(self._spark, tasks, columns, f"operator {operator.uid!r}, the reader function")

    def read_timers(
        self, uid: str | OperatorIdentifier, key_type: TypeInformation | None = None
    ) -> DataFrame:
        """All timers of an operator: `time_domain` (event or processing), `timestamp`, `key`, and the window."""
        operator = self._contents.operator(uid_of(uid))
        schemas = _with_key_type(operator.schemas(), key_type)
        views = [KeyedStateView(operator, domain, timers=True, schemas=schemas) for domain in TIMER_STATES]
        key = columns_of("key", _key_type(views[0]), self._decimals)
        columns = [Column("time_domain", DataTypes.STRING()), Column("timestamp", DataTypes.BIGINT())]
        tasks = [partial(_timers, view, share, len(key) == 2) for view in views for share in operator.shares]
        return frame_of(
            self._spark, tasks, [*columns, *key, *namespace_columns()], _where(operator, "timers")
        )

    def window(self, assigner: WindowAssigner) -> WindowSavepointReader:
        """Reads the contents of windows of this kind."""
        return WindowSavepointReader(self._spark, self._contents, assigner, self._decimals)

    # --- operator state -----------------------------------------------------------------------------------

    def read_list_state(
        self, uid: str | OperatorIdentifier, name: str, type_info: TypeInformation | None = None
    ) -> DataFrame:
        """The elements of list state, of all subtasks: `subtask` and `value`."""
        return self._elements(uid, name, "list", type_info)

    def read_union_state(
        self, uid: str | OperatorIdentifier, name: str, type_info: TypeInformation | None = None
    ) -> DataFrame:
        """The elements of union list state, of all subtasks."""
        return self._elements(uid, name, "union", type_info)

    def read_broadcast_state(
        self,
        uid: str | OperatorIdentifier,
        name: str,
        key_type: TypeInformation | None = None,
        value_type: TypeInformation | None = None,
    ) -> DataFrame:
        """The entries of broadcast state: `key` and `value`. All subtasks have the same; the first one's is read."""
        operator = self._contents.operator(uid_of(uid))
        saved = self._saved(operator, name, "broadcast")[0][1]
        stored = _stored_type(saved)
        key_type = key_type or getattr(stored, "key_type_info", None)
        value_type = value_type or getattr(stored, "value_type_info", None)
        keys = columns_of("key", key_type, self._decimals)
        values = columns_of("value", value_type, self._decimals)
        read_key, read_value = compile_codec(key_type).decode, compile_codec(value_type).decode
        rows = [
            [*_cells(keys, read_key, key), *(_cells(values, read_value, value))] for key, value in saved.pairs
        ]
        return frame_of(self._spark, [partial(list, rows)], [*keys, *values], _where(operator, name))

    def _elements(
        self, uid: str | OperatorIdentifier, name: str, mode: str, type_info: TypeInformation | None
    ) -> DataFrame:
        operator = self._contents.operator(uid_of(uid))
        found = self._saved(operator, name, mode)
        type_info = type_info or _stored_type(found[0][1])
        columns, read = columns_of("value", type_info, self._decimals), compile_codec(type_info).decode
        rows = [
            [subtask, *_cells(columns, read, data)] for subtask, saved in found for data in saved.elements
        ]
        columns = [Column("subtask", DataTypes.INT()), *columns]
        return frame_of(self._spark, [partial(list, rows)], columns, _where(operator, name))

    def _saved(self, operator: OperatorContents, name: str, mode: str) -> list[tuple[int, SavedState]]:
        states = operator.operator_states()
        found = [(i, saved[name]) for i, saved in enumerate(states) if name in saved]
        if not found or found[0][1].mode != mode:
            have = {f"{n!r} ({s.mode})" for saved in states for n, s in saved.items()}
            raise CheckpointError(
                f"operator {operator.uid!r} has no {mode} state {name!r}",
                where=self._contents.path,
                do=f"it has {', '.join(sorted(have)) or 'no operator state'}",
            )
        return found


# --- rows of keyed state, made in the tasks -----------------------------------------------------------------

Values = Callable[[StateEntry], list[Any]]


class _Cells:
    """Which values of an entry are the cells of a row; picklable."""

    def __init__(self, key: int, map_key: int, value: int, windows: bool, ttl: bool) -> None:
        self._key, self._map_key, self._value = key, map_key, value
        self._windows, self._ttl = windows, ttl

    def __call__(self, entry: StateEntry) -> list[Any]:
        cells = [entry.key, entry.key_bytes][: self._key]
        cells += [entry.map_key, None][: self._map_key]
        cells += [entry.value, entry.value_bytes][: self._value]
        cells += namespace_values(entry.namespace) if self._windows else ()
        return cells + ([entry.accessed_ms] if self._ttl else [])


def _where(operator: OperatorContents, state: str) -> str:
    return f"operator {operator.uid!r}, state {state!r}"


def _layout(view: KeyedStateView, schema: StateSchema, decimals: Decimals) -> tuple[list[Column], Values]:
    map_key_type, value_type = element_types(schema)
    key = columns_of("key", _key_type(view), decimals)
    map_key = columns_of("map_key", map_key_type, decimals)[:1] if schema.kind == "map" else []
    value = columns_of("value", declared_type(schema) if schema.kind == "list" else value_type, decimals)
    extra = namespace_columns() if schema.namespaced else []
    ttl = [Column("last_access", DataTypes.BIGINT())] if schema.has_ttl else []
    cells = _Cells(len(key), len(map_key), len(value), schema.namespaced, schema.has_ttl)
    return [*key, *map_key, *value, *extra, *ttl], cells


def _rows(view: KeyedStateView, share: KeyedShare, values: Values) -> Iterator[list[Any]]:
    return map(values, view.entries(share))


def _timers(view: KeyedStateView, share: KeyedShare, with_bytes: bool) -> Iterator[list[Any]]:
    for entry in view.entries(share):
        key = [entry.key, entry.key_bytes] if with_bytes else [entry.key]
        yield [view.state, entry.time_ms, *key, *namespace_values(entry.namespace)]


def _key_type(view: KeyedStateView) -> TypeInformation | None:
    return declared_type(view.key_schema) if view.key_schema is not None else None


def _typed(
    operator: OperatorContents,
    name: str,
    descriptor: StateDescriptor | None,
    key_type: TypeInformation | None,
) -> KeyedStateView:
    """The view of a state; a descriptor replaces what is known about it."""
    schemas = _with_key_type(operator.schemas(), key_type)
    known = schemas.get(name.encode())
    if descriptor is not None and known is not None:
        schemas[name.encode()] = StateSchema(
            name,
            known.kind,
            known.fingerprint,
            known.has_ttl,
            known.namespaced,
            pickled_type(descriptor.type_info),
        )
    return KeyedStateView(operator, name, schemas=schemas)


def _with_key_type(
    schemas: dict[bytes, StateSchema], key_type: TypeInformation | None
) -> dict[bytes, StateSchema]:
    from penstock.state.schema import KEY_RECORD, key_schema

    return schemas if key_type is None else {**schemas, KEY_RECORD: key_schema(compile_codec(key_type))}


def _stored_type(saved: SavedState) -> TypeInformation | None:
    if not saved.type_info:
        return None
    try:
        return declared_type(StateSchema("", "", "", type_info=saved.type_info))
    except (ImportError, AttributeError):
        return None


def _cells(columns: list[Column], read: Callable[[bytes], Any], data: bytes | None) -> list[Any]:
    if data is None:
        return [None] * len(columns)
    try:
        value = read(data)
    except (PenstockError, ImportError, AttributeError) as error:
        value = Unreadable(data, str(error))
    return [value, data][: len(columns)]

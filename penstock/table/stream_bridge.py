"""Between DataStreams and tables, inside one job.

A table over a stream is the plan that DDL would give (scan, computed columns, watermark), its scan being the stream.
A stream over a table is the plan lowered to the engine's operators, and an operator that makes elements of its rows.
Neither starts a job: whatever the program executes in the end takes both sides along.
"""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock.catalog.changelog_mode import ChangelogMode
from penstock.catalog.objects import CatalogTable
from penstock.catalog.resolved_schema import ResolvedSchema
from penstock.catalog.schema import Schema, SchemaColumn
from penstock.common.datatypes import (
    ArrayType,
    DataType,
    LocalZonedTimestampType,
    MapType,
    RowField,
    RowType,
    TimestampType,
    VarCharType,
)
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.common.near_names import did_you_mean
from penstock.common.time import Instant
from penstock.common.typeinfo import TypeInformation, Types
from penstock.common.types import Row, RowKind, make_row
from penstock.formats.arrow_rows import columns_type
from penstock.graph.transformations import OperatorTransformation, Transformation
from penstock.runtime.tables.border import ElementsToTable, TableToElements
from penstock.sql.binder.coercion import cast_rex
from penstock.sql.binder.query import QueryBinder
from penstock.sql.binder.tables import bind_rows
from penstock.sql.functions.implicit_casts import implicitly_castable
from penstock.sql.plan.algebra import Field, Plan, Project, StreamInput, StreamScan
from penstock.sql.plan.rex import InputRef, Rex
from penstock.sql.session_schema import declared_schema
from penstock.sql.streaming.jobs import lowering
from penstock.sql.streaming.linear import table_type
from penstock.sql.streaming.physical import HIDDEN, Stream
from penstock.sql.streaming.planner import Planner
from penstock.table.border_types import StreamColumns, columns_of, stream_type_of

if TYPE_CHECKING:
    from penstock.datastream import DataStream
    from penstock.sql.session import SqlSession

_KINDS = (RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE)
_KIND_NUMBERS = {kind: number for number, kind in enumerate(_KINDS)}
_EPOCH = dt.datetime(1970, 1, 1)
_ROWTIME = "rowtime"


# --- a stream as a table ------------------------------------------------------------------------------------


def table_from_stream(
    session: SqlSession,
    stream: DataStream,
    name: str,
    schema: Schema | None,
    mode: ChangelogMode | None = None,
) -> tuple[Plan, ResolvedSchema | None]:
    """The stream as a table, with the columns of its type or of a schema that fits it.

    Beside the plan comes what the schema declares, unless only some of the stream's columns were chosen.

    Args:
        name: Tells the stream from others of its environment. It becomes part of the operator's uid, so a program
            that is started again has to give the same one.
        mode: The kinds of rows that a stream of changes may have; None: its elements are only inserted.

    Raises:
        ValidationError: The schema does not fit the stream, or the changes are not what `mode` says.
    """
    found = _columns_of(stream.get_type(), mode is not None)
    columns = found.row_type
    declared = checked_schema(_completed(schema, columns))
    hidden = _left_out(declared, columns)
    declared_and_hidden = Schema.new_builder().from_schema(declared).from_fields(*hidden).build()
    table = CatalogTable(schema=declared_and_hidden, options={"connector": "datastream"})
    physical = _checked(table, columns)
    metadata = _timestamps(table)
    fields = tuple(Field(f.name, f.data_type) for f in physical) + tuple(
        Field(c.name, c.data_type) for c in metadata if c.data_type is not None
    )
    places = [columns.field_names().index(f.name) for f in physical]
    key = tuple([f.name for f in physical].index(name) for name in table.primary_key)
    upserts = (
        mode is not None and not mode.contains(RowKind.UPDATE_BEFORE) and mode.contains(RowKind.UPDATE_AFTER)
    )
    if upserts and not key:
        raise ValidationError(
            "a stream of upserts needs a primary key to tell which row an element replaces",
            do="declare one in the schema: Schema.new_builder()….primary_key('id').build()",
        )
    changelog = mode is not None and mode != ChangelogMode.insert_only()
    to_row = _ToRow(columns, places, mode, found.is_record)
    own_types = [columns.fields[i].data_type for i in places]
    required = [
        f.name if own.is_nullable and not f.data_type.is_nullable else None
        for f, own in zip(physical, own_types, strict=True)
    ]
    make = _MakeTable(stream._transformation, to_row, own_types, required, bool(metadata))
    source = StreamInput(make, stream._transformation.parallelism, changelog, upserts, key)
    scan: Plan = StreamScan(_read_fields(fields, columns, places), name, source)
    scan = _declared(scan, fields)
    context = session.context("")
    plan = bind_rows(table, scan, QueryBinder(context), context)
    if declared.physical_columns == _completed(None, columns).physical_columns or not hidden[0]:
        return plan, declared_schema(table, plan.fields, session.streaming, str)
    return _first_columns(plan, len(declared.columns)), None


def _first_columns(plan: Plan, width: int) -> Plan:
    """The plan without the columns behind the first ones."""
    if width == len(plan.fields):
        return plan
    kept = plan.fields[:width]
    return Project(kept, plan, tuple(InputRef(f.type, i, f.time) for i, f in enumerate(kept)))


def _left_out(declared: Schema, columns: RowType) -> tuple[list[str], list[DataType]]:
    """Fields of the stream that the schema does not declare; a computed column may use them all the same."""
    names = {column.name for column in declared.columns}
    hidden = [f for f in columns.fields if f.name not in names]
    if not any(column.is_computed for column in declared.columns):
        hidden = []
    return [f.name for f in hidden], [f.data_type for f in hidden]


def _columns_of(type_info: TypeInformation | None, changelog: bool) -> StreamColumns:
    """The columns that elements of a type have."""
    if type_info is None or type_info == Types.PICKLED_BYTE_ARRAY():
        raise ValidationError(
            "a stream of undeclared type has no columns",
            do="declare its type: output_type=Types.ROW_NAMED([...], [...]) on the step before",
        )
    found = columns_of(type_info)
    if changelog and not found.is_record:
        raise ValidationError(
            f"a stream of changes has rows with a kind, but this one has elements of type {type_info!r}",
            do="declare the stream's type with Types.ROW_NAMED([...], [...]) and make rows by Row.of_kind(...)",
        )
    return found


def _completed(schema: Schema | None, columns: RowType) -> Schema:
    """A schema without physical columns has those of the stream, before what it declares itself."""
    key = () if schema is None else schema.primary_key
    derived = Schema.new_builder()
    for field in columns.fields:
        derived.column(field.name, field.data_type.not_null() if field.name in key else field.data_type)
    if schema is None:
        return derived.build()
    if any(column.is_physical for column in schema.columns):
        return schema
    return derived.from_schema(schema).build()


def checked_schema(schema: Schema) -> Schema:
    """The schema, unless it contradicts itself.

    Raises:
        ValidationError: A column or the watermark is declared twice, or the primary key is no key.
    """
    names = [column.name for column in schema.columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValidationError(f"the schema declares a column twice: {', '.join(twice)}")
    if len(schema.watermarks) > 1:
        declared = ", ".join(watermark.column for watermark in schema.watermarks)
        raise ValidationError(
            f"the schema declares several watermarks ({declared}), and a table has one row time",
            do="keep one of them; the other columns stay ordinary timestamps",
        )
    for name in schema.primary_key:
        column = schema.column(name)
        if column is None:
            raise ValidationError(
                f"the primary key names '{name}', which is no column", do=did_you_mean(name, names)
            )
        if column.data_type is not None and column.data_type.is_nullable:
            raise ValidationError(
                f"the primary key names '{name}', which is declared nullable",
                do=f"declare it as {column.data_type.not_null().as_summary()}",
            )
    return schema


def _checked(table: CatalogTable, columns: RowType) -> list[RowField]:
    """The physical columns of the schema; each is a field of the stream's type and converts from it."""
    known = {f.name: f for f in columns.fields}
    for field in table.physical_schema.fields:
        if field.name not in known:
            raise ValidationError(
                f"column '{field.name}' of the schema is no field of the stream's type {columns.as_summary()}",
                do=did_you_mean(field.name, list(known)),
            )
        own = known[field.name].data_type
        if own.nullable() != field.data_type.nullable() and not implicitly_castable(own, field.data_type):
            raise ValidationError(
                f"column '{field.name}' is {field.data_type.as_summary()} in the schema, but the stream has "
                f"{own.as_summary()} there, which does not convert",
                do="declare the column with the stream's own type and CAST it in a computed column",
            )
    return list(table.physical_schema.fields)


def _timestamps(table: CatalogTable) -> list[SchemaColumn]:
    """The metadata columns: an element has its timestamp and nothing else."""
    found: list[SchemaColumn] = table.metadata_columns
    for column in found:
        if (column.metadata_key or column.name) != _ROWTIME:
            raise ValidationError(
                f"a stream has no metadata '{column.metadata_key or column.name}'",
                do="use column_by_metadata('rowtime', 'TIMESTAMP_LTZ(3)'), the timestamp of its elements",
            )
        if not isinstance(column.data_type, (TimestampType, LocalZonedTimestampType, VarCharType)):
            raise ValidationError(
                f"the timestamp of elements does not convert to '{column.name}' "
                f"{column.data_type.as_summary() if column.data_type else ''}",
                do="declare the column as TIMESTAMP_LTZ(3) and compute the other one from it",
            )
    if len(found) > 1:
        raise NotSupportedError(
            "two columns for one timestamp", "an element has one", do="copy it in a computed column"
        )
    return found


def _read_fields(fields: Sequence[Field], columns: RowType, places: Sequence[int]) -> tuple[Field, ...]:
    """The columns as the border operator makes them: the stream's own types, a timestamp of milliseconds."""
    from penstock.common.datatypes import DataTypes

    own = [Field(f.name, columns.fields[p].data_type) for f, p in zip(fields, places, strict=False)]
    return (*own, *(Field(f.name, DataTypes.TIMESTAMP_LTZ(3)) for f in fields[len(places) :]))


def _declared(scan: Plan, fields: tuple[Field, ...]) -> Plan:
    """The rows in the types that the schema declares."""
    exprs: list[Rex] = []
    for i, (read, wanted) in enumerate(zip(scan.fields, fields, strict=True)):
        ref = InputRef(read.type, i)
        same = read.type.nullable() == wanted.type.nullable()
        exprs.append(InputRef(wanted.type, i) if same else cast_rex(ref, wanted.type))
    if all(isinstance(e, InputRef) for e in exprs):
        return StreamScan(fields, scan.name, scan.stream) if isinstance(scan, StreamScan) else scan
    return Project(fields, scan, tuple(exprs))


class _MakeTable:
    """Makes the operator between a stream and its table."""

    def __init__(
        self,
        stream: Transformation,
        to_row: _ToRow,
        types: Sequence[DataType],
        required: Sequence[str | None],
        with_timestamp: bool,
    ) -> None:
        self._required = tuple(required)
        self._stream = stream
        self._to_row = to_row
        self._row_type = columns_type(types)
        self._with_timestamp = with_timestamp

    def __call__(self, node: Any) -> Transformation:
        to_row, row_type, with_timestamp = self._to_row, self._row_type, self._with_timestamp
        required = self._required
        return OperatorTransformation(
            node.name,
            [self._stream],
            output_type=table_type((*node.fields, *HIDDEN)),
            parallelism=node.parallelism,
            uid=node.uid,
            operator_factory=lambda: ElementsToTable(to_row, row_type, with_timestamp, required),
        )


class _ToRow:
    """Takes an element apart: the values of the wanted columns, and its kind."""

    def __init__(
        self, columns: RowType, places: Sequence[int], mode: ChangelogMode | None, composite: bool
    ) -> None:
        self._composite = composite
        self._names = columns.field_names()
        self._places = list(places)
        self._width = len(columns.fields)
        self._mode = mode

    def __call__(self, value: Any) -> tuple[tuple[Any, ...], int]:
        values = self._values(value) if self._composite else [value]
        if len(values) != self._width:
            raise ValidationError(
                f"an element of {len(values)} fields where the table has {self._width}: {value!r}"
            )
        kind = value.get_row_kind() if isinstance(value, Row) else RowKind.INSERT
        if self._mode is not None and not self._mode.contains(kind):
            allowed = ", ".join(sorted(str(k) for k in self._mode.kinds))
            raise ValidationError(
                f"a change of kind {kind} where the changelog mode has {allowed}: {value!r}"
            )
        if self._mode is None and kind is not RowKind.INSERT:
            raise ValidationError(
                f"from_data_stream takes rows that are inserted, got a change of kind {kind}: {value!r}",
                do="use from_changelog_stream(...)",
            )
        return tuple([_plain(values[i]) for i in self._places]), _KIND_NUMBERS[kind]

    def _values(self, value: Any) -> list[Any]:
        """The fields in the order of the type; a row with names says itself which is which."""
        named = value._fields if isinstance(value, Row) else None
        if named and set(named) == set(self._names):
            return [value[name] for name in self._names]
        return list(value) if isinstance(value, (Row, tuple, list)) else [value]


def _plain(value: Any) -> Any:
    if isinstance(value, Instant):
        return _EPOCH + dt.timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    return value


# --- a table as a stream ------------------------------------------------------------------------------------


def stream_from_table(
    session: SqlSession,
    environment: Any,
    plan: Plan,
    prefix: str,
    mode: ChangelogMode | None = None,
    last_is_timestamp: bool = False,
) -> DataStream:
    """The table's rows as a stream of `Row`.

    Args:
        last_is_timestamp: The last column is no field of the elements but their timestamp.
        prefix: Before the uids of the table's operators, so that several tables may be in one job.
        mode: The kinds of rows that may come; None: rows are only inserted, or the table is refused.
    """
    from penstock.datastream import DataStream

    # In BATCH mode everything is one epoch, and its net changes are the final rows.
    planner = Planner(session.config, prefix=prefix, one_epoch=not session.streaming)
    stream = planner.query(plan)
    if not planner.one_epoch and stream.retracts and (mode is None or mode == ChangelogMode.insert_only()):
        raise ValidationError(
            "the table is updated and its rows are taken back, which a stream of insertions cannot say "
            f"(updates come from {stream.updated_by})",
            do="use to_changelog_stream(table), whose rows have a kind",
        )
    make = lowering(planner)
    types = [f.type for f in plan.fields]
    shown = plan.fields[:-1] if last_is_timestamp else plan.fields
    time = len(types) - 1 if last_is_timestamp else _time_column(stream)
    leave_out = mode is not None and not mode.contains(RowKind.UPDATE_BEFORE)
    if leave_out and stream.retracts and not stream.keys:
        raise ValidationError(
            "a changelog without -U says by its key which row an update replaces, and this table has no key",
            do="use ChangelogMode.all(), or make a query with a unique key (GROUP BY)",
        )
    leave_out = leave_out and stream.retracts
    to_element = _ToElement(RowType([RowField(f.name, f.type) for f in shown]), leave_out)
    row_type = columns_type(types)
    made = OperatorTransformation(
        "TableToDataStream",
        [make.stream(stream)],
        output_type=_type_info(shown),
        parallelism=make.parallelism(stream),
        operator_factory=lambda: TableToElements(to_element, row_type, time, leave_out),
    )
    environment.register_transformation(made)
    return DataStream(environment, made)


def _time_column(stream: Stream) -> int | None:
    """The row time; a table may have one only when it becomes a stream."""
    found = [i for i, f in enumerate(stream.fields) if f.time == "rowtime"]
    if len(found) > 1:
        raise ValidationError(
            f"the table has several row times ({', '.join(stream.fields[i].name for i in found)}), and an element "
            "has one timestamp",
            do="CAST all but one to TIMESTAMP in the query",
        )
    return found[0] if found else None


class _ToElement:
    """Makes a named row; moments with a zone become instants, rows inside it named rows too.

    -U rows are left out where the mode has none, and so are columns behind those of the type.
    """

    def __init__(self, row_type: RowType, leave_out_before: bool) -> None:
        self._names = row_type.field_names()
        self._width = len(self._names)
        changes = [_to_stream_value(data_type) for data_type in row_type.field_types()]
        self._changes = [(i, change) for i, change in enumerate(changes) if change is not None]
        self._leave_out = leave_out_before

    def __call__(self, values: tuple[Any, ...], kind: int) -> Any:
        if self._leave_out and kind == 1:
            return None
        shown = list(values[: self._width])
        for i, change in self._changes:
            if shown[i] is not None:
                shown[i] = change(shown[i])
        return make_row(shown, self._names, _KINDS[kind])


def _to_stream_value(data_type: DataType) -> Callable[[Any], Any] | None:
    """How a value of a table, which is not None, becomes one of a stream; None: it is the same."""
    if isinstance(data_type, LocalZonedTimestampType):
        return _instant
    if isinstance(data_type, RowType):
        to_row = _ToElement(data_type, False)
        return lambda fields: to_row(tuple(fields), 0)
    inside = data_type.element_type if isinstance(data_type, ArrayType) else None
    inside = data_type.value_type if isinstance(data_type, MapType) else inside
    change = None if inside is None else _to_stream_value(inside)
    if change is None:
        return None
    each = functools.partial(_unless_none, change)
    if isinstance(data_type, ArrayType):
        return lambda items: [each(item) for item in items]
    return lambda entries: {key: each(value) for key, value in entries.items()}


def _unless_none(change: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else change(value)


def _instant(moment: dt.datetime) -> Instant:
    since = moment.replace(tzinfo=None) - _EPOCH
    return Instant(since.days * 86_400 + since.seconds, since.microseconds * 1000)


def _type_info(fields: Sequence[Field]) -> TypeInformation:
    return stream_type_of(RowType([RowField(f.name, f.type) for f in fields]))


def converted(plan: Plan, schema: Schema | None) -> tuple[Plan, bool]:
    """The table in the columns of a target schema: matched by position, cast where that loses nothing.

    Computed columns of the schema are none of the stream's.
    Also whether the last column is the schema's metadata 'rowtime', the timestamp of the elements.
    """
    if schema is None:
        return plan, False
    table = CatalogTable(schema=checked_schema(schema), options={"connector": "datastream"})
    timestamps = _timestamps(table)
    wanted = [c for c in schema.columns if c in timestamps or c.is_physical]
    if any(c.is_physical for c in wanted):
        plan = _timestamps_last(_in_columns(plan, wanted), wanted)
    return plan, bool(timestamps)


def _timestamps_last(plan: Plan, columns: Sequence[SchemaColumn]) -> Plan:
    order = sorted(range(len(columns)), key=lambda i: columns[i].is_metadata)
    if order == list(range(len(columns))):
        return plan
    fields = [plan.fields[i] for i in order]
    refs = tuple(InputRef(f.type, i, f.time) for i, f in zip(order, fields, strict=True))
    return Project(tuple(fields), plan, refs)


def _in_columns(plan: Plan, wanted: Sequence[SchemaColumn]) -> Plan:
    if len(wanted) != len(plan.fields):
        raise ValidationError(
            f"the schema has {len(wanted)} columns and the table {len(plan.fields)}: "
            f"{', '.join(f.name for f in plan.fields)}"
        )
    exprs: list[Rex] = []
    fields: list[Field] = []
    for i, (column, field) in enumerate(zip(wanted, plan.fields, strict=True)):
        target = column.data_type
        assert target is not None
        if not implicitly_castable(field.type, target):
            raise ValidationError(
                f"column '{field.name}' of the table is {field.type.as_summary()}, which does not convert to "
                f"'{column.name}' {target.as_summary()} of the schema"
            )
        ref = InputRef(field.type, i, field.time)
        same = field.type.nullable() == target.nullable()
        exprs.append(ref if same else cast_rex(ref, target))
        fields.append(Field(column.name, field.type if same else target, field.time if same else ""))
    return Project(tuple(fields), plan, tuple(exprs))

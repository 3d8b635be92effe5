"""Linear SQL between two operators: on Arrow columns where that is exact, else by Catalyst, and Python functions.

A linear plan is a chain of steps over one input. Each becomes a piece:

    on columns      `programs.ColumnSteps`, inside the Python task that has the rows anyway
    Python calls    users' functions and what must differ from row to row or epoch to epoch (UUID, processing time);
                    their arguments are computed before, as columns
    Catalyst        everything else: one Spark SQL text for neighbouring steps (`graph.CatalystSegment`)

Going through Catalyst costs two more processes and about 100 ms per epoch on a small machine, so a step on columns
is only given to Catalyst if its neighbours on both sides are there too.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.errors import InvariantError
from penstock.common.ids import MIN_WATERMARK
from penstock.common.table_type import TableTypeInfo
from penstock.formats.arrow_rows import columns_type
from penstock.graph.transformations import (
    CatalystSegment,
    OperatorTransformation,
    Partitioner,
    PartitionerKind,
    PartitionTransformation,
    Transformation,
)
from penstock.runtime.tables.linear import LinearTableOperator, TableProgram
from penstock.sql.arrow import Compiler, Node, apply, compile_columns, register
from penstock.sql.arrow.compiler import type_of
from penstock.sql.async_calls import Waiting
from penstock.sql.functions.text import spark_type
from penstock.sql.plan.algebra import (
    DataFrameScan,
    Field,
    Fields,
    Filter,
    Plan,
    Project,
    SetOp,
    TableFunctionScan,
)
from penstock.sql.plan.plan_rexes import rexes
from penstock.sql.plan.rex import Call, Const, InputRef, Rex, UdfCall, transform, walk
from penstock.sql.plan.rex_facts import all_columns
from penstock.sql.spark.text import SparkWriter
from penstock.sql.streaming.epoch_time import is_epoch_time
from penstock.sql.streaming.physical import HIDDEN, PhysicalNode, WatermarkText
from penstock.sql.streaming.programs import (
    Calls,
    ColumnSteps,
    EpochSeconds,
    EpochTime,
    PythonCall,
    Rand,
    ScalarCall,
    TableFunctionRows,
    Uuid,
)

_VIEW = "__penstock_view__"
_WATERMARK = "$WATERMARK"
_RANDOM = ("RAND", "RAND_INTEGER", "UUID")
_RELATION = "SELECT {columns} FROM " + _VIEW


def linear_parts(plan: Plan) -> list[tuple[PhysicalNode, list[Plan]]]:
    """The parts of a UNION ALL, each as the node it reads and the steps over it, innermost first."""
    if isinstance(plan, DataFrameScan):
        return [(plan.source, [])]
    if isinstance(plan, SetOp) and plan.kind == "UNION" and plan.all:
        return [*linear_parts(plan.left), *linear_parts(plan.right)]
    if len(plan.inputs) != 1:
        raise InvariantError(f"{plan.describe()} is not linear")
    return [(node, [*steps, plan]) for node, steps in linear_parts(plan.inputs[0])]


@dataclass
class Piece:
    """A step as it will run: a program, or a plan for Catalyst. `fields` are all columns that come out."""

    plan: Plan | None
    program: TableProgram | None
    made: Fields = ()

    @property
    def fields(self) -> Fields:
        return self.plan.fields if self.plan is not None else self.made

    @property
    def run_by(self) -> str:
        if self.program is None:
            return "Catalyst"
        return "Arrow" if isinstance(self.program, ColumnSteps) else "Python"

    @property
    def movable(self) -> bool:
        """Whether Catalyst could do it as well."""
        return self.plan is not None


@dataclass
class Linear:
    """Lowers linear steps. `prepare` readies a Spark session for the texts.

    Attributes:
        hidden: How many columns at the end are hidden; tables of a batch query have none.
    """

    zone: str
    waiting: Waiting = field(default_factory=Waiting)
    prepare: Callable[[Any, str], None] = lambda session, text: None
    hidden: int = len(HIDDEN)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def over(
        self, source: Transformation, fields: Fields, steps: Sequence[Plan], parallelism: int
    ) -> Transformation:
        """The steps over a transformation whose columns, hidden ones included, are `fields`."""
        pieces = _settled([piece for step in steps for piece in self._pieces(step)])
        for in_catalyst, group in itertools.groupby(pieces, key=lambda p: p.program is None):
            members = list(group)
            if in_catalyst:
                source, fields = self._segment(
                    source, fields, [m.plan for m in members if m.plan], parallelism
                )
            else:
                programs = _joined([m.program for m in members if m.program is not None])
                fields = members[-1].fields
                source = self._operator("Calc", source, programs, fields, parallelism)
        return source

    def programs(self, steps: Sequence[Plan]) -> tuple[list[TableProgram], int]:
        """What does as many of the steps as need no Catalyst, and how many these are."""
        programs: list[TableProgram] = []
        for done, (step, read) in enumerate(zip(steps, _read_later(steps), strict=True)):
            pieces = self._pieces(step, read)
            if any(piece.program is None for piece in pieces):
                return _joined(programs), done
            programs += [piece.program for piece in pieces if piece.program is not None]
        return _joined(programs), len(steps)

    def run_by(self, steps: Sequence[Plan]) -> list[str]:
        """Who runs each step if they are lowered together: Arrow, calls of Python functions, Catalyst, or several."""
        found = [self._pieces(step) for step in steps]
        _settled([piece for pieces in found for piece in pieces])
        return [" and ".join(dict.fromkeys(piece.run_by for piece in pieces)) for pieces in found]

    def _operator(
        self,
        name: str,
        source: Transformation,
        programs: Sequence[TableProgram],
        fields: Fields,
        parallelism: int,
    ) -> Transformation:
        return OperatorTransformation(
            name,
            [source],
            output_type=table_type(fields),
            parallelism=parallelism,
            operator_factory=lambda: LinearTableOperator(programs),
        )

    def _segment(
        self, source: Transformation, fields: Fields, steps: Sequence[Plan], parallelism: int
    ) -> tuple[Transformation, Fields]:
        text = catalyst_text(fields, steps)
        out = steps[-1].fields
        segment = CatalystSegment(
            text,
            input_schema(fields),
            columns_type([f.type for f in fields[: -len(HIDDEN)]]),
            columns_type([f.type for f in out[: -len(HIDDEN)]]),
            _Prepare(self.prepare, text),
            tuple(steps),
        )
        partitioner = Partitioner(PartitionerKind.CATALYST, segment=segment)
        through = PartitionTransformation("Catalyst", [source], partitioner=partitioner)
        return self._operator("Calc(Catalyst)", through, (), out, parallelism), out

    # -- one step ------------------------------------------------------------------------------------

    def _pieces(self, step: Plan, read: Container[int] | None = None) -> list[Piece]:
        """The pieces of a step; `read` are those of its columns that later steps read, None: maybe all."""
        if isinstance(step, Project):
            return self._project(step)
        if isinstance(step, Filter):
            return self._filter(step)
        if isinstance(step, TableFunctionScan):
            return self._table_function(step, read)
        return [Piece(step, None)]

    def _project(self, step: Project) -> list[Piece]:
        if not any(map(_needs_python, step.exprs)):
            return [self._columns("project", step, step.exprs)]
        below = step.input.fields
        called, exprs, fields = self._called(below, step.exprs)
        return [*called, *self._project(Project(step.fields, _leaf(fields), tuple(exprs)))]

    def _filter(self, step: Filter) -> list[Piece]:
        if not _needs_python(step.condition):
            return [self._columns("filter", step, (step.condition,))]
        below = step.input.fields
        called, [condition], fields = self._called(below, (step.condition,))
        refs = _refs(below, len(below) - self.hidden, len(fields) - self.hidden)
        return [
            *called,
            *self._filter(Filter(fields, _leaf(fields), condition)),
            *self._project(Project(below, _leaf(fields), refs)),
        ]

    def _columns(self, kind: str, step: Plan, exprs: Sequence[Rex]) -> Piece:
        compiled = compile_columns([_plain(e) for e in exprs], self.zone)
        if compiled is None:
            return Piece(step, None)
        return Piece(step, ColumnSteps(((kind, tuple(compiled)),)))

    def _called(self, below: Fields, exprs: Sequence[Rex]) -> tuple[list[Piece], list[Rex], Fields]:
        """Computes the innermost Python calls of some expressions into columns before the hidden ones.

        Gives the pieces that do it, the expressions over what comes out, and its columns.
        """
        width = len(below) - self.hidden
        calls = list(dict.fromkeys(c for e in exprs for c in _innermost(e)))
        arguments = [a for call in calls for a in _arguments(call)]
        added = tuple(Field(f"$arg{i}", a.type) for i, a in enumerate(arguments))
        fields: Fields = (*below[:width], *added, *below[width:])
        pieces: list[Piece] = []
        if arguments:
            shown = (*_refs(below, width, width)[:width], *arguments, *_refs(below, width, width)[width:])
            pieces = self._project(Project(fields, _leaf(below), shown))
        programs, at = [], width
        for call in calls:
            count = len(_arguments(call))
            programs.append(self._python_call(call, list(range(at, at + count))))
            at += count
        results = tuple(Field(f"$call{i}", c.type) for i, c in enumerate(calls))
        fields = (*fields[:at], *results, *fields[at:])
        pieces.append(Piece(None, Calls(programs, self.hidden), fields))
        places: dict[Rex, Rex] = {c: InputRef(c.type, at + i) for i, c in enumerate(calls)}
        moved = at + len(calls) - width
        return pieces, [_replaced(e, places, width, moved) for e in exprs], fields

    def _python_call(self, call: Rex, columns: list[int]) -> PythonCall:
        if is_epoch_time(call):
            return EpochTime()
        if isinstance(call, UdfCall):
            return ScalarCall(call.function, columns, [a.type for a in call.args], self.zone, self.waiting)
        assert isinstance(call, Call)
        if call.name in ("UUID", "UNIX_TIMESTAMP"):
            return Uuid() if call.name == "UUID" else EpochSeconds()
        seeds = [a.value for a in call.args if isinstance(a, Const)]
        if call.name == "RAND":
            return Rand(seeds[0] if seeds else None)
        return Rand(seeds[0] if len(call.args) > 1 else None, columns[-1])

    def _table_function(self, step: TableFunctionScan, read: Container[int] | None) -> list[Piece]:
        """Arguments become columns first; the function's columns are appended behind the hidden ones."""
        below = step.input.fields
        width = len(below) - self.hidden
        added = tuple(Field(f"$arg{i}", a.type) for i, a in enumerate(step.args))
        wide: Fields = (*below[:width], *added, *below[width:])
        refs = _refs(below, width, width)
        pieces = self._project(Project(wide, _leaf(below), (*refs[:width], *step.args, *refs[width:])))
        columns = range(width, width + len(step.args))
        unread = [i for i in range(width) if read is not None and i not in read]
        program = TableFunctionRows(
            step.function,
            columns,
            [a.type for a in step.args],
            [f.type for f in step.function_fields],
            step.outer,
            self.zone,
            unread=[*unread, *columns],
        )
        made: Fields = (*wide, *step.function_fields)
        back = _refs(below, width, width + len(step.args))
        appended = tuple(InputRef(f.type, len(wide) + i) for i, f in enumerate(step.function_fields))
        return [
            *pieces,
            Piece(None, program, made),
            *self._project(Project(step.fields, _leaf(made), (*back, *appended))),
        ]


# --- pieces -------------------------------------------------------------------------------------------------


def _settled(pieces: list[Piece]) -> list[Piece]:
    """Steps on columns between two of Catalyst go there too, and the one that puts hidden columns last again."""
    for before, piece in itertools.pairwise(pieces):
        appends = before.program is None and not isinstance(before.plan, (Project, Filter))
        if appends and piece.movable:
            piece.program = None
    catalyst = [i for i, p in enumerate(pieces) if p.program is None]
    for first, last in itertools.pairwise(catalyst):
        between = pieces[first + 1 : last]
        if all(p.movable for p in between):
            for piece in between:
                piece.program = None
    return pieces


def _read_later(steps: Sequence[Plan]) -> list[set[int] | None]:
    """Which columns of each step the steps after it read; None where that may be all."""
    found: list[set[int] | None] = []
    read: set[int] | None = None
    for step in reversed(steps):
        found.append(read)
        if isinstance(step, Project):
            read = all_columns(step.exprs)
        elif isinstance(step, (Filter, TableFunctionScan)):
            read = None if read is None else read | all_columns(rexes(step))
        else:
            read = None
    return found[::-1]


def _joined(programs: Sequence[TableProgram]) -> list[TableProgram]:
    """Neighbouring steps on columns as one program."""
    made: list[TableProgram] = []
    for program in programs:
        last = made[-1] if made else None
        if isinstance(program, ColumnSteps) and isinstance(last, ColumnSteps):
            made[-1] = ColumnSteps((*last.steps, *program.steps))
        else:
            made.append(program)
    return made


# --- expressions --------------------------------------------------------------------------------------------


def _needs_python(rex: Rex) -> bool:
    return any(map(_is_python, walk(rex)))


def _is_python(rex: Rex) -> bool:
    if isinstance(rex, UdfCall):
        return not isinstance(rex.function, WatermarkText)
    if not isinstance(rex, Call):
        return False
    return rex.name in _RANDOM or (rex.name == "UNIX_TIMESTAMP" and not rex.args)


def _arguments(call: Rex) -> tuple[Rex, ...]:
    """What has to be computed before a call: the seed of a random number is a constant."""
    if isinstance(call, UdfCall):
        return call.args
    assert isinstance(call, Call)
    return call.args[-1:] if call.name == "RAND_INTEGER" else ()


def _innermost(rex: Rex) -> list[Rex]:
    """Python calls whose arguments need no Python."""
    found = [c for child in rex.children() for c in _innermost(child)]
    return found or ([rex] if _is_python(rex) else [])


def _replaced(rex: Rex, places: Mapping[Rex, Rex], width: int, moved: int) -> Rex:
    """The expression over the wider table: calls are columns now, hidden columns have moved."""

    def change(part: Rex) -> Rex | None:
        if part in places:
            return places[part]
        if isinstance(part, InputRef) and part.index >= width:
            return replace(part, index=part.index + moved)
        return None

    return transform(rex, change)


def _plain(rex: Rex) -> Rex:
    """For the Arrow compiler: a watermark as a value of the row time's type is a function by name."""

    def change(part: Rex) -> Rex | None:
        if isinstance(part, UdfCall) and isinstance(part.function, WatermarkText):
            return Call(part.type, _WATERMARK, part.args)
        return None

    return transform(rex, change)


def _build_watermark(call: Call, compiler: Compiler) -> Node:
    """Milliseconds as a moment of the row time's type; NULL before the first watermark."""
    kind = type_of(call)
    return apply(functools.partial(_moment, kind), kind, compiler.node(call.args[0]))


def _moment(kind: pa.DataType, millis: pa.Array) -> pa.Array:
    numbers = np.asarray(millis)
    missing = numbers == MIN_WATERMARK
    micros = np.where(missing, 0, numbers) * 1000
    return pa.array(micros, pa.int64(), mask=missing).cast(kind)


register(_WATERMARK, _build_watermark)


def _refs(fields: Fields, width: int, moved: int) -> tuple[Rex, ...]:
    """All columns of a table, whose hidden ones stand `moved - width` places further on."""
    visible = [InputRef(f.type, i, f.time) for i, f in enumerate(fields[:width])]
    first = moved if moved >= width else width
    hidden = [InputRef(f.type, first + i) for i, f in enumerate(fields[width:])]
    return (*visible, *hidden)


def _leaf(fields: Fields) -> DataFrameScan:
    return DataFrameScan(fields, "")


# --- Catalyst -----------------------------------------------------------------------------------------------


def table_type(fields: Fields) -> TableTypeInfo:
    """The type of edges that carry these columns, the last of which are hidden."""
    return TableTypeInfo(columns_type([f.type for f in fields[: -len(HIDDEN)]]))


def input_schema(fields: Fields) -> str:
    """Columns of a segment's input as Spark DDL."""
    shown = [f"c{i} {spark_type(f.type)}" for i, f in enumerate(fields[: -len(HIDDEN)])]
    return ", ".join([*shown, *(f"{f.name} {spark_type(f.type)}" for f in HIDDEN)])


def catalyst_text(fields: Fields, steps: Sequence[Plan]) -> str:
    """Steps as one Spark SQL text over the view `{view}`."""
    names = [*(f"c{i}" for i in range(len(fields) - len(HIDDEN))), *(f.name for f in HIDDEN)]
    columns = ", ".join(f"{name} AS c{i}" for i, name in enumerate(names))
    plan: Plan = DataFrameScan(fields, _RELATION.format(columns=columns))
    for step in steps:
        plan = replace(step, input=plan)  # type: ignore[call-arg]
    text = SparkWriter(_no_scan, _udf_text).text(plan)
    out = plan.fields
    typed = ", ".join(f"CAST(c{i} AS {spark_type(f.type)}) AS c{i}" for i, f in enumerate(out))
    return f"SELECT {typed} FROM ({text})".replace(_VIEW, "{view}")


def _udf_text(call: Any, args: list[str]) -> str:
    if isinstance(call.function, WatermarkText):
        return call.function.text(*args)
    raise InvariantError(f"{call.name} in a text of Catalyst")


def _no_scan(scan: Any) -> str:
    raise InvariantError("a table scan inside a Spark SQL segment")


@dataclass(frozen=True)
class _Prepare:
    prepare: Callable[[Any, str], None]
    text: str

    def __call__(self, session: Any) -> None:
        self.prepare(session, self.text)

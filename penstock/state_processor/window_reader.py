"""Reading the contents of windows: `SavepointReader.window(assigner)`.

The window operator keeps its contents in one of several ways, and which one is the program's business no more than
it is the reader's:

    window-contents      a value or list per key and window; of merging windows under the first window's name
    session-windows      per key a list of (start, end, accumulator)
    window-panes         per key accumulators of stretches of time, of which sliding windows are merged

Windows that have fired and been dropped are not there, as they are not in the job.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from functools import partial, reduce
from math import gcd
from typing import TYPE_CHECKING, Any, NamedTuple

import cloudpickle

from penstock.checkpoint.contents import KeyedShare, OperatorContents, StateContents
from penstock.checkpoint.entries import KeyedStateView
from penstock.common.datatypes import DataTypes
from penstock.common.errors import CheckpointError, ValidationError
from penstock.common.typeinfo import TypeInformation
from penstock.state.schema import StateSchema, declared_type, element_types
from penstock.state_processor.columns import (
    Column,
    Decimals,
    columns_of,
    namespace_columns,
    namespace_values,
    row_columns,
)
from penstock.state_processor.functions import WindowReaderFunction
from penstock.state_processor.identifiers import OperatorIdentifier, uid_of
from penstock.state_processor.spark_tasks import frame_of
from penstock.windowing.sliding import SlidingEventTimeWindows
from penstock.windowing.windows import TimeWindow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.windowing.assigner import WindowAssigner

CONTENTS, SESSIONS, PANES, MERGED = "window-contents", "session-windows", "window-panes", "merging-window-set"


class WindowSavepointReader:
    """Reads windows of one assigner. Without a reader function the result is key, window and value."""

    def __init__(
        self,
        spark: SparkSession,
        contents: StateContents,
        assigner: WindowAssigner,
        decimals: Decimals = Decimals.DECIMAL,
    ) -> None:
        self._spark = spark
        self._contents = contents
        self._assigner = assigner
        self._decimals = decimals
        self._timestamped = False

    def evictor(self) -> WindowSavepointReader:
        """The operator has an evictor: its elements are kept with their timestamps, which are left out here."""
        self._timestamped = True
        return self

    def reduce(
        self,
        uid: str | OperatorIdentifier,
        function: Any,
        reader_function: WindowReaderFunction | None = None,
        key_type: TypeInformation | None = None,
        reduce_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataFrame:
        """Windows that keep one reduced element."""
        combine = getattr(function, "reduce", function)
        how = _How(combine, None, False)
        return self._frame(uid, how, reader_function, key_type, reduce_type, output_type)

    def aggregate(
        self,
        uid: str | OperatorIdentifier,
        aggregate_function: Any,
        reader_function: WindowReaderFunction | None = None,
        key_type: TypeInformation | None = None,
        acc_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataFrame:
        """Windows that keep an accumulator; the value is the function's result for it.

        `output_type` is the type of the result, or of what the reader function yields.
        """
        how = _How(aggregate_function.merge, aggregate_function.get_result, False)
        return self._frame(uid, how, reader_function, key_type, None, output_type)

    def process(
        self,
        uid: str | OperatorIdentifier,
        reader_function: WindowReaderFunction | None = None,
        key_type: TypeInformation | None = None,
        state_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataFrame:
        """Windows that keep all their elements; the value is a list without a reader function."""
        how = _How(None, None, self._timestamped)
        return self._frame(uid, how, reader_function, key_type, None, output_type)

    def _frame(
        self,
        uid: str | OperatorIdentifier,
        how: _How,
        function: WindowReaderFunction | None,
        key_type: TypeInformation | None,
        value_type: TypeInformation | None,
        output_type: TypeInformation | None,
    ) -> DataFrame:
        operator = self._contents.operator(uid_of(uid))
        stored = _stored(operator)
        key_type = key_type or (declared_type(stored.key_schema) if stored.key_schema is not None else None)
        read = partial(_windows, self._assigner, stored, how)
        where, decimals = f"operator {operator.uid!r}, windows", self._decimals
        if function is not None:
            columns = [Column("value", DataTypes.STRING(), str)]
            if output_type is not None:
                columns = row_columns(output_type, decimals)
            whole = len(columns) == 1 and columns[0].name == "value"
            tasks = [partial(_by_function, function, read, share, whole) for share in operator.shares]
            return frame_of(self._spark, tasks, columns, where)
        value_type = output_type or value_type or _value_type(stored, how)
        value = columns_of("value", value_type, decimals)[:1]
        key = columns_of("key", key_type, decimals)[:1]
        tasks = [partial(_plain_rows, read, share, how) for share in operator.shares]
        return frame_of(self._spark, tasks, [*key, *namespace_columns(), *value], where)


class _How(NamedTuple):
    """How contents are combined and shown; without `combine` they are lists of elements."""

    combine: Callable[[Any, Any], Any] | None
    result: Callable[[Any], Any] | None
    timestamped: bool


class _Window(NamedTuple):
    key: Any
    window: Any
    elements: list[Any]


Read = Callable[[KeyedShare], Iterator[_Window]]


def _stored(operator: OperatorContents) -> KeyedStateView:
    schemas = operator.schemas()
    for name in (PANES, SESSIONS, CONTENTS):
        if name.encode() in schemas:
            return KeyedStateView(operator, name, schemas=schemas)
    raise CheckpointError(f"operator {operator.uid!r} has no windows with contents")


def _value_type(stored: KeyedStateView, how: _How) -> TypeInformation | None:
    """What is shown if nobody says: what was declared for the contents, as far as it is not combined further."""
    schema: StateSchema | None = stored.schema
    if schema is None or how.result is not None or stored.state != CONTENTS or how.timestamped:
        return None
    return declared_type(schema) if schema.kind == "list" else element_types(schema)[1]


def _windows(
    assigner: WindowAssigner, stored: KeyedStateView, how: _How, share: KeyedShare
) -> Iterator[_Window]:
    if stored.state == PANES:
        found = _from_panes(assigner, stored, how, share)
    elif stored.state == SESSIONS:
        found = _from_sessions(stored, share)
    else:
        found = _from_contents(stored, share, how)
    for key, window, elements in found:
        yield _Window(key, window, elements if how.result is None else [how.result(e) for e in elements])


def _from_contents(stored: KeyedStateView, share: KeyedShare, how: _How) -> Iterator[_Window]:
    windows = _merged_windows(stored, share)
    for entry in stored.entries(share):
        window = windows.get((entry.key_bytes, entry.namespace), entry.namespace)
        elements = entry.value if stored.kind == "list" else [entry.value]
        yield _Window(entry.key, window, [e[0] for e in elements] if how.timestamped else elements)


def _merged_windows(stored: KeyedStateView, share: KeyedShare) -> dict[tuple[bytes, Any], Any]:
    """Which window the contents under a window's name belong to now."""
    if MERGED not in stored.reader.schemas:
        return {}
    sets = KeyedStateView(stored.operator, MERGED)
    return {
        (entry.key_bytes, state_window): window
        for entry in sets.entries(share)
        for window, state_window in dict(entry.value or ()).items()
    }


def _from_sessions(stored: KeyedStateView, share: KeyedShare) -> Iterator[_Window]:
    for entry in stored.entries(share):
        for start, end, accumulator in entry.value:
            yield _Window(entry.key, TimeWindow(start, end), [accumulator])


def _from_panes(
    assigner: WindowAssigner, stored: KeyedStateView, how: _How, share: KeyedShare
) -> Iterator[_Window]:
    if not isinstance(assigner, SlidingEventTimeWindows) or how.combine is None:
        raise ValidationError(
            f"operator {stored.operator.uid!r} keeps panes of sliding windows",
            do="read it with window(SlidingEventTimeWindows.of(...)).aggregate(...) or .reduce(...)",
        )
    timers = KeyedStateView(stored.operator, "event", timers=True)
    first: dict[bytes, int] = {}
    for timer in timers.entries(share):
        assert timer.time_ms is not None
        first[timer.key_bytes] = min(timer.time_ms, first.get(timer.key_bytes, timer.time_ms))
    panes: dict[bytes, tuple[Any, dict[int, Any]]] = {}
    for entry in stored.entries(share):
        panes.setdefault(entry.key_bytes, (entry.key, {}))[1].update(entry.value)
    for key_bytes, (key, of_key) in panes.items():
        for window, elements in _slid(assigner, of_key, first.get(key_bytes, 0)):
            yield _Window(key, window, [reduce(how.combine, elements)])


def _slid(
    assigner: SlidingEventTimeWindows, panes: dict[int, Any], due_ms: int
) -> Iterator[tuple[TimeWindow, list[Any]]]:
    """The windows that have panes and are still to fire, and the accumulators of those."""
    size, slide, offset = assigner.size_ms, assigner.slide_ms, assigner.offset_ms
    pane_ms = gcd(size, slide)
    starts = {
        start
        for pane in panes
        for start in range(pane - (pane - offset) % slide, pane - size, -slide)
        if start + size > pane
    }
    for start in sorted(starts):
        if start + size - 1 >= due_ms:
            inside = range(start, start + size, pane_ms)
            yield TimeWindow(start, start + size), [panes[p] for p in inside if p in panes]


def _plain_rows(read: Read, share: KeyedShare, how: _How) -> Iterator[list[Any]]:
    for key, window, elements in read(share):
        yield [key, *namespace_values(window), elements if how.combine is None else elements[0]]


def _by_function(
    function: WindowReaderFunction, read: Read, share: KeyedShare, whole: bool
) -> Iterator[list[Any]]:
    function = pickle.loads(cloudpickle.dumps(function))
    for key, window, elements in read(share):
        for result in function.read_window(key, _Context(window), elements) or ():
            yield [result] if whole else list(result)


class _Context(WindowReaderFunction.Context):
    def __init__(self, window: Any) -> None:
        self._window = window

    def window(self) -> Any:
        return self._window

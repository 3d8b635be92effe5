"""State for a new job, from any dataset: `OperatorTransformation.bootstrap_with(data)`.

    accounts = (
        OperatorTransformation.bootstrap_with(spark.table("accounts"))
        .key_by(lambda row: row["id"], key_type=Types.LONG())
        .transform(AccountBootstrapper())              # a KeyedStateBootstrapFunction
    )
    SavepointWriter.new_savepoint(env, 128).with_operator("accounts", accounts).write("/savepoints/first")

The functions run in Spark tasks, each over the keys of one range of key groups; what a task has filled it writes into
the savepoint itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cloudpickle

from penstock.checkpoint.handles import OperatorSubtaskState
from penstock.checkpoint.savepoint import KeyedParts, StateShare, write_share
from penstock.common.codecs import compile_codec
from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.common.key_groups import subtask_for_key
from penstock.common.typeinfo import TypeInformation
from penstock.operators.base import Operator
from penstock.operators.function_operator import bound
from penstock.operators.process import KeyedProcessOperator, ProcessOperator
from penstock.operators.window_factory import build_window_operator
from penstock.state.descriptors import BroadcastState, MapStateDescriptor
from penstock.state_processor.functions import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    StateBootstrapFunction,
)
from penstock.state_processor.operator_run import Place, run_keyed, run_unkeyed, scratch_storage
from penstock.state_processor.spark_tasks import elements_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.windowing.assigner import WindowAssigner
    from penstock.windowing.trigger import Trigger

__all__ = [
    "KeyedOperatorTransformation",
    "OneInputOperatorTransformation",
    "OperatorTransformation",
    "StateBootstrapTransformation",
    "WindowedOperatorTransformation",
]


@dataclass(frozen=True)
class Filled:
    """The state of an operator, as a bootstrap has left it in a savepoint's folder."""

    subtasks: tuple[OperatorSubtaskState, ...]
    keyed: KeyedParts = dataclasses.field(default_factory=KeyedParts)


@dataclass(frozen=True)
class StateBootstrapTransformation:
    """How the state of one operator is made; `SavepointWriter.with_operator` takes it."""

    data: Any
    operator: Operator
    key_selector: Callable[[Any], Any] | None = None
    key_type: TypeInformation | None = None
    timestamps: Callable[[Any], int] | None = None
    parallelism: int | None = None

    def set_parallelism(self, parallelism: int) -> StateBootstrapTransformation:
        """How many tasks fill the state; as many as Spark runs at once unless set."""
        if parallelism < 1:
            raise ValidationError(f"a parallelism of {parallelism}", do="use at least 1")
        return dataclasses.replace(self, parallelism=parallelism)

    def fill(self, spark: SparkSession, uid: str, root: str, max_parallelism: int) -> Filled:
        """Runs the functions; keyed state is in `root` afterwards."""
        wanted = self.parallelism or spark.sparkContext.defaultParallelism
        if self.key_selector is None:
            return self._fill_operator_state(spark, uid, wanted, max_parallelism)
        return self._fill_keyed_state(spark, uid, root, min(wanted, max_parallelism), max_parallelism)

    def _fill_keyed_state(
        self, spark: SparkSession, uid: str, root: str, parallelism: int, max_parallelism: int
    ) -> Filled:
        packed = cloudpickle.dumps((self.operator, self.key_selector, self.key_type, self.timestamps))

        def place(elements: Iterator[Any]) -> Iterator[tuple[int, Any]]:
            _, select, key_type, _ = cloudpickle.loads(packed)
            encode = compile_codec(key_type).encode_key
            for element in elements:
                yield subtask_for_key(encode(select(element)), max_parallelism, parallelism), element

        def fill(subtask: int, pairs: Iterator[tuple[int, Any]]) -> Iterator[bytes]:
            operator, _, key_type, timestamp = cloudpickle.loads(packed)
            elements = ((value, None if timestamp is None else timestamp(value)) for _, value in pairs)
            where = Place(uid, subtask, parallelism, max_parallelism)
            with scratch_storage() as (storage, folder):
                handle = run_keyed(operator, where, key_type, elements, storage, folder)
                if handle.files:
                    yield cloudpickle.dumps(write_share(StateShare(root, uid, subtask, handle))[1])

        placed = elements_of(spark, self.data).mapPartitions(place).partitionBy(parallelism, int)
        keyed = KeyedParts()
        for part in placed.mapPartitionsWithIndex(fill).collect():
            keyed = keyed.plus(cloudpickle.loads(part))
        return Filled((OperatorSubtaskState(),) * parallelism, keyed)

    def _fill_operator_state(
        self, spark: SparkSession, uid: str, parallelism: int, max_parallelism: int
    ) -> Filled:
        parallelism = 1 if isinstance(self.operator, _BroadcastBootstrap) else parallelism
        packed = cloudpickle.dumps(self.operator)

        def fill(subtask: int, elements: Iterator[Any]) -> Iterator[bytes | None]:
            where = Place(uid, subtask, parallelism, max_parallelism)
            yield run_unkeyed(cloudpickle.loads(packed), where, elements)

        rdd = elements_of(spark, self.data)
        rdd = rdd.coalesce(1) if parallelism == 1 else rdd.repartition(parallelism)
        states = rdd.mapPartitionsWithIndex(fill).collect()
        return Filled(tuple(OperatorSubtaskState(operator_state=state) for state in states))


class OperatorTransformation:
    """Where bootstraps begin."""

    @staticmethod
    def bootstrap_with(data: Any) -> OneInputOperatorTransformation:
        """A dataset: a Spark DataFrame (its rows come as named rows), an RDD, a collection, a bounded DataStream."""
        return OneInputOperatorTransformation(data)


class OneInputOperatorTransformation:
    """A dataset that fills the state of an operator."""

    def __init__(self, data: Any, timestamps: Callable[[Any], int] | None = None) -> None:
        self._data = data
        self._timestamps = timestamps

    def assign_timestamps(self, assigner: Any) -> OneInputOperatorTransformation:
        """Timestamps for windows: a TimestampAssigner, or a function of the element that gives milliseconds."""
        extract = getattr(assigner, "extract_timestamp", None)
        function = assigner if extract is None else lambda value: extract(value, -1)
        return OneInputOperatorTransformation(self._data, function)

    def key_by(
        self, key_selector: Any, key_type: TypeInformation | None = None
    ) -> KeyedOperatorTransformation:
        """Keys as in the job: the selector and the declared type must be the ones that it has."""
        select = bound(key_selector, "get_key")
        if isinstance(key_selector, str):
            name = key_selector
            select = lambda row: row[name]  # noqa: E731
        return KeyedOperatorTransformation(self._data, self._timestamps, select, key_type)

    def transform(
        self, function: StateBootstrapFunction | BroadcastStateBootstrapFunction
    ) -> StateBootstrapTransformation:
        """Fills operator state or broadcast state."""
        if isinstance(function, BroadcastStateBootstrapFunction):
            return StateBootstrapTransformation(self._data, _BroadcastBootstrap(function))
        if not isinstance(function, StateBootstrapFunction):
            raise TypeMismatchError(
                f"expected a StateBootstrapFunction or BroadcastStateBootstrapFunction, got {function!r}",
                do="call key_by(...) first to fill keyed state",
            )
        return StateBootstrapTransformation(self._data, ProcessOperator(function))


class KeyedOperatorTransformation:
    """A keyed dataset that fills keyed state."""

    def __init__(
        self,
        data: Any,
        timestamps: Callable[[Any], int] | None,
        select: Callable[[Any], Any],
        key_type: TypeInformation | None,
    ) -> None:
        self._data, self._timestamps = data, timestamps
        self._select, self._key_type = select, key_type

    def transform(self, function: KeyedStateBootstrapFunction) -> StateBootstrapTransformation:
        """Fills keyed state and timers."""
        if not isinstance(function, KeyedStateBootstrapFunction):
            raise TypeMismatchError(f"expected a KeyedStateBootstrapFunction, got {function!r}")
        return self._made(KeyedProcessOperator(function, self._select))

    def window(self, assigner: WindowAssigner) -> WindowedOperatorTransformation:
        """Fills windows, as the job would have with these elements before anything fired."""
        return WindowedOperatorTransformation(self, assigner)

    def _made(self, operator: Operator) -> StateBootstrapTransformation:
        return StateBootstrapTransformation(
            self._data, operator, self._select, self._key_type, self._timestamps
        )


class WindowedOperatorTransformation:
    """Windows to fill. Trigger and functions must be the job's own."""

    def __init__(self, keyed: KeyedOperatorTransformation, assigner: WindowAssigner) -> None:
        self._keyed = keyed
        self._settings: dict[str, Any] = {"assigner": assigner, "key_selector": keyed._select}

    def trigger(self, trigger: Trigger) -> WindowedOperatorTransformation:
        """The trigger of the job's window, where it is not the assigner's own."""
        self._settings["trigger"] = trigger
        return self

    def evictor(self, evictor: Any) -> WindowedOperatorTransformation:
        """The evictor of the job's window; its elements are kept one by one then."""
        self._settings["evictor"] = evictor
        return self

    def reduce(self, function: Any, type_info: TypeInformation | None = None) -> StateBootstrapTransformation:
        """Fills the windows with what `reduce` of the job would have kept."""
        return self._made(reduce=function, element_type=type_info)

    def aggregate(
        self, function: Any, accumulator_type: TypeInformation | None = None
    ) -> StateBootstrapTransformation:
        """Fills the windows with the accumulators that `aggregate` of the job would have kept."""
        return self._made(aggregate=function, accumulator_type=accumulator_type)

    def process(
        self, function: Any, type_info: TypeInformation | None = None
    ) -> StateBootstrapTransformation:
        """Fills the windows with elements, as the job's `process` keeps them."""
        return self._made(process_function=function, element_type=type_info)

    def _made(self, **functions: Any) -> StateBootstrapTransformation:
        return self._keyed._made(build_window_operator(**self._settings, **functions))


class _BroadcastBootstrap(ProcessOperator):
    """Runs a BroadcastStateBootstrapFunction."""

    def open(self) -> None:
        super().open()
        self._states = _BroadcastContext(self.context.operator_state)

    def process_batch(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        for value in values:
            self.function.process_element(value, self._states)


class _BroadcastContext(BroadcastStateBootstrapFunction.Context):
    def __init__(self, states: Any) -> None:
        self._states = states

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        found: BroadcastState[Any, Any] = self._states.get_broadcast_state(state_descriptor)
        return found

"""Users' functions in SQL: how one is described to the binder.

`UserFunction` is what the catalog manager keeps. Its result type is known when it is registered. How Spark calls it
is in `spark/user_function_calls.py`.
"""

from __future__ import annotations

import importlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.catalog.catalog_manager import CatalogManager
from penstock.catalog.objects import CatalogFunction
from penstock.common.datatypes import DataType, NullType, RowType
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.metrics import MetricGroup
from penstock.sql.functions.common_types import common_type

if TYPE_CHECKING:
    from penstock.sql.plan.rex import Rex


@dataclass(frozen=True)
class Task:
    """The task a function runs in."""

    name: str = "Calc"
    index: int = 0
    parallelism: int = 1
    max_parallelism: int = 128
    attempt: int = 0


class FunctionContext:
    """What `open` of a user's function is told about where it runs."""

    def __init__(
        self,
        job_parameters: Mapping[str, str] | None = None,
        metrics: MetricGroup | None = None,
        task: Task | None = None,
    ) -> None:
        self._job_parameters = dict(job_parameters or {})
        self._metrics = metrics or MetricGroup()
        self._task = task or Task()

    def get_metric_group(self) -> MetricGroup:
        """Where counters and gauges are registered. Those of bounded queries stay in the worker process."""
        return self._metrics

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A value of `pipeline.global-job-parameters`."""
        return self._job_parameters.get(key, default_value)

    def get_task_name(self) -> str:
        """The name of the operator that calls the function."""
        return self._task.name

    def get_task_name_with_subtasks(self) -> str:
        """Such as `MyTask (3/6)#1`: the third of six subtasks, at its second attempt."""
        task = self._task
        return f"{task.name} ({task.index + 1}/{task.parallelism})#{task.attempt}"

    def get_number_of_parallel_subtasks(self) -> int:
        """How many subtasks call the function."""
        return self._task.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        """How many subtasks could ever call it."""
        return self._task.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        """Which of them this is, from 0."""
        return self._task.index

    def get_attempt_number(self) -> int:
        """How often the job was restarted before."""
        return self._task.attempt


@dataclass(frozen=True)
class UserFunction:
    """A Python function with its SQL types; `kind` is "scalar", "table" or "aggregate".

    `function` is a callable or an object with `eval` (for aggregates: `accumulate` and the like); with `pandas`
    it takes Series. Without `inputs` any arguments are taken.
    """

    name: str
    function: Any
    result: DataType
    kind: str = "scalar"
    deterministic: bool = True
    inputs: tuple[DataType, ...] | None = None
    pandas: bool = False
    key: str = field(default_factory=lambda: uuid.uuid4().hex, compare=False)
    """Tells this function from all others in every process, also from one that is registered later under its name."""

    def result_type(self, arguments: Sequence[DataType]) -> DataType:
        return self.result

    def result_fields(self, arguments: Sequence[DataType]) -> list[tuple[str, DataType]]:
        """The columns of a table function."""
        if isinstance(self.result, RowType):
            return [(f.name, f.data_type) for f in self.result]
        return [("f0", self.result)]

    def arguments(self, args: tuple[Rex, ...]) -> tuple[Rex, ...]:
        """The arguments as the declared types; refuses what does not fit by itself."""
        from penstock.sql.binder.coercion import cast_rex

        if self.inputs is None:
            return args
        given = ", ".join(a.type.as_summary() for a in args)
        wanted = ", ".join(t.as_summary() for t in self.inputs)
        fits = len(args) == len(self.inputs) and all(
            isinstance(a.type, NullType) or common_type([a.type.nullable(), t.nullable()]) == t.nullable()
            for a, t in zip(args, self.inputs, strict=True)
        )
        if not fits:
            raise ValidationError(
                f"no match for function {self.name}({given})", do=f"call {self.name}({wanted})"
            )
        return tuple(cast_rex(a, t.nullable()) for a, t in zip(args, self.inputs, strict=True))


def find_user_function(catalogs: CatalogManager, name: str) -> Any | None:
    """A user's function by name or path, ready to be called; None if there is none."""
    found = catalogs.find_function(name)
    if found is None and (offered := catalogs.modules.find_function(name)) is not None:
        return as_user_function(name, offered)
    return load_function(found) if isinstance(found, CatalogFunction) else found


def load_function(function: CatalogFunction) -> Any:
    """Imports what `CREATE FUNCTION … AS 'module.name' LANGUAGE PYTHON` names."""
    if function.language != "PYTHON":
        raise NotSupportedError(f"functions in {function.language}", "functions are Python here")
    module_name, _, name = function.class_name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module_name), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValidationError(
            f"cannot import function '{function.class_name}': {error}",
            do="give the function as 'module.name' and put the module on the Python path",
        ) from error
    return as_user_function(name, found)


def as_user_function(name: str, found: Any) -> UserFunction:
    """Adapts what `udf(...)` made, or anything that says how it is to be called."""
    if isinstance(found, UserFunction):
        return found
    adapt = getattr(found, "to_user_function", None)
    if adapt is not None:
        adapted: UserFunction = adapt(name)
        return adapted
    raise ValidationError(
        f"'{name}' is not a user-defined function",
        do="wrap it with udf(…, result_type=…) of penstock.table.udf",
    )

"""Plain callables as function objects, and the names by which both appear in messages.

Operators call methods (`function.map`). A wrapper puts the callable itself where the method would be, so
that calling it costs nothing extra, and keeps it as `user_callable` for names and for `carried.py`.
"""

from __future__ import annotations

import functools
import inspect
from abc import ABCMeta
from collections.abc import Callable
from typing import Any

from penstock.common.errors import NotSupportedError, TypeMismatchError
from penstock.functions.async_function import AsyncFunction
from penstock.functions.base import Function
from penstock.functions.checkpointed import CheckpointListener
from penstock.functions.element import (
    FilterFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ReduceFunction,
)
from penstock.functions.join import CoGroupFunction, FlatJoinFunction, JoinFunction, ProcessJoinFunction
from penstock.functions.legacy import SinkFunction
from penstock.functions.process import KeyedProcessFunction, ProcessFunction
from penstock.functions.window import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)

__all__ = ["as_function", "as_key_selector", "as_partitioner", "function_name", "source_location"]


def _wrapper(interface: type[Function], method: str) -> Callable[[Callable[..., Any]], Function]:
    """A class that implements `interface` by one callable in place of `method`."""

    def __init__(self: Any, user_callable: Callable[..., Any]) -> None:
        self.user_callable = user_callable
        self.__dict__[method] = user_callable

    def call(self: Any, *args: Any) -> Any:
        return self.user_callable(*args)

    name = f"Callable{interface.__name__}"
    members = {"__init__": __init__, method: call, "__module__": __name__, "__qualname__": name}
    members["__doc__"] = f"A {interface.__name__} made of a callable."
    return ABCMeta(name, (interface,), members)


CallableMapFunction = _wrapper(MapFunction, "map")
CallableFlatMapFunction = _wrapper(FlatMapFunction, "flat_map")
CallableFilterFunction = _wrapper(FilterFunction, "filter")
CallableReduceFunction = _wrapper(ReduceFunction, "reduce")
CallableProcessFunction = _wrapper(ProcessFunction, "process_element")
CallableKeyedProcessFunction = _wrapper(KeyedProcessFunction, "process_element")
CallableWindowFunction = _wrapper(WindowFunction, "apply")
CallableAllWindowFunction = _wrapper(AllWindowFunction, "apply")
CallableProcessWindowFunction = _wrapper(ProcessWindowFunction, "process")
CallableProcessAllWindowFunction = _wrapper(ProcessAllWindowFunction, "process")
CallableAsyncFunction = _wrapper(AsyncFunction, "async_invoke")
CallableProcessJoinFunction = _wrapper(ProcessJoinFunction, "process_element")
CallableJoinFunction = _wrapper(JoinFunction, "join")
CallableFlatJoinFunction = _wrapper(FlatJoinFunction, "join")
CallableCoGroupFunction = _wrapper(CoGroupFunction, "co_group")
CallableSinkFunction = _wrapper(SinkFunction, "invoke")

_WRAPPERS: dict[type[Function], Callable[[Callable[..., Any]], Function]] = {
    MapFunction: CallableMapFunction,
    FlatMapFunction: CallableFlatMapFunction,
    FilterFunction: CallableFilterFunction,
    ReduceFunction: CallableReduceFunction,
    ProcessFunction: CallableProcessFunction,
    KeyedProcessFunction: CallableKeyedProcessFunction,
    WindowFunction: CallableWindowFunction,
    AllWindowFunction: CallableAllWindowFunction,
    ProcessWindowFunction: CallableProcessWindowFunction,
    ProcessAllWindowFunction: CallableProcessAllWindowFunction,
    AsyncFunction: CallableAsyncFunction,
    ProcessJoinFunction: CallableProcessJoinFunction,
    JoinFunction: CallableJoinFunction,
    FlatJoinFunction: CallableFlatJoinFunction,
    CoGroupFunction: CallableCoGroupFunction,
    SinkFunction: CallableSinkFunction,
}


def as_function(function: Any, *interfaces: type[Function], where: str | None = None) -> Any:
    """`function` if it implements one of the interfaces; a callable wrapped as the first one.

    Raises:
        TypeMismatchError: It is neither, or a class that was not instantiated.
        NotSupportedError: It wants to be told of commits.
    """
    if isinstance(function, interfaces):
        _refuse_listener(function, where)
        return function
    wrapper = _WRAPPERS.get(interfaces[0])
    wrong_kind = isinstance(function, Function) or (
        inspect.isclass(function) and issubclass(function, Function)
    )
    if wrapper is not None and callable(function) and not wrong_kind:
        return wrapper(function)
    expected = " or ".join(interface.__name__ for interface in interfaces)
    if wrapper is not None:
        expected += " or a callable"
    if inspect.isclass(function) and issubclass(function, interfaces):
        raise TypeMismatchError(
            f"expected a {expected}, got the class {function.__name__} itself",
            where=where,
            do=f"pass an object: {function.__name__}(...)",
        )
    raise TypeMismatchError(f"expected a {expected}, got {function!r}", where=where)


def _refuse_listener(function: Any, where: str | None) -> None:
    if isinstance(function, CheckpointListener):
        raise NotSupportedError(
            f"CheckpointListener, implemented by {type(function).__name__}",
            "functions are not told when an epoch is committed",
            where=where,
            do="write a Sink whose Committer acts once an epoch is durable",
        )


def as_key_selector(selector: Any, where: str | None = None) -> Callable[[Any], Any]:
    """The callable value -> key of a KeySelector or a callable."""
    if isinstance(selector, KeySelector):
        return selector.get_key
    if callable(selector) and not isinstance(selector, (type, Function)):
        return selector  # type: ignore[no-any-return]
    if isinstance(selector, type) and not issubclass(selector, Function):
        return selector  # such as key_by(str)
    raise TypeMismatchError(
        f"a key selector must be a KeySelector or a callable, got {selector!r}",
        where=where,
        do="key_by(lambda value: value[0])",
    )


def as_partitioner(partitioner: Any, where: str | None = None) -> Callable[[Any, int], int]:
    """The callable (key, number of partitions) -> partition of a Partitioner or a callable."""
    if isinstance(partitioner, Partitioner):
        return partitioner.partition
    if callable(partitioner) and not isinstance(partitioner, (type, Function)):
        return partitioner  # type: ignore[no-any-return]
    raise TypeMismatchError(
        f"a partitioner must be a Partitioner or a callable, got {partitioner!r}",
        where=where,
        do="partition_custom(lambda key, n: key % n, lambda value: value[0])",
    )


def function_name(function: Any) -> str:
    """How a function is called in messages: its own name, or the name of its class.

    >>> function_name(len)
    'len'
    """
    function = _innermost(function)
    if isinstance(function, Function):
        return type(function).__name__
    name = getattr(function, "__qualname__", None) or type(function).__name__
    name = name.rsplit("<locals>.", 1)[-1]
    if name == "<lambda>":
        location = source_location(function)
        return f"lambda at {location}" if location else "lambda"
    return str(name)


def source_location(function: Any) -> str | None:
    """`file.py:line` where a function was written, if that is known."""
    code = getattr(_innermost(function), "__code__", None)
    if code is None:
        return None
    return f"{code.co_filename.rsplit('/', 1)[-1]}:{code.co_firstlineno}"


def _innermost(function: Any) -> Any:
    while True:
        if hasattr(function, "user_callable"):
            function = function.user_callable
        elif isinstance(function, functools.partial):
            function = function.func
        else:
            return function

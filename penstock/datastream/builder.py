"""How a method of the API becomes a transformation: call sites, checks, and the step itself.

Everything here is about building the program; nothing runs before `execute()`.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.common.time import to_millis
from penstock.common.typeinfo import TypeInformation
from penstock.functions.base import Function
from penstock.functions.element import KeySelector
from penstock.functions.wrap import as_key_selector
from penstock.graph.transformations import OperatorTransformation, Transformation

if TYPE_CHECKING:
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
    from penstock.operators.base import Operator

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def call_site() -> str | None:
    """`file:line` of the program's line that called into penstock."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_PACKAGE):
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return None


def deprecated(old: str, modern: str) -> None:
    """Warns, at the caller's line, that `old` is Flink 1.x's spelling of `modern`."""
    depth, frame = 1, sys._getframe(0)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        depth, frame = depth + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(f"{old} is Flink 1.x; use {modern}", DeprecationWarning, stacklevel=depth)


def operator_step(
    env: StreamExecutionEnvironment,
    name: str,
    inputs: Sequence[Transformation],
    factory: Callable[[], Operator],
    output_type: TypeInformation | None,
    *,
    key_selectors: Sequence[Callable[[Any], Any] | None] | None = None,
    key_type: TypeInformation | None = None,
    parallelism: int | None = None,
    max_parallelism: int | None = None,
    requires_broadcast_first: int | None = None,
) -> OperatorTransformation:
    """One operator over `inputs`, known to the environment so that it runs even without a sink."""
    transformation = OperatorTransformation(
        name=name,
        inputs=tuple(inputs),
        output_type=checked_type(output_type),
        parallelism=parallelism if parallelism is not None else env.configured_parallelism(),
        max_parallelism=max_parallelism,
        call_site=call_site(),
        operator_factory=factory,
        key_selectors=tuple(key_selectors) if key_selectors is not None else (None,) * len(inputs),
        key_type=key_type,
        requires_broadcast_first=requires_broadcast_first,
    )
    env.register_transformation(transformation)
    return transformation


def checked_type(type_info: Any) -> TypeInformation | None:
    """`type_info` if it is one (or None for untyped values)."""
    if type_info is None or isinstance(type_info, TypeInformation):
        return type_info
    if isinstance(type_info, list) and all(isinstance(item, TypeInformation) for item in type_info):
        from penstock.common.typeinfo import RowTypeInfo

        return RowTypeInfo(type_info)
    raise TypeMismatchError(
        f"expected TypeInformation such as Types.INT(), got {type_info!r}",
        where=call_site(),
        do="use penstock.common.Types, with parentheses: Types.STRING()",
    )


def checked_parallelism(parallelism: Any, what: str = "parallelism") -> int:
    """A positive int."""
    if isinstance(parallelism, bool) or not isinstance(parallelism, int) or parallelism < 1:
        raise ValidationError(
            f"{what} must be an integer from 1 on, got {parallelism!r}",
            where=call_site(),
            do="pass how many subtasks shall share the work",
        )
    return parallelism


def checked_millis(time: Any, what: str, *, minimum: int = 0) -> int:
    """Milliseconds of a Duration, Time, timedelta or int; not below `minimum`."""
    try:
        millis = to_millis(time)
    except TypeError as error:
        raise TypeMismatchError(f"{what}: {error}", where=call_site()) from error
    if millis < minimum:
        raise ValidationError(f"{what} must be at least {minimum} ms, got {millis} ms", where=call_site())
    return millis


def key_selector_of(selector: Any, method: str = "key_by") -> Callable[[Any], Any]:
    """The callable behind a KeySelector, a callable, or (deprecated) a position or field name."""
    if isinstance(selector, (int, str)) and not isinstance(selector, bool):
        modern = f"{method}(lambda value: value[{selector!r}])"
        deprecated(f"{method}({selector!r})", modern)
        return FieldSelector(selector)
    if selector is None:
        raise TypeMismatchError(
            f"{method} needs a key selector", where=call_site(), do=f"{method}(lambda value: value[0])"
        )
    if isinstance(selector, KeySelector) and type(selector).open is not Function.open:
        return OpeningKeySelector(selector)
    return as_key_selector(selector, where=call_site())


class FieldSelector:
    """The field at a position, or of a name, as a key."""

    def __init__(self, field: int | str) -> None:
        self._field = field

    def __call__(self, value: Any) -> Any:
        """The key of an element."""
        field = self._field
        if isinstance(field, str) and not hasattr(value, "__getitem__"):
            return getattr(value, field)
        return value[field]


class OpeningKeySelector:
    """A KeySelector that has an `open`: opened at its first use in each process.

    Keys are computed by sender and receiver, outside any operator, so there is no runtime context to hand
    over: `open` gets None.
    """

    def __init__(self, selector: KeySelector) -> None:
        self._selector = selector
        self._opened = False

    def __call__(self, value: Any) -> Any:
        """The key of an element."""
        if not self._opened:
            self._opened = True
            self._selector.open(None)  # type: ignore[arg-type]
        return self._selector.get_key(value)

    def __getstate__(self) -> dict[str, Any]:
        return {"_selector": self._selector, "_opened": False}

"""What a function declares about its state: name, kind, type and time to live.

A descriptor is plain data that is built in the driver or in `open()`; the backend turns it into a State
object. The name is what state is restored by, so it must stay the same between versions of a program.

>>> from penstock.common.typeinfo import Types
>>> ValueStateDescriptor("count", Types.LONG()).get_name()
'count'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.errors import ValidationError
from penstock.common.typeinfo import TypeInformation, Types
from penstock.state.interfaces import (
    AggregatingState,
    AppendingState,
    BroadcastState,
    ListState,
    MapState,
    MergingState,
    OperatorStateStore,
    ReadOnlyBroadcastState,
    ReducingState,
    State,
    ValueState,
)
from penstock.state.ttl_config import StateTtlConfig

__all__ = [
    "AggregatingState",
    "AggregatingStateDescriptor",
    "AppendingState",
    "BroadcastState",
    "ListState",
    "ListStateDescriptor",
    "MapState",
    "MapStateDescriptor",
    "MergingState",
    "OperatorStateStore",
    "ReadOnlyBroadcastState",
    "ReducingState",
    "ReducingStateDescriptor",
    "State",
    "StateDescriptor",
    "StateTtlConfig",
    "ValueState",
    "ValueStateDescriptor",
]


class StateDescriptor:
    """Base of the descriptors. `kind` names the kind of state in checkpoints."""

    kind = "value"
    by_group = False
    """Whether it is kept under keys that stand for whole key groups."""
    columns: tuple[str, ...] = ()
    newest_by: int | None = None
    """What readers should know of tables that are its values; see `StateSchema`."""

    def __init__(self, name: str, type_info: TypeInformation) -> None:
        if not isinstance(name, str) or not name:
            raise ValidationError(f"a state needs a name, got {name!r}")
        if not isinstance(type_info, TypeInformation):
            raise ValidationError(
                f"state {name!r} has type {type_info!r}", do="give a type such as Types.STRING()"
            )
        self.name = name
        self.type_info = type_info
        self.ttl_config: StateTtlConfig | None = None

    def get_name(self) -> str:
        """The name under which the state is kept in checkpoints; unique in its operator."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Lets values expire; call it before the state is created."""
        self.ttl_config = ttl_config if ttl_config.is_enabled() else None

    def element_types(self) -> tuple[TypeInformation | None, TypeInformation | None]:
        """The types of the map keys (None if it is no map) and of the values or elements."""
        return parts_of_type(self.kind, self.type_info)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.type_info!r})"


def parts_of_type(
    kind: str, whole: TypeInformation | None
) -> tuple[TypeInformation | None, TypeInformation | None]:
    """Of a state's declared type the type of its map keys, and of its values or elements."""
    if kind == "map":
        return getattr(whole, "key_type_info", None), getattr(whole, "value_type_info", None)
    return None, getattr(whole, "element_type", None) if kind == "list" else whole


class ValueStateDescriptor(StateDescriptor):
    """Declares a ValueState."""

    def __init__(self, name: str, value_type_info: TypeInformation) -> None:
        super().__init__(name, value_type_info)


class ListStateDescriptor(StateDescriptor):
    """Declares a ListState by the type of its elements."""

    kind = "list"

    def __init__(self, name: str, elem_type_info: TypeInformation) -> None:
        super().__init__(name, Types.LIST(elem_type_info))
        self.elem_type_info = elem_type_info


class MapStateDescriptor(StateDescriptor):
    """Declares a MapState, or a broadcast state, by the types of its keys and values."""

    kind = "map"

    def __init__(self, name: str, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        super().__init__(name, Types.MAP(key_type_info, value_type_info))
        self.key_type_info = key_type_info
        self.value_type_info = value_type_info


class ReducingStateDescriptor(StateDescriptor):
    """Declares a ReducingState; `reduce_function` is a ReduceFunction or a callable of two values."""

    kind = "reducing"

    def __init__(self, name: str, reduce_function: Any, type_info: TypeInformation) -> None:
        super().__init__(name, type_info)
        if not callable(getattr(reduce_function, "reduce", reduce_function)):
            raise ValidationError(
                f"reducing state {name!r} got {reduce_function!r} as its function",
                do="give a ReduceFunction or a function of two values",
            )
        self._reduce_function = reduce_function

    def get_reduce_function(self) -> Any:
        """The function that two values become one with."""
        return self._reduce_function

    def reducer(self) -> Callable[[Any, Any], Any]:
        """The function as something to call, whichever way it was given."""
        return getattr(self._reduce_function, "reduce", self._reduce_function)  # type: ignore[no-any-return]


class AggregatingStateDescriptor(StateDescriptor):
    """Declares an AggregatingState by its AggregateFunction and the type of the accumulator."""

    kind = "aggregating"

    def __init__(self, name: str, agg_function: Any, state_type_info: TypeInformation) -> None:
        super().__init__(name, state_type_info)
        missing = [m for m in ("create_accumulator", "add", "get_result") if not hasattr(agg_function, m)]
        if missing:
            raise ValidationError(
                f"aggregating state {name!r} got {agg_function!r}, which has no {', '.join(missing)}",
                do="give an AggregateFunction",
            )
        self._agg_function = agg_function

    def get_agg_function(self) -> Any:
        """The function that elements are added with."""
        return self._agg_function

"""Operator state: lists, union lists and broadcast maps of one subtask, in memory.

Operator state belongs to the subtask, not to a key. It is small by nature, so it travels whole with every
checkpoint. When the parallelism changes, list state is dealt out round-robin, union list state is given to
everyone in full, and broadcast state is taken from any one former subtask, because all have the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from penstock.common.codecs import Codec, compile_codec
from penstock.common.errors import StateMigrationError
from penstock.common.evolution import Incompatible
from penstock.common.typeinfo import TypeInformation
from penstock.state.backend import OperatorStateBackend
from penstock.state.descriptors import (
    BroadcastState,
    ListState,
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorStateStore,
    StateDescriptor,
    parts_of_type,
)
from penstock.state.migration import value_evolution
from penstock.state.schema import StateSchema, declared_type, pickled_type


class SavedState(msgspec.Struct):
    """One state in a snapshot: its elements, or (map key, value) pairs, each encoded by itself.

    They are not decoded to be dealt out, so state whose descriptor has not come yet can be re-cut too. `type_info` is
    the declared type, pickled, for those who look at state from outside: of the elements, or of the map.
    """

    mode: str
    fingerprint: str
    elements: list[bytes] = []
    pairs: list[tuple[bytes, bytes | None]] = []
    type_info: str = ""


class _Snapshot(msgspec.Struct):
    """All states of one subtask, and which of how many subtasks it was."""

    subtask: int
    parallelism: int
    states: dict[str, SavedState]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Snapshot).decode


def read_snapshot(data: bytes) -> dict[str, SavedState]:
    """The states in what a subtask's `snapshot` gave."""
    return _decode(data).states


def write_snapshot(subtask: int, parallelism: int, states: dict[str, SavedState]) -> bytes:
    """What a subtask with these states would give."""
    return _encode(_Snapshot(subtask, parallelism, states))


class OperatorListState(ListState[Any]):
    """List state of the operator."""

    def __init__(self, descriptor: StateDescriptor, mode: str) -> None:
        declared = descriptor.elem_type_info if isinstance(descriptor, ListStateDescriptor) else None
        self.codec = compile_codec(declared or descriptor.type_info)
        self.mode = mode
        self.items: list[Any] = []
        self._type = pickled_type(self.codec.type_info)

    def save(self) -> SavedState:
        elements = [self.codec.encode(item) for item in self.items]
        return SavedState(self.mode, self.codec.fingerprint, elements, type_info=self._type)

    def load(self, name: str, saved: SavedState | None) -> None:
        self.items = []
        if saved is not None:
            read = _reader(name, self.mode, self.codec, saved, self.codec.type_info)
            self.items = [read(data) for data in saved.elements]

    def get(self) -> list[Any]:
        return self.items.copy()

    def add(self, value: Any) -> None:
        self.items.append(self.codec.normalize(value))

    def add_all(self, values: Iterable[Any]) -> None:
        self.items.extend(map(self.codec.normalize, values))

    def update(self, values: Iterable[Any]) -> None:
        self.items = list(map(self.codec.normalize, values))

    def clear(self) -> None:
        self.items = []


class OperatorBroadcastState(BroadcastState[Any, Any]):
    """Broadcast state: a map, in the order in which its entries were put."""

    mode = "broadcast"

    def __init__(self, descriptor: MapStateDescriptor) -> None:
        self.key_codec = compile_codec(descriptor.key_type_info)
        self.value_codec = compile_codec(descriptor.value_type_info)
        self.entries: dict[bytes, tuple[Any, Any]] = {}
        self._type = pickled_type(descriptor.type_info)

    def save(self) -> SavedState:
        encode = self.value_codec.encode
        pairs = [(key, None if v is None else encode(v)) for key, (_, v) in self.entries.items()]
        return SavedState(self.mode, self.value_codec.fingerprint, pairs=pairs, type_info=self._type)

    def load(self, name: str, saved: SavedState | None) -> None:
        self.entries = {}
        if saved is not None:
            read = _reader(name, self.mode, self.value_codec, saved, self.value_codec.type_info)
            decode = self.key_codec.decode
            self.entries = {
                key: (decode(key), None if value is None else read(value)) for key, value in saved.pairs
            }

    def get(self, key: Any) -> Any:
        found = self.entries.get(self.key_codec.encode_key(key))
        return None if found is None else found[1]

    def contains(self, key: Any) -> bool:
        return self.key_codec.encode_key(key) in self.entries

    def items(self) -> list[tuple[Any, Any]]:
        return list(self.entries.values())

    def keys(self) -> list[Any]:
        return [key for key, _ in self.entries.values()]

    def values(self) -> list[Any]:
        return [value for _, value in self.entries.values()]

    def is_empty(self) -> bool:
        return not self.entries

    def put(self, key: Any, value: Any) -> None:
        normal = None if value is None else self.value_codec.normalize(value)
        self.entries[self.key_codec.encode_key(key)] = (self.key_codec.normalize(key), normal)

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        for key, value in dict_value.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        self.entries.pop(self.key_codec.encode_key(key), None)

    def clear(self) -> None:
        self.entries.clear()


class MemoryOperatorStateBackend(OperatorStateBackend, OperatorStateStore):
    """Operator state of one subtask.

    State may be restored before the function has declared it: what was restored waits, undecoded, until its
    descriptor comes, and goes into the next snapshot even if it never comes.
    """

    def __init__(self, subtask: int = 0, parallelism: int = 1) -> None:
        self._states: dict[str, OperatorListState | OperatorBroadcastState] = {}
        self._waiting: dict[str, SavedState] = {}
        self._subtask = subtask
        self._parallelism = parallelism

    def get_list_state(self, descriptor: StateDescriptor) -> OperatorListState:
        return self._list_state(descriptor, "list")

    def get_union_list_state(self, descriptor: StateDescriptor) -> OperatorListState:
        return self._list_state(descriptor, "union")

    def get_broadcast_state(self, state_descriptor: StateDescriptor) -> OperatorBroadcastState:
        if not isinstance(state_descriptor, MapStateDescriptor):
            raise StateMigrationError(
                f"broadcast state {state_descriptor.name!r} was declared with {state_descriptor!r}",
                do="declare it with a MapStateDescriptor",
            )
        name = state_descriptor.name
        if name not in self._states:
            self._add(name, OperatorBroadcastState(state_descriptor))
        state = self._states[name]
        if not isinstance(state, OperatorBroadcastState):
            raise _other_kind(name, state.mode, "broadcast")
        return state

    def snapshot(self) -> bytes | None:
        states = {**self._waiting, **{name: state.save() for name, state in self._states.items()}}
        return _encode(_Snapshot(self._subtask, self._parallelism, states)) if states else None

    def restore(self, snapshots: Sequence[bytes], subtask: int, parallelism: int) -> None:
        """Takes over from snapshots.

        One snapshot of the very same subtask means that it just goes on. Otherwise `snapshots` must be those
        of all former subtasks, and their states are dealt out anew.
        """
        self._subtask, self._parallelism = subtask, parallelism
        former = [_decode(snapshot) for snapshot in snapshots]
        self._waiting = _redistribute(former, subtask, parallelism)
        for name, state in self._states.items():
            state.load(name, self._waiting.pop(name, None))

    def _list_state(self, descriptor: StateDescriptor, mode: str) -> OperatorListState:
        name = descriptor.name
        if name not in self._states:
            self._add(name, OperatorListState(descriptor, mode))
        state = self._states[name]
        if not isinstance(state, OperatorListState) or state.mode != mode:
            raise _other_kind(name, state.mode, mode)
        return state

    def _add(self, name: str, state: OperatorListState | OperatorBroadcastState) -> None:
        state.load(name, self._waiting.get(name))
        self._waiting.pop(name, None)
        self._states[name] = state


def has_union_state(snapshot: bytes) -> bool:
    """Whether there is union list state in what a subtask has saved: then others want to see it on a restore."""
    if b"union" not in snapshot:  # most have none, and some are long
        return False
    return any(saved.mode == "union" for saved in _decode(snapshot).states.values())


def _redistribute(former: list[_Snapshot], subtask: int, parallelism: int) -> dict[str, SavedState]:
    same_place = [s for s in former if (s.subtask, s.parallelism) == (subtask, parallelism)]
    if len(former) == 1 and same_place:
        return former[0].states
    former = sorted(former, key=lambda snapshot: snapshot.subtask)
    dealt: dict[str, SavedState] = {}
    for name in dict.fromkeys(name for snapshot in former for name in snapshot.states):
        all_saved = [snapshot.states[name] for snapshot in former if name in snapshot.states]
        first = all_saved[0]
        elements = [element for saved in all_saved for element in saved.elements]
        if first.mode == "list" and all(s.parallelism == parallelism for s in former):
            elements = [e for s in same_place if name in s.states for e in s.states[name].elements]
        elif first.mode == "list":
            elements = elements[subtask::parallelism]
        own = next((s.states[name] for s in same_place if name in s.states), first)
        dealt[name] = SavedState(first.mode, first.fingerprint, elements, own.pairs, first.type_info)
    return dealt


def _reader(
    name: str, mode: str, codec: Codec, saved: SavedState, declared: TypeInformation | None
) -> Callable[[bytes], Any]:
    """How the values of a snapshot are read, also if they are of a former type."""
    if saved.mode != mode:
        raise _other_kind(name, saved.mode, mode)
    if codec.is_compatible(saved.fingerprint):
        return codec.decode
    try:
        whole = declared_type(StateSchema("", "", "", type_info=saved.type_info)) if saved.type_info else None
        former = parts_of_type("map", whole)[1] if mode == "broadcast" else whole
        convert = value_evolution(former, declared)
    except (Incompatible, ImportError, AttributeError) as error:
        raise StateMigrationError(
            f"operator state {name!r} was written as {saved.fingerprint}, the program now declares "
            f"{codec.fingerprint}: {error}",
            do="declare the former type, or use another name for the new state",
        ) from error
    decode = compile_codec(former).decode
    return lambda data: codec.normalize(convert(decode(data)))


def _other_kind(name: str, known: str, asked: str) -> StateMigrationError:
    return StateMigrationError(
        f"operator state {name!r} is {known} state, but {asked} state of that name was asked for",
        do="give the two states different names",
    )

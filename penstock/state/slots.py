"""What all keyed State objects share: a slot number, a table, a codec, and the set of changed entries."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from penstock.common.codecs import Codec, UntypedCodec, compile_codec
from penstock.common.errors import PenstockError, TypeMismatchError
from penstock.common.typeinfo import TypeInformation, Types
from penstock.state.descriptors import StateDescriptor, StateTtlConfig
from penstock.state.overlay import UNLOADED, Cursor, Entry
from penstock.state.store import Store

LARGE_SLOT = 10_000
"""Lists and maps with more elements are not kept decoded from epoch to epoch."""

_PLAIN_TYPES: dict[TypeInformation, type] = {
    Types.STRING(): str,
    Types.LONG(): int,
    Types.INT(): int,
    Types.BOOLEAN(): bool,
    Types.DOUBLE(): float,
}


@dataclass
class Clock:
    """The epoch's processing time, shared by all states of a backend."""

    now: int = 0


class Ttl:
    """A TTL setting, ready to judge."""

    __slots__ = ("_clock", "config", "ms", "on_read", "return_expired")

    def __init__(self, config: StateTtlConfig, clock: Clock) -> None:
        self.config = config
        self._clock = clock
        self.ms = config.ttl_ms
        self.on_read = config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
        relaxed = StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
        self.return_expired = config.get_state_visibility() is relaxed

    @property
    def now(self) -> int:
        return self._clock.now

    def expired(self, timestamp: int) -> bool:
        return timestamp + self.ms <= self._clock.now


class SlotState:
    """Base of the keyed State objects. What a subclass adds is what its slot holds.

    `dirty` are the entries whose slot differs from the store. `collect` turns them into changes, once, at the
    end of the epoch.
    """

    descriptor: StateDescriptor
    table: str

    def __init__(
        self, descriptor: StateDescriptor, cursor: Cursor, index: int, store: Store, clock: Clock
    ) -> None:
        self.descriptor = descriptor
        self.table = table_name(descriptor.name)
        self.dirty: dict[Entry, None] = {}
        self.expired_records: list[bytes] = []
        self.cleaned_up_to: bytes | None = None
        self._cursor = cursor
        self._index = index
        self._store = store
        self._ttl = Ttl(descriptor.ttl_config, clock) if descriptor.ttl_config else None

    @property
    def index(self) -> int:
        """Where in the slots of an entry this state is."""
        return self._index

    def read_from(self, store: Store) -> None:
        """Where values are loaded from: the committed state, seen in a form that this program can read."""
        self._store = store

    @property
    def ttl(self) -> Ttl | None:
        return self._ttl

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """The type of what is stored, as stable text."""

    @abstractmethod
    def accepts(self, fingerprint: str) -> bool:
        """Whether values that were written with that type can be read."""

    @abstractmethod
    def clear_entry(self, entry: Entry) -> None:
        """Removes the value of one key and namespace."""

    @abstractmethod
    def has_value(self, entry: Entry) -> bool:
        """Whether there is a value that a reader would see."""

    @abstractmethod
    def write_entry(self, entry: Entry, changes: dict[bytes, bytes | None]) -> None:
        """Adds the changes of one dirty entry, and leaves its slot as it is in the store afterwards."""

    def is_blank(self, entry: Entry) -> bool:
        """Whether an entry that was just written is not loaded, or known to have no value."""
        slot = entry.slots[self._index]
        return slot is UNLOADED or self._is_empty_slot(slot)

    def _is_empty_slot(self, slot: Any) -> bool:
        return slot is None

    def merge_entries(self, target: Entry, sources: Iterable[Entry]) -> None:
        """Moves the values of some namespaces into another one."""
        raise TypeError(f"{self.descriptor.kind} state cannot be merged")

    def clear(self) -> None:
        self.clear_entry(self._cursor.entry or self._cursor.resolve())

    def collect(self) -> dict[bytes, bytes | None]:
        """The changes of the epoch. Afterwards nothing is dirty."""
        changes: dict[bytes, bytes | None] = dict.fromkeys(self.expired_records)
        self.expired_records.clear()
        try:
            for entry in self.dirty:
                self.write_entry(entry, changes)
        except PenstockError as error:
            error.where = f"state {self.descriptor.name!r}" + (f", {error.where}" if error.where else "")
            raise
        self.dirty.clear()
        return changes


def table_name(state_name: str) -> str:
    return "s/" + state_name


def normalizer(codec: Codec, state: str) -> tuple[type | None, Callable[[Any], Any] | None]:
    """The type whose values need no normalizing, and the function for all others (None: never needed).

    A value is normalized when it is written, so that a function reads the same back whether or not an epoch
    ended in between; and so that a value of a wrong type fails in the call that brought it.
    """
    if isinstance(codec, UntypedCodec):
        return None, None
    plain = _PLAIN_TYPES.get(codec.type_info) if codec.type_info is not None else None

    def normalize(value: Any) -> Any:
        try:
            return codec.normalize(value)
        except TypeMismatchError as error:
            error.where = f"state '{state}' of {error.where}"
            raise

    return plain, normalize


def codec_for(type_info: TypeInformation) -> Codec:
    return compile_codec(type_info)

"""The overlay: live Python objects of the keys that an epoch touched.

Per key there is an `Entry`, and one more per namespace (window) of the key. An entry has a slot for each state,
by number. Finding the entry of a key is one dict lookup, reading a slot one list index; the store is asked
only when a slot is not loaded.

A dict finds `True` and `1.0` under `1`, but they are three keys: the encoded bytes of a key are its identity.
So a hit counts only if the type is the one the entry was made for, and values whose equality says less than
their bytes (floats, nested tuples, objects) are always looked up by their bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.errors import InvariantError, StateError
from penstock.common.key_groups import key_group_for
from penstock.state.encoding import MAX_COMPONENT, Full, component, encode_namespace, group_bytes, is_long


class _Mark:
    """A named constant that is no value."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


UNLOADED = _Mark("UNLOADED")
"""The slot was not read from the store yet."""

ABSENT = _Mark("ABSENT")
"""There is no such map entry, as opposed to one that is None."""

_FLAT = frozenset({str, bytes, int, bool, type(None)})
"""Types of which equal values (of the same type) have equal bytes."""


class Entry:
    """One key in one namespace: where its records are in the store, and its live slots.

    A dict hit for a key is right if the key's type is `key_type` (None: never) and, for a tuple, the types of
    its elements are `shape`. `head` is key group and key, `prefix` head and namespace. `full` is what values
    must carry because the prefix has only a hash of it; None mostly.
    """

    __slots__ = (
        "full",
        "group",
        "head",
        "key",
        "key_bytes",
        "key_type",
        "namespace",
        "namespaces",
        "ns_bytes",
        "prefix",
        "shape",
        "slots",
    )

    def __init__(self, key: Any, key_bytes: bytes, group: int, head: bytes, slots: list[Any]) -> None:
        kind = type(key)
        self.key = key
        self.shape = _flat_shape(key) if kind is tuple else None
        self.key_type = kind if kind in _FLAT or self.shape is not None else None
        self.key_bytes = key_bytes
        self.group = group
        self.head = head
        self.prefix = head + b"\x00"
        self.full: Full | None = (key_bytes, None, None) if len(key_bytes) > MAX_COMPONENT else None
        self.namespace: Any = None
        self.ns_bytes = b""
        self.namespaces: dict[Any, Entry] | None = None
        self.slots = slots

    def spaced(self, namespace: Any, slots: list[Any]) -> Entry:
        """The entry of the same key in a namespace."""
        entry = Entry.__new__(Entry)
        entry.key, entry.key_type, entry.shape = self.key, self.key_type, self.shape
        entry.key_bytes, entry.group, entry.head = self.key_bytes, self.group, self.head
        data = encode_namespace(namespace)
        entry.namespace, entry.ns_bytes, entry.namespaces = namespace, data, None
        entry.prefix = self.head + component(data)
        entry.full = self.full
        if is_long(data):
            entry.full = (self.full[0] if self.full else None, data, None)
        entry.slots = slots
        return entry


def _flat_shape(key: tuple[Any, ...]) -> tuple[type, ...] | None:
    shape = tuple(map(type, key))
    return shape if _FLAT.issuperset(shape) else None


class Cursor:
    """Points at the entry that state objects act on; one for the key itself, one for its current namespace."""

    __slots__ = ("entry", "resolve")

    def __init__(self, resolve: Callable[[], Entry]) -> None:
        self.entry: Entry | None = None
        self.resolve = resolve


class Overlay:
    """The entries of one backend, and the cursors into them."""

    def __init__(
        self,
        encode_key: Callable[[Any], bytes],
        max_parallelism: int,
        first_group: int,
        last_group: int,
    ) -> None:
        self._encode_key = encode_key
        self._max_parallelism = max_parallelism
        self._first_group = first_group
        self._last_group = last_group
        self._group_bytes = [group_bytes(group) for group in range(max_parallelism)]
        self._by_bytes: dict[bytes, Entry] = {}
        self.entries: dict[Any, Entry] = {}
        self.blank: list[Any] = []
        self.plain = Cursor(self._no_key)
        self.spaced = Cursor(self._resolve_namespace)
        self.namespace: Any = None

    def __len__(self) -> int:
        return len(self._by_bytes)

    def add_slot(self) -> int:
        """A slot number for one more state."""
        for entry in self.all_entries():
            entry.slots.append(UNLOADED)
        self.blank.append(UNLOADED)
        return len(self.blank) - 1

    def all_entries(self) -> list[Entry]:
        found = []
        for entry in self._by_bytes.values():
            found.append(entry)
            if entry.namespaces:
                found.extend(entry.namespaces.values())
        return found

    def find(self, key: Any) -> Entry:
        """The entry of a key that the plain lookup did not find, or found under an equal but other key."""
        data = self._encode_key(key)
        entry = self._by_bytes.get(data)
        if entry is None:
            entry = self._add(key, data)
        return entry

    def find_encoded(self, key_bytes: bytes, decode: Callable[[bytes], Any]) -> Entry:
        """The entry of a key that is known by its bytes."""
        entry = self._by_bytes.get(key_bytes)
        return entry if entry is not None else self._add(decode(key_bytes), key_bytes)

    def in_namespace(self, entry: Entry, namespace: Any) -> Entry:
        """The entry for a namespace of the key of `entry` (which is the key's own)."""
        if namespace is None:
            return entry
        spaces = entry.namespaces
        if spaces is None:
            spaces = entry.namespaces = {}
        found = spaces.get(namespace)
        if found is None:
            found = spaces[namespace] = entry.spaced(namespace, self.blank.copy())
        return found

    def drop_namespace(self, entry: Entry) -> None:
        """Forgets the entry of a namespace."""
        own = self._by_bytes.get(entry.key_bytes)
        if own is not None and own.namespaces is not None:
            own.namespaces.pop(entry.namespace, None)
        if self.spaced.entry is entry:
            self.spaced.entry = None

    def current(self) -> Entry:
        """The current key's own entry."""
        return self.plain.entry or self._no_key()

    def keep_only(self, entries: set[Entry]) -> None:
        """Forgets the keys of which no entry is given."""
        kept = {entry.key_bytes for entry in entries}
        self._by_bytes = {data: entry for data, entry in self._by_bytes.items() if data in kept}
        self.entries = {key: entry for key, entry in self.entries.items() if entry.key_bytes in kept}
        self.plain.entry = self.spaced.entry = None

    def clear(self) -> None:
        self._by_bytes.clear()
        self.entries.clear()
        self.plain.entry = self.spaced.entry = None

    def _add(self, key: Any, data: bytes) -> Entry:
        group = key_group_for(data, self._max_parallelism)
        if not self._first_group <= group <= self._last_group:
            raise InvariantError(
                f"key {key!r} has key group {group}, this subtask owns {self._first_group}..{self._last_group}",
                do="check that the key selector gives the same key for the same record every time",
            )
        head = self._group_bytes[group] + component(data)
        entry = self._by_bytes[data] = Entry(key, data, group, head, self.blank.copy())
        try:
            self.entries.setdefault(key, entry)
        except TypeError:  # unhashable: found by its bytes
            pass
        return entry

    def _resolve_namespace(self) -> Entry:
        own, namespace = self.plain.entry or self._no_key(), self.namespace
        spaces = own.namespaces
        # Per record in window operators: the common case is one dict lookup.
        entry = spaces.get(namespace) if spaces is not None else None
        if entry is None:
            entry = self.in_namespace(own, namespace)
        self.spaced.entry = entry
        return entry

    def _no_key(self) -> Entry:
        raise StateError(
            "keyed state was used without a current key",
            do="use it in methods that handle an element or a timer, not in open() or close()",
        )

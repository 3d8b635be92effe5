"""The rows of a key, by their canonical bytes: in one value while they are few, a record each when they are many.

Most join keys have a handful of rows. As one value they cost one read and one write per epoch, several times
less than map state, which has to be scanned. A key with very many rows must not be rewritten for each new one,
so beyond `SMALL` rows they move to map state until all are gone: the value only says that they did.

With a time to live every row has its own, so there all rows are records of map state.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.common.typeinfo import Types
from penstock.delta.rows import with_ttl
from penstock.state.backend import KeyedStateBackend
from penstock.state.descriptors import MapStateDescriptor, ValueStateDescriptor

SMALL = 48

Record = tuple[Any, ...]

_MOVED = 1


class RowStore:
    """Records of the current key. Call `load` after the key was set and `save` before the next one is."""

    def __init__(self, backend: KeyedStateBackend, name: str, state_ttl_ms: int = 0) -> None:
        pickled = Types.PICKLED_BYTE_ARRAY()
        many = with_ttl(MapStateDescriptor(f"{name}-many", pickled, pickled), state_ttl_ms)
        self._many = backend.get_partitioned_state(many)
        self._few = None
        if not state_ttl_ms:
            self._few = backend.get_partitioned_state(ValueStateDescriptor(name, pickled))
        self._rows: dict[bytes, Record] | None = None
        self._changed = False
        self._shrunk = False

    def load(self) -> None:
        if self._few is not None:
            stored = self._few.value()
            self._rows = None if stored == _MOVED else stored or {}
            self._changed = self._shrunk = False

    def save(self) -> None:
        if self._shrunk and self._few is not None and self._many.is_empty():
            self._few.clear()
            return
        if not self._changed:
            return
        assert self._few is not None
        if self._rows is None:
            self._few.update(_MOVED)
        elif self._rows:
            self._few.update(self._rows)
        else:
            self._few.clear()

    def get(self, ident: bytes) -> Record | None:
        rows = self._rows
        return self._many.get(ident) if rows is None else rows.get(ident)  # type: ignore[no-any-return]

    def put(self, ident: bytes, record: Record) -> None:
        rows = self._rows
        if rows is None:
            self._many.put(ident, record)
            return
        rows[ident] = record
        self._changed = True
        if len(rows) > SMALL:
            self._many.put_all(rows)
            self._rows = None

    def remove(self, ident: bytes) -> None:
        if self._rows is None:
            self._many.remove(ident)
            self._shrunk = True
        else:
            del self._rows[ident]
            self._changed = True

    def is_empty(self) -> bool:
        return bool(self._many.is_empty()) if self._rows is None else not self._rows

    def items(self) -> Iterable[tuple[bytes, Record]]:
        """All records; not to be used while they are changed."""
        return self._many.items() if self._rows is None else self._rows.items()  # type: ignore[no-any-return]

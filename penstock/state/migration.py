"""State that was written with a former type, read as the type that the program declares now.

The bytes in the store are of the former type until the epoch that finds this out is over. In that epoch state objects
read through `MigratedStore`, and all records of the state, in their new form, go into the epoch's delta, with the new
schema. If the epoch fails, the next try finds the old records again and does the same.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping

from penstock.common.codecs import Codec, compile_codec
from penstock.common.errors import StateMigrationError
from penstock.common.evolution import Convert, Incompatible, evolution
from penstock.common.typeinfo import TypeInformation
from penstock.state.encoding import pack_value, unpack_value
from penstock.state.schema import StateSchema, element_types
from penstock.state.slots import SlotState
from penstock.state.store import Store, Target

Rewrite = Callable[[bytes], bytes]
"""A store value of the former type to one of the new type."""
_U32 = struct.Struct(">I")


def rewriting(state: SlotState, stored: StateSchema) -> Rewrite | None:
    """How records of a state are rewritten; None if they can be read as they are.

    Raises:
        StateMigrationError: The types have nothing to do with each other. Shows both.
    """
    if state.accepts(stored.fingerprint):
        return None
    descriptor = state.descriptor
    try:
        former_key, former = element_types(stored)
        key, now = descriptor.element_types()
        if former_key != key:
            raise Incompatible(f"the map keys were {former_key!r} and are {key!r}")
        convert = value_evolution(former, now)
    except (Incompatible, ImportError, AttributeError) as error:
        raise StateMigrationError(
            f"state {descriptor.name!r} was written as {stored.fingerprint}, "
            f"the program now declares {state.fingerprint}: {error}",
            do="declare the former type, or use another name for the new state",
        ) from error
    return _rewrite(compile_codec(former), compile_codec(now), convert, descriptor.kind == "list")


def value_evolution(former: TypeInformation | None, now: TypeInformation | None) -> Convert:
    """How values change.

    Raises:
        Incompatible: They cannot, or one of the types is not declared.
    """
    if former is None or now is None:
        raise Incompatible("there is no declared type to go by")
    return evolution(former, now)


def _rewrite(former: Codec, now: Codec, convert: Convert, chunks: bool) -> Rewrite:
    def one(payload: bytes) -> bytes:
        return now.encode(convert(former.decode(payload)))

    def chunk(payload: bytes) -> bytes:
        return now.encode_batch([None if v is None else convert(v) for v in former.decode_batch(payload)])

    def rewrite(raw: bytes) -> bytes:
        full, accessed, payload = unpack_value(raw)
        if not payload:  # a map entry that is None
            return raw
        if not chunks:
            return pack_value(one(payload), full, accessed)
        times = 0 if accessed is None else 4 + 8 * _U32.unpack_from(payload)[0]
        return pack_value(payload[:times] + chunk(payload[times:]), full, accessed)

    return rewrite


class MigratedStore(Store):
    """A store of which the records of one state are seen in their new form."""

    def __init__(self, store: Store, rewrite: Rewrite) -> None:
        self._store = store
        self._rewrite = rewrite

    def get(self, table: str, key: bytes) -> bytes | None:
        raw = self._store.get(table, key)
        return None if raw is None else self._rewrite(raw)

    def scan(self, table: str, prefix: bytes, start: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        for key, raw in self._store.scan(table, prefix, start):
            yield key, self._rewrite(raw)

    def last_key(self, table: str, prefix: bytes) -> bytes | None:
        return self._store.last_key(table, prefix)

    def tables(self) -> list[str]:
        return self._store.tables()

    def advance(self, target: Target, aliases: Mapping[str, str]) -> None:
        raise AssertionError("the backend advances its store itself")

    def add_alias(self, snapshot_id: str) -> None:
        raise AssertionError("the backend knows its store itself")

    def release(self) -> None:
        """The backend releases its store."""

    def close(self) -> None:
        """The backend closes its store."""

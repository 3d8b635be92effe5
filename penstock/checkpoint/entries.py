"""Entries of state, with keys and values as the program knows them.

    value, reducing, aggregating    an entry per key (and window); of the latter two it is what was made so far
    list                            an entry per key (and window), with all elements
    map                             an entry per map entry
    timers                          an entry per timer, of the states `event` and `processing`

Values that cannot be decoded here, because their class is not, are `Unreadable` with their bytes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.checkpoint.contents import KeyedShare, OpenFile, OperatorContents
from penstock.checkpoint.storage import open_verified
from penstock.common.codecs import Codec, compile_codec
from penstock.common.errors import CheckpointError, PenstockError
from penstock.common.key_groups import key_group_for
from penstock.state.encoding import component, group_bytes
from penstock.state.files import Wanted
from penstock.state.records import TIMER, TIMERS, RecordParts, RecordReader
from penstock.state.schema import ARRANGEMENT, KEY_RECORD, StateSchema, declared_type
from penstock.state.slots import table_name

TIMER_STATES = ("event", "processing")


@dataclass(frozen=True)
class Unreadable:
    """A value that nobody here can decode."""

    data: bytes
    reason: str

    def __repr__(self) -> str:
        return f"<{len(self.data)} bytes: {self.reason}>"


class StateEntry(NamedTuple):
    """One entry; `map_key` is None for anything but a map, `time_ms` for anything but a timer."""

    key: Any
    namespace: Any
    value: Any = None
    map_key: Any = None
    time_ms: int | None = None
    accessed_ms: int | None = None
    value_bytes: bytes = b""
    key_bytes: bytes = b""


class KeyedStateView:
    """One keyed state of an operator, or its timers, for reading.

    Args:
        operator: Of a checkpoint or savepoint.
        state: The name that its descriptor has, or one of `TIMER_STATES` with `timers`.
        schemas: What is known about the operator's states, if it has been read already.

    Raises:
        CheckpointError: The operator has no such state.
    """

    def __init__(
        self,
        operator: OperatorContents,
        state: str,
        timers: bool = False,
        schemas: dict[bytes, StateSchema] | None = None,
    ) -> None:
        self.operator = operator
        self.state = state
        schemas = operator.schemas() if schemas is None else schemas
        self.key_schema = schemas.get(KEY_RECORD)
        self.schema = None if timers else _find(operator, state, schemas)
        self.reader = RecordReader(schemas)
        self._table = TIMERS + state if timers else table_name(state)

    @property
    def kind(self) -> str:
        return self.schema.kind if self.schema is not None else TIMER

    @property
    def shares(self) -> tuple[KeyedShare, ...]:
        return self.operator.shares

    def entries(self, share: KeyedShare, open_file: OpenFile = open_verified) -> Iterator[StateEntry]:
        """The entries of a share."""
        return self._decoded(share.records(Wanted(frozenset({self._table})), open_file))

    def of_key(self, key: Any, open_file: OpenFile = open_verified) -> Iterator[StateEntry]:
        """The entries of one key: only what may hold it is read."""
        key_bytes = self.key_codec.encode_key(key)
        group = key_group_for(key_bytes, self.operator.checkpoint.max_parallelism)
        prefix = group_bytes(group) + (b"" if self.kind == TIMER else component(key_bytes))
        wanted = Wanted(frozenset({self._table}), prefix)
        for share in self.shares:
            if share.first_key_group <= group <= share.last_key_group:
                found = self._decoded(share.records(wanted, open_file))
                yield from (entry for entry in found if entry.key_bytes == key_bytes)

    @property
    def key_codec(self) -> Codec:
        return compile_codec(declared_type(self.key_schema) if self.key_schema is not None else None)

    def _decoded(self, records: Iterable[tuple[str, bytes, bytes]]) -> Iterator[StateEntry]:
        parts = (self.reader.parts(*record) for record in records)
        if self.kind != "list":
            return map(self._entry, parts)
        return (self._list(list(chunks)) for _, chunks in itertools.groupby(parts, _owner))

    def _entry(self, parts: RecordParts) -> StateEntry:
        reader = self.reader
        return StateEntry(
            _read(reader.key, parts, parts.key),
            _read(reader.namespace, parts, parts.namespace),
            None if self.kind == TIMER else _read(reader.value, parts, parts.payload),
            None if parts.map_key is None else _read(reader.map_key, parts, parts.map_key),
            parts.position if self.kind == TIMER else None,
            parts.accessed_ms,
            parts.payload,
            parts.key,
        )

    def _list(self, chunks: list[RecordParts]) -> StateEntry:
        made = [self._entry(parts) for parts in chunks]
        broken = [entry.value for entry in made if isinstance(entry.value, Unreadable)]
        value = broken[0] if broken else [element for entry in made for element in entry.value]
        times = [entry.accessed_ms for entry in made if entry.accessed_ms is not None]
        data = b"".join(entry.value_bytes for entry in made)
        return made[0]._replace(value=value, accessed_ms=max(times, default=None), value_bytes=data)


def _owner(parts: RecordParts) -> tuple[bytes, bytes]:
    return parts.key, parts.namespace


def _find(operator: OperatorContents, state: str, schemas: dict[bytes, StateSchema]) -> StateSchema:
    schema = schemas.get(state.encode())
    if schema is not None and schema.kind != ARRANGEMENT:
        return schema
    have = ", ".join(f"{s.name!r} ({s.kind})" for key, s in schemas.items() if key != KEY_RECORD)
    if schema is not None:
        raise CheckpointError(
            f"state {state!r} of operator {operator.uid!r} is kept in columns and cannot be read by key",
            do="read it as a whole: SavepointReader.read_keyed_state, penstock_state(...), `penstock state show`",
        )
    raise CheckpointError(
        f"operator {operator.uid!r} has no keyed state {state!r}", do=f"it has {have or 'none'}"
    )


def _read(read: Callable[[RecordParts], Any], parts: RecordParts, data: bytes) -> Any:
    try:
        return read(parts)
    except (PenstockError, ImportError, AttributeError, ValueError, TypeError) as error:
        return Unreadable(data, str(error).partition("\n")[0])

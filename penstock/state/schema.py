"""What is known about each state, kept beside the state itself in the table `m`.

A record per state name: kind, type, whether it has a time to live, and the declared type itself, so that a
savepoint can show the values. It is checked when a program's descriptor meets restored state.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

import cloudpickle
import msgspec

from penstock.common.codecs import Codec
from penstock.common.errors import StateMigrationError
from penstock.common.typeinfo import TypeInformation
from penstock.state.descriptors import StateDescriptor, parts_of_type
from penstock.state.slots import SlotState

ARRANGEMENT = "arrangement"
"""The kind of state in columns."""

KEY_RECORD = b"\x00key"
"""The record that tells the type of the keys."""


class StateSchema(msgspec.Struct, frozen=True, omit_defaults=True):
    """One record of the table. `type_info` is a pickled TypeInformation (of the elements, for a list)."""

    name: str
    kind: str
    fingerprint: str
    has_ttl: bool = False
    namespaced: bool = False
    type_info: str = ""
    by_group: bool = False
    """Kept for key groups, not for keys: what is under a key belongs to other keys of its group."""
    columns: tuple[str, ...] = ()
    """Of state in columns: what the query calls them, for readers; () if nobody knows."""
    newest_by: int | None = None
    """Of a log of tables: so many first columns are a row's key, of which the newest row counts; None: all do."""

    def encode(self) -> bytes:
        return msgspec.json.encode(self)

    @staticmethod
    def decode(data: bytes) -> StateSchema:
        return msgspec.json.decode(data, type=StateSchema)


def schema_of(state: SlotState, namespaced: bool) -> StateSchema:
    descriptor = state.descriptor
    return StateSchema(
        descriptor.name,
        descriptor.kind,
        state.fingerprint,
        state.ttl is not None,
        namespaced,
        pickled_type(descriptor.type_info),
        descriptor.by_group,
        descriptor.columns,
        descriptor.newest_by,
    )


def merged_schemas(
    some: Mapping[bytes, StateSchema], others: Mapping[bytes, StateSchema]
) -> dict[bytes, StateSchema]:
    """What two subtasks know of an operator's states.

    One whose state has not changed since names of columns are kept does not know them, but the other does.
    """
    named = {key: schema for key, schema in some.items() if schema.columns}
    return {**some, **{key: named.get(key, s) if not s.columns else s for key, s in others.items()}}


def declared_type(schema: StateSchema) -> TypeInformation | None:
    """The type that was declared for a state: of a list or map as a whole."""
    found: TypeInformation | None = cloudpickle.loads(base64.b64decode(schema.type_info))
    return found


def element_types(schema: StateSchema) -> tuple[TypeInformation | None, TypeInformation | None]:
    """The types of the map keys (None if it is no map) and of the values or elements."""
    return parts_of_type(schema.kind, declared_type(schema))


def key_schema(codec: Codec) -> StateSchema:
    return StateSchema("", "key", codec.fingerprint, type_info=pickled_type(codec.type_info))


def check_key(codec: Codec, stored: StateSchema) -> None:
    """Keys must have the same bytes as before, not only be readable."""
    if codec.fingerprint != stored.fingerprint:
        raise StateMigrationError(
            f"keys were {stored.fingerprint}, the program now declares {codec.fingerprint}",
            do="key the stream as before, or start without the state",
        )


def check_kind(declared: StateDescriptor | StateSchema, stored: StateSchema) -> None:
    """Refuses to read state as another kind of state.

    Turning a time to live on or off is allowed, as in Flink: every record says itself whether it has a time
    of last access, and one without counts as accessed when it is first seen.
    """
    if declared.kind != stored.kind:
        raise StateMigrationError(
            f"state {declared.name!r} is {stored.kind} state, the program now declares {declared.kind} state",
            do="use another name for the new state",
        )


def check_same(known: StateDescriptor, asked: StateDescriptor) -> None:
    """Two descriptors of one name in one program must agree."""
    if known.kind != asked.kind or known.type_info != asked.type_info:
        raise StateMigrationError(
            f"state {asked.name!r} was declared as {known!r} and again as {asked!r}",
            do="give the two states different names",
        )


def pickled_type(type_info: object) -> str:
    """A declared type as text, to be kept beside the state."""
    return base64.b64encode(cloudpickle.dumps(type_info, 5)).decode()

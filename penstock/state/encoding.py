"""Bytes of the store: how keys, namespaces and values are laid out.

    key      key group (2, big-endian) · key · namespace · rest        keyed state
             key group (2, big-endian) · time (8, ordered) · key · namespace    timers
    rest     nothing (one value per key) · map key · chunk number (8) of a list
    value    flags (1) · [full components] · [time of last access (8)] · payload

A component is its length in one byte and its bytes, so a prefix names exactly one key and namespace. LMDB
allows keys of 511 bytes: a component longer than MAX_COMPONENT is replaced by a marker and its 128-bit hash,
and the value then carries it in full.
"""

from __future__ import annotations

import importlib
import pickle
import struct
from collections.abc import Callable
from typing import Any

import msgspec
from xxhash import xxh3_128_digest

from penstock.common.ids import KeyGroup

MAX_COMPONENT = 120
_HASHED = b"\xff"
_HASHED_SIZE = 17

HAS_FULL = 1
HAS_TIMESTAMP = 2
PLAIN = b"\x00"

_pack_full = msgspec.msgpack.Encoder().encode
_unpack_full = msgspec.msgpack.Decoder(tuple[bytes | None, bytes | None, bytes | None]).decode
_LENGTHS = [bytes([n]) for n in range(MAX_COMPONENT + 1)]
_U16 = struct.Struct(">H")
_U32 = struct.Struct(">I")
_U64 = struct.Struct(">Q")
_SHIFT = 1 << 63


Full = tuple[bytes | None, bytes | None, bytes | None]
"""Key, namespace and map key in full, where the store key has only their hash."""


def component(data: bytes) -> bytes:
    """Length and bytes, or marker and hash if it is too long."""
    if len(data) <= MAX_COMPONENT:
        return _LENGTHS[len(data)] + data
    return _HASHED + xxh3_128_digest(data)


def is_long(data: bytes) -> bool:
    return len(data) > MAX_COMPONENT


def group_bytes(group: int) -> bytes:
    return _U16.pack(group)


def group_of(store_key: bytes) -> KeyGroup:
    """The key group a store key begins with."""
    return KeyGroup(_U16.unpack_from(store_key)[0])


def ordered_time(time_ms: int) -> bytes:
    """Eight bytes that sort as the times do, negative ones too."""
    return _U64.pack(time_ms + _SHIFT)


def read_time(data: bytes, offset: int) -> int:
    return int(_U64.unpack_from(data, offset)[0]) - _SHIFT


def chunk_number(number: int) -> bytes:
    return _U64.pack(number)


def read_chunk_number(store_key: bytes) -> int:
    return int(_U64.unpack(store_key[-8:])[0])


def split_component(data: bytes, offset: int) -> tuple[bytes | None, int]:
    """The component at an offset (None if only its hash is there) and where the next one begins."""
    length = data[offset]
    if length == 255:
        return None, offset + _HASHED_SIZE
    end = offset + 1 + length
    return data[offset + 1 : end], end


def pack_value(payload: bytes, full: Full | None, timestamp: int | None = None) -> bytes:
    """A store value; most have neither long components nor a time."""
    if full is None and timestamp is None:
        return PLAIN + payload
    flags, head = 0, b""
    if full is not None:
        packed = _pack_full(full)
        flags, head = HAS_FULL, _U32.pack(len(packed)) + packed
    if timestamp is not None:
        flags, head = flags | HAS_TIMESTAMP, head + ordered_time(timestamp)
    return bytes((flags,)) + head + payload


def unpack_value(raw: bytes) -> tuple[Full | None, int | None, bytes]:
    """Full components, time of last access, payload."""
    flags = raw[0]
    if flags == 0:
        return None, None, raw[1:]
    offset, full, timestamp = 1, None, None
    if flags & HAS_FULL:
        length = _U32.unpack_from(raw, 1)[0]
        offset = 5 + length
        full = _unpack_full(raw[5:offset])
    if flags & HAS_TIMESTAMP:
        timestamp = read_time(raw, offset)
        offset += 8
    return full, timestamp, raw[offset:]


def payload_of(raw: bytes) -> bytes:
    return raw[1:] if raw[0] == 0 else unpack_value(raw)[2]


# --- namespaces -----------------------------------------------------------------------------------------

_NamespaceCodec = tuple[bytes, Callable[[Any], bytes], Callable[[bytes], Any]]
_by_class: dict[type, _NamespaceCodec] = {}
_by_tag: dict[bytes, Callable[[bytes], Any]] = {}
_PICKLED = b"P"
_OWN_KINDS = "penstock.windowing.windows"
"""Registers the kinds of windows that penstock has. It lies above this layer, and whoever reads state from outside a
job may not have imported it, so that is done when a kind is met that nobody has registered."""


def register_namespace_codec(
    cls: type, encode: Callable[[Any], bytes], decode: Callable[[bytes], Any], tag: str | None = None
) -> None:
    """Says how namespaces of a class (a kind of window) become bytes.

    Equal namespaces must give equal bytes. `tag` goes into checkpoints and must not change between versions;
    it is the class name unless said otherwise. A class that is not registered may offer `to_bytes()` and a
    static `from_bytes(data)`; any other namespace is pickled.
    """
    name = (tag or cls.__name__).encode()
    mark = b"R" + bytes([len(name)]) + name
    _by_class[cls] = (mark, encode, decode)
    _by_tag[mark] = decode


def encode_namespace(namespace: Any) -> bytes:
    """Nothing for the void namespace, else tag and bytes."""
    if namespace is None:
        return b""
    codec = _by_class.get(type(namespace))
    if codec is None:
        if not hasattr(namespace, "to_bytes") or not hasattr(namespace, "from_bytes") or _is_plain(namespace):
            return _PICKLED + pickle.dumps(namespace, 5)
        cls = type(namespace)
        register_namespace_codec(cls, lambda n: n.to_bytes(), cls.from_bytes)
        codec = _by_class[cls]
    return codec[0] + codec[1](namespace)


def decode_namespace(data: bytes) -> Any:
    if not data:
        return None
    if data[:1] == _PICKLED:
        return pickle.loads(data[1:])
    end = 2 + data[1]
    if data[:end] not in _by_tag:
        importlib.import_module(_OWN_KINDS)
    decode = _by_tag.get(data[:end])
    if decode is None:
        from penstock.common.errors import StateError

        raise StateError(
            f"no codec for namespaces of kind {data[2:end].decode()!r}",
            do="import the module that defines this kind of window before reading its state",
        )
    return decode(data[end:])


def _is_plain(namespace: Any) -> bool:
    return isinstance(namespace, (int, str, bytes, tuple))

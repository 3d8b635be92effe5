"""Messages that are to be written, and many of them as bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

ANY_PARTITION = -1
NOW = 0
Headers = list[tuple[str, bytes | None]]


class Outgoing(NamedTuple):
    """One message.

    Attributes:
        value: None makes it a tombstone.
        timestamp_ms: `NOW`: the client's time when it is sent.
        partition: `ANY_PARTITION`: by the hash of the key, as Java's client does it; any if there is none.
    """

    topic: str
    value: bytes | None
    key: bytes | None = None
    timestamp_ms: int = NOW
    headers: Headers | None = None
    partition: int = ANY_PARTITION


Fields = tuple[str, bytes | None, bytes | None, int, Headers | None, int]
"""An `Outgoing` without names: what many messages are at once. Named tuples take several times as long to make."""

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Fields])


def encode_block(messages: Sequence[Fields]) -> bytes:
    return _encoder.encode(messages)


def decode_block(data: bytes) -> list[Fields]:
    return _decoder.decode(data)

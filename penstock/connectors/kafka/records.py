"""Messages that are to be written, and many of them as bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

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


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder()


def encode_block(messages: Sequence[Outgoing]) -> bytes:
    return _encoder.encode(messages)


def decode_block(data: bytes) -> Iterable[Outgoing]:
    decoded: list[Any] = _decoder.decode(data)
    for topic, value, key, timestamp_ms, headers, partition in decoded:
        pairs = None if headers is None else [(name, content) for name, content in headers]
        yield Outgoing(topic, value, key, timestamp_ms, pairs, partition)

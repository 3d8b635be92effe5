"""Errors as Java objects, because Flink's clients read the cause of a failed savepoint as one.

The bytes follow the Java Object Serialization Specification: one object of `SerializedThrowable`, which holds nothing
but texts, so a client can show it whether or not it has ever heard of penstock. We only write such objects. Nothing
that comes from the network is read as one.
"""

from __future__ import annotations

import base64
import struct

__all__ = ["serialized_throwable"]

_OBJECT, _CLASS, _STRING, _ARRAY, _REFERENCE, _NULL, _END = b"s", b"r", b"t", b"u", b"q", b"p", b"x"
_MOST_CHARACTERS = 15_000


def serialized_throwable(name: str, text: str, message: str) -> str:
    """Base64 of a SerializedThrowable with this message and stack trace."""
    string_type = _REFERENCE + struct.pack(">I", 0x7E0001)  # the second thing written below
    throwable = _class(
        "java.lang.Throwable", 0xD5C635273977B8CB, 3,
        b"L" + _utf("cause") + _text("Ljava/lang/Throwable;"),
        b"L" + _utf("detailMessage") + string_type,
        b"[" + _utf("stackTrace") + _text("[Ljava/lang/StackTraceElement;"),
        b"L" + _utf("suppressedExceptions") + _text("Ljava/util/List;"),
    ) + _NULL  # fmt: skip
    exception = _class("java.lang.Exception", 0xD0FD1F3E1A3B1CC4, 2) + throwable
    described = _class(
        "org.apache.flink.util.SerializedThrowable", 0x65169DF51FA713F3, 2,
        b"L" + _utf("fullStringifiedStackTrace") + _text("Ljava/lang/String;"),
        b"L" + _utf("originalErrorClassName") + string_type,
        b"[" + _utf("serializedException") + _text("[B"),
    ) + exception  # fmt: skip
    no_frames = _ARRAY + _class("[Ljava.lang.StackTraceElement;", 0x02462A3C3CFD2239, 2) + _NULL + bytes(4)
    none_suppressed = _OBJECT + _class("java.util.Collections$EmptyList", 0x7AB817B43CA79EDE, 2) + _NULL
    of_throwable = _NULL + _text(message) + no_frames + none_suppressed + _END
    of_ours = _text(text) + _text(name) + _NULL
    data = b"\xac\xed\x00\x05" + _OBJECT + described + of_throwable + of_ours
    return base64.b64encode(data).decode()


def _class(name: str, version: int, flags: int, *fields: bytes) -> bytes:
    head = _CLASS + _utf(name) + struct.pack(">QBH", version, flags, len(fields))
    return head + b"".join(fields) + _END


def _utf(text: str) -> bytes:
    """Java's own UTF-8: characters beyond 16 bits as two, and no zero byte."""
    pairs = text[:_MOST_CHARACTERS].encode("utf-16-be", "surrogatepass")
    units = [chr(unit) for unit in struct.unpack(f">{len(pairs) // 2}H", pairs)]
    encoded = b"".join(b"\xc0\x80" if u == "\x00" else u.encode("utf-8", "surrogatepass") for u in units)
    return struct.pack(">H", len(encoded)) + encoded


def _text(text: str) -> bytes:
    return _STRING + _utf(text)

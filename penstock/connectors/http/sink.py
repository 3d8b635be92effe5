"""Rows and elements to a service: a request for each, or one for many."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from penstock.common.serialization import SerializationSchema
from penstock.connectors.async_sink import (
    DEFAULT_SETTINGS,
    AsyncSinkBase,
    AsyncSinkSettings,
    Request,
    RequestClient,
    RequestConverter,
    Unavailable,
)
from penstock.connectors.http.address import address_of
from penstock.connectors.http.client import Answer, HttpClient, HttpSettings, refusal
from penstock.connectors.message_part import MessagePart
from penstock.connectors.request_table import ChangeConverter
from penstock.connectors.sink import WriterContext
from penstock.formats.base import INSERT

__all__ = ["HttpElementSink", "HttpTableSink"]

_GONE = (404, 410)


class Call(NamedTuple):
    """One request; without a body nothing is sent but the address."""

    method: str
    url: str
    body: bytes | None = None


class HttpClientOfCalls(RequestClient):
    """One call after the other. What has been accepted is not sent again because a later one was not."""

    def __init__(self, settings: HttpSettings, headers: dict[str, str]) -> None:
        self._client = HttpClient(settings)
        self._headers = headers

    def submit(self, payloads: Sequence[Call]) -> Sequence[int]:
        again: list[int] = []
        for place, call in enumerate(payloads):
            try:
                answer = self._client.request(call.method, call.url, call.body, self._headers)
            except Unavailable:
                if not place:
                    raise
                return [*again, *range(place, len(payloads))]
            if answer.may_pass:
                again.append(place)
            else:
                check(call, answer)
        if len(again) == len(payloads):
            raise Unavailable(f"{payloads[-1].url} says {answer.shown}")
        return again

    def close(self) -> None:
        self._client.close()


class HttpClientOfBatches(RequestClient):
    """All bodies of a batch in one call."""

    takes_batches_whole = True

    def __init__(
        self, settings: HttpSettings, headers: dict[str, str], form: tuple[bytes, bytes, bytes]
    ) -> None:
        self._client = HttpClient(settings)
        self._headers = headers
        self._form = form

    def submit(self, payloads: Sequence[Call]) -> Sequence[int]:
        begin, between, end = self._form
        body = begin + between.join(call.body or b"" for call in payloads) + end
        call = payloads[0]._replace(body=body)
        answer = self._client.request(call.method, call.url, body, self._headers)
        if answer.may_pass:
            raise Unavailable(f"{call.url} says {answer.shown}")
        check(call, answer)
        return ()

    def close(self) -> None:
        self._client.close()


def check(call: Call, answer: Answer) -> None:
    """Refuses answers that are no success. What is to be deleted and is not there is no failure."""
    if answer.ok or (call.method == "DELETE" and answer.status in _GONE):
        return
    raise refusal(f"{call.method} was refused", answer, call.url)


_TYPES = {"json": "application/json", "csv": "text/csv", "raw": "application/octet-stream"}
_ARRAY = (b"[", b",", b"]")
_LINES = (b"", b"\n", b"\n")


@dataclass(frozen=True)
class HttpTableSink(AsyncSinkBase):
    """How rows are sent; picklable.

    Attributes:
        url: May name columns, as `{id}`.
        batches: Whether the rows of a batch are sent together: an array of JSON, or lines.
    """

    url: str
    message: MessagePart
    http: HttpSettings = field(default_factory=HttpSettings)
    insert_method: str = "POST"
    delete_method: str = "DELETE"
    batches: bool = False
    key_places: tuple[int, ...] = ()
    changelog: bool = False
    settings: AsyncSinkSettings = DEFAULT_SETTINGS

    @property
    def system(self) -> str:
        return f"HTTP service {self.url}"

    @property
    def client_identity(self) -> Hashable:
        return (self.http, self.batches, self.message.format_name)

    def create_client(self) -> RequestClient:
        name = self.message.format_name
        headers = {"Content-Type": _TYPES.get(name, "application/octet-stream")}
        if self.batches:
            return HttpClientOfBatches(self.http, headers, _ARRAY if name == "json" else _LINES)
        return HttpClientOfCalls(self.http, headers)

    def create_converter(self, context: WriterContext) -> RequestConverter:
        return _Rows(self)


class _Rows(ChangeConverter):
    def __init__(self, sink: HttpTableSink) -> None:
        super().__init__(sink.changelog, sink.key_places)
        self._sink = sink
        self._encoder = sink.message.encoder()
        self._address = address_of(sink.url, sink.message.row_type.names)

    def come(self, row: tuple[Any, ...], key: tuple[Any, ...]) -> Request:
        body = self._encoder.encode(INSERT, row)
        return Request(Call(self._sink.insert_method, self._address(row), body), len(body), key or None)

    def gone(self, row: tuple[Any, ...], key: tuple[Any, ...]) -> Request:
        method = self._sink.delete_method
        body = None if method == "DELETE" else self._encoder.encode(INSERT, row)
        return Request(Call(method, self._address(row), body), len(body or b""), key or None)


@dataclass(frozen=True)
class HttpElementSink(AsyncSinkBase):
    """How elements of a program are sent: the schema makes the body of each."""

    url: str
    schema: SerializationSchema
    http: HttpSettings = field(default_factory=HttpSettings)
    method: str = "POST"
    content_type: str = "application/octet-stream"
    settings: AsyncSinkSettings = DEFAULT_SETTINGS

    @property
    def system(self) -> str:
        return f"HTTP service {self.url}"

    @property
    def client_identity(self) -> Hashable:
        return (self.http, self.content_type)

    def create_client(self) -> RequestClient:
        return HttpClientOfCalls(self.http, {"Content-Type": self.content_type})

    def create_converter(self, context: WriterContext) -> RequestConverter:
        return _Elements(self)


class _Elements(RequestConverter):
    def __init__(self, sink: HttpElementSink) -> None:
        self._sink = sink
        sink.schema.open()

    def convert(self, value: Any) -> Iterable[Request]:
        body = self._sink.schema.serialize(value)
        if body is None:
            return []
        return [Request(Call(self._sink.method, self._sink.url, body), len(body))]

"""Services over HTTP. Flink itself has no such connector: the names are ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.errors import ValidationError
from penstock.common.serialization import SerializationSchema
from penstock.connectors.async_sink import DEFAULT_SETTINGS, AsyncSinkSettings
from penstock.connectors.http.client import HttpSettings, checked_url
from penstock.connectors.http.sink import HttpElementSink
from penstock.connectors.sink import Sink, SinkWriter, WriterContext

__all__ = ["AsyncSinkSettings", "HttpSink", "HttpSinkBuilder"]


class HttpSink(Sink):
    """Sends each element of a stream in a request, at least once; made by `HttpSink.builder()`."""

    def __init__(self, sink: HttpElementSink) -> None:
        self._sink = sink

    @staticmethod
    def builder() -> HttpSinkBuilder:
        """Begins a sink; a URL and a serialization schema are needed.

        Example:
            ```python
            sink = (
                HttpSink.builder()
                .set_url("https://example.org/orders")
                .set_content_type("application/json")
                .set_value_serialization_schema(schema)
                .build()
            )
            ```
        """
        return HttpSinkBuilder()

    def create_writer(self, context: WriterContext, restored: Sequence[Any] = ()) -> SinkWriter:
        """Called by the runtime in a task, for every epoch."""
        return self._sink.create_writer(context, restored)


class HttpSinkBuilder:
    """Settings of an `HttpSink`."""

    def __init__(self) -> None:
        self._url: str | None = None
        self._method = "POST"
        self._schema: SerializationSchema | None = None
        self._headers: dict[str, str] = {}
        self._content_type = "application/octet-stream"
        self._login: tuple[str | None, str | None] = (None, None)
        self._settings = DEFAULT_SETTINGS

    def set_url(self, url: str) -> HttpSinkBuilder:
        """Where requests are sent."""
        self._url = url
        return self

    def set_method(self, method: str) -> HttpSinkBuilder:
        """POST unless another one is set."""
        self._method = method.upper()
        return self

    def set_value_serialization_schema(self, schema: SerializationSchema) -> HttpSinkBuilder:
        """What makes the body of a request."""
        self._schema = schema
        return self

    def set_content_type(self, content_type: str) -> HttpSinkBuilder:
        """The content type of the bodies; `application/octet-stream` if it is not said."""
        self._content_type = content_type
        return self

    def set_header(self, name: str, value: str) -> HttpSinkBuilder:
        """Adds a header to every request; the last value of a name counts."""
        self._headers[name] = value
        return self

    def set_login(self, username: str, password: str) -> HttpSinkBuilder:
        """Sends user name and password with every request (HTTP basic authentication)."""
        self._login = (username, password)
        return self

    def set_settings(self, settings: AsyncSinkSettings) -> HttpSinkBuilder:
        """Requests under way, retries, pauses."""
        self._settings = settings
        return self

    def build(self) -> HttpSink:
        """The sink.

        Raises:
            ValidationError: There is no address, or nothing that makes bodies.
        """
        if self._url is None:
            raise ValidationError("there is no address to send to", do="call set_url")
        if self._schema is None:
            raise ValidationError("nothing makes bodies", do="call set_value_serialization_schema")
        checked_url(self._url)
        http = HttpSettings(tuple(sorted(self._headers.items())), *self._login)
        return HttpSink(
            HttpElementSink(self._url, self._schema, http, self._method, self._content_type, self._settings)
        )

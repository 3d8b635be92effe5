"""Asking a service for the rows of keys, several at a time.

    GET   the key's columns are in the address, where it names them, or else in its query
    POST  they are an object of JSON

The answer is an object, or an array of objects; 204 and 404 say that there is no row. Columns of the key that the
answer does not have get the values that were asked for.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import ExternalSystemError
from penstock.connectors.async_sink import AsyncSinkSettings, Unavailable
from penstock.connectors.http.address import address_of, named_in, text, with_parameters
from penstock.connectors.http.client import Answer, HttpClient, HttpSettings, refusal
from penstock.connectors.lookup import Key, LookupSource, Rows, naive_moments
from penstock.connectors.message_part import MessagePart
from penstock.formats.base import RecordContext

__all__ = ["HttpAsking", "HttpLookup"]

_NOTHING = (204, 404)


@dataclass(frozen=True)
class HttpAsking:
    """How a service is asked; picklable."""

    url: str
    message: MessagePart
    key_places: tuple[int, ...]
    http: HttpSettings
    method: str = "GET"
    max_retries: int = 3
    retry_delay_ms: int = 100
    at_once: int = 8


class HttpLookup(LookupSource):
    """A connection for each of the threads that ask; they are kept between epochs."""

    def __init__(self, asking: HttpAsking) -> None:
        self._asking = asking
        self._pool: ThreadPoolExecutor | None = None

    def open(self) -> None:
        asking = self._asking
        self._pool = ThreadPoolExecutor(asking.at_once, "penstock-http-lookup")
        self._of_thread = threading.local()
        names = asking.message.row_type.names
        self._key_names = [names[place] for place in asking.key_places]
        self._address = address_of(asking.url, self._key_names)
        self._in_address = set(named_in(asking.url))
        self._decoder = asking.message.decoder()
        self._naive = naive_moments(asking.message.row_type)
        self._pauses = AsyncSinkSettings(initial_backoff_ms=asking.retry_delay_ms)

    def lookup(self, keys: Sequence[Key]) -> Sequence[Rows]:
        assert self._pool is not None, "open comes first"
        return list(self._pool.map(self._rows_of, keys))

    def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)

    def _rows_of(self, key: Key) -> Rows:
        url, body = self._question(key)
        answer = self._asked(url, body)
        if answer.status in _NOTHING:
            return []
        if not answer.ok:
            raise refusal("a lookup was refused", answer, url)
        rows = self._decoder.decode(answer.body, RecordContext(url)) if answer.body.strip() else []
        return [self._completed(row, key) for _, row in rows]

    def _question(self, key: Key) -> tuple[str, bytes | None]:
        url = self._address(key)
        rest = [
            (name, value)
            for name, value in zip(self._key_names, key, strict=True)
            if name not in self._in_address
        ]
        if self._asking.method == "GET":
            return with_parameters(url, rest), None
        return url, json.dumps(dict(rest), default=text).encode()

    def _asked(self, url: str, body: bytes | None) -> Answer:
        """The answer; a service that is away, or has no time, is asked again."""
        asking, client = self._asking, self._client()
        headers = {"Content-Type": "application/json"} if body is not None else {}
        for attempt in range(asking.max_retries + 1):
            why = ""
            try:
                answer = client.request(asking.method, url, body, headers)
                if not answer.may_pass:
                    return answer
                why = f"{url} says {answer.shown}"
            except Unavailable as error:
                why = str(error)
            if attempt < asking.max_retries:
                time.sleep(self._pauses.pause_s(attempt))
        raise ExternalSystemError(f"a key cannot be looked up: {why}", where=f"HTTP service {asking.url}")

    def _client(self) -> HttpClient:
        client: HttpClient | None = getattr(self._of_thread, "client", None)
        if client is None:
            client = self._of_thread.client = HttpClient(self._asking.http)
        return client

    def _completed(self, row: tuple[Any, ...], key: Key) -> tuple[Any, ...]:
        values = list(row)
        for place, value in zip(self._asking.key_places, key, strict=True):
            if values[place] is None:
                values[place] = value
        return self._naive(tuple(values))

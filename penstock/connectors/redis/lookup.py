"""Asking for the rows of keys: all keys of a batch in one go."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from penstock.common.errors import ExternalSystemError, InvariantError
from penstock.connectors.async_sink import AsyncSinkSettings, Unavailable
from penstock.connectors.lookup import Key, LookupSource, Rows, naive_moments
from penstock.connectors.redis.client import RedisAddress, redis_library
from penstock.connectors.redis.layout import Layout, RowReader

_PAUSES = AsyncSinkSettings()


class RedisLookup(LookupSource):
    """One connection per process, kept between epochs and made anew when it fails.

    `order` says where the columns of the primary key are among those that are asked for.
    """

    def __init__(
        self,
        address: RedisAddress,
        layout: Layout,
        key_places: Sequence[int],
        order: Sequence[int],
        max_retries: int,
    ) -> None:
        self._address = address
        self._layout = layout
        self._key_places = tuple(key_places)
        self._order = tuple(order)
        self._max_retries = max_retries
        self._client: Any = None

    def open(self) -> None:
        self._reader = RowReader(self._layout, self._key_places)
        self._naive = naive_moments(self._layout.row_type)

    def lookup(self, keys: Sequence[Key]) -> Sequence[Rows]:
        ordered = [tuple(key[place] for place in self._order) for key in keys]
        answers = self._asked(ordered)
        return [
            [self._naive(row) for row in self._reader.rows(key, stored)]
            for key, stored in zip(ordered, answers, strict=True)
        ]

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            try:
                client.close()
            except (redis_library().RedisError, OSError):
                pass

    def _asked(self, keys: Sequence[Key]) -> list[Any]:
        for attempt in range(self._max_retries + 1):
            try:
                return self._fetched(keys)
            except Unavailable as error:
                self.close()
                if attempt == self._max_retries:
                    raise ExternalSystemError(
                        f"keys cannot be looked up: {error}", where=f"Redis at {self._address.shown}"
                    ) from error
            time.sleep(_PAUSES.pause_s(attempt))
        raise InvariantError("a lookup ended without an answer or an error")

    def _fetched(self, keys: Sequence[Key]) -> list[Any]:
        try:
            if self._client is None:
                self._client = self._address.connect()
            pipeline = self._client.pipeline(transaction=False)
            for key in keys:
                pipeline.execute_command(*self._reader.question(key))
            found: list[Any] = pipeline.execute()
            return found
        except redis_library().RedisError as error:
            raise self._address.explained(error, "a lookup was refused") from error

"""Tables that can be asked for the rows of a key: the right side of a lookup join.

    SELECT … FROM orders AS o JOIN customers FOR SYSTEM_TIME AS OF o.proc_time AS c ON c.id = o.customer

A connector that can do it gives a `LookupSource` from `TableConnector.lookup_source`. It is pickled into the tasks,
which ask it once for all keys of a batch and put what it said into a `LookupCache`, if the table's options want one:

    lookup.cache = NONE     every batch asks
    lookup.cache = PARTIAL  answers are kept: at most so many rows, for so long
    lookup.cache = FULL     the source itself holds all of the table and loads it anew after an interval
"""

from __future__ import annotations

import datetime as dt
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.config_values import parse_duration
from penstock.common.datatypes import LocalZonedTimestampType, RowType
from penstock.formats.base import Option, boolean, one_of

Key = tuple[Any, ...]
Rows = Sequence[tuple[Any, ...]]


def _millis(text: str) -> int:
    return parse_duration(text).to_millis()


LOOKUP_OPTIONS = (
    Option("lookup.cache", one_of("NONE", "PARTIAL"), "NONE"),
    Option("lookup.partial-cache.max-rows", int),
    Option("lookup.partial-cache.expire-after-write", _millis),
    Option("lookup.partial-cache.expire-after-access", _millis),
    Option("lookup.partial-cache.cache-missing-key", boolean, True),
    Option("lookup.max-retries", int, 3),
)
"""What connectors of databases offer, under Flink's names."""


def naive_moments(row_type: RowType) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """A function that takes the zone from moments: streaming operators keep them as naive values in UTC."""
    zoned = [i for i, f in enumerate(row_type.fields) if isinstance(f.data_type, LocalZonedTimestampType)]
    if not zoned:
        return lambda row: row
    return lambda row: tuple(_naive(v) if i in zoned and v is not None else v for i, v in enumerate(row))


def _naive(moment: dt.datetime) -> dt.datetime:
    return moment.astimezone(dt.timezone.utc).replace(tzinfo=None) if moment.tzinfo else moment


class LookupSource(ABC):
    """Finds rows by key. It is made when the query is planned and pickled; `open` is called in the tasks.

    Rows have the table's physical columns, as plain Python values. A key is a tuple of the values of the columns
    that `lookup_source` was given, none of them NULL.
    """

    def open(self) -> None:
        """Connects; once per process, before the first `lookup`."""

    @abstractmethod
    def lookup(self, keys: Sequence[Key]) -> Sequence[Rows]:
        """The rows of each key, in the order of the keys. May be called again for the same keys."""

    def close(self) -> None:
        """The query is over; once per `open`. May never come if the process is killed."""


@dataclass(frozen=True)
class CachePolicy:
    """How long answers are kept; `max_rows` None is no bound, times are milliseconds."""

    max_rows: int | None = None
    expire_after_write_ms: int | None = None
    expire_after_access_ms: int | None = None
    missing_keys: bool = True

    @classmethod
    def of(cls, values: dict[str, Any]) -> CachePolicy | None:
        """From a connector's option values; None if nothing is to be kept."""
        if values.get("lookup.cache") != "PARTIAL":
            return None
        option = "lookup.partial-cache."
        return cls(
            values[f"{option}max-rows"],
            values[f"{option}expire-after-write"],
            values[f"{option}expire-after-access"],
            values[f"{option}cache-missing-key"],
        )


class LookupCache:
    """Answers by key, the least recently used one first to go."""

    def __init__(self, policy: CachePolicy, clock: Callable[[], float] = time.monotonic) -> None:
        self._policy = policy
        self._clock = clock
        self._kept: OrderedDict[Key, tuple[float, float, Rows]] = OrderedDict()
        self._rows = 0

    def get(self, key: Key) -> Rows | None:
        """The answer; None if it is not there, or not any more."""
        found = self._kept.get(key)
        if found is None:
            return None
        written, used, rows = found
        now, policy = self._clock(), self._policy
        if _is_over(written, policy.expire_after_write_ms, now) or _is_over(
            used, policy.expire_after_access_ms, now
        ):
            self._drop(key)
            return None
        self._kept[key] = (written, now, rows)
        self._kept.move_to_end(key)
        return rows

    def put(self, key: Key, rows: Rows) -> None:
        if not rows and not self._policy.missing_keys:
            return
        if key in self._kept:
            self._drop(key)
        now = self._clock()
        self._kept[key] = (now, now, rows)
        self._rows += max(1, len(rows))
        while self._policy.max_rows is not None and self._rows > self._policy.max_rows and self._kept:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: Key) -> None:
        self._rows -= max(1, len(self._kept.pop(key)[2]))


def _is_over(since: float, limit_ms: int | None, now: float) -> bool:
    return limit_ms is not None and (now - since) * 1000 >= limit_ms


@dataclass(frozen=True)
class Retry:
    """The LOOKUP hint: ask again, after a pause, for keys that nothing was found for."""

    attempts: int = 1
    delay_ms: int = 0


_ASK_ONCE = Retry()


class Lookup:
    """A source together with what was learnt from it: what a process asks from one batch to the next.

    The owner calls `open` before the first question and `close` when the query is over; the source is closed
    once, also if it could not be opened completely.
    """

    def __init__(
        self, source: LookupSource, cache: CachePolicy | None = None, retry: Retry = _ASK_ONCE
    ) -> None:
        self._source = source
        self._cache = None if cache is None else LookupCache(cache)
        self._retry = retry

    def open(self) -> None:
        try:
            self._source.open()
        except BaseException:
            self._source.close()
            raise

    def close(self) -> None:
        self._source.close()

    def answers(self, keys: Sequence[Key]) -> Mapping[Key, Rows]:
        """The rows of each key, none of which is NULL or given twice."""
        found: dict[Key, Rows] = {}
        if self._cache is not None:
            found = {key: rows for key in keys if (rows := self._cache.get(key)) is not None}
        asked = [key for key in keys if key not in found]
        for attempt in range(self._retry.attempts):
            if not asked:
                break
            if attempt:
                time.sleep(self._retry.delay_ms / 1000)
            found.update(zip(asked, self._source.lookup(asked), strict=True))
            if self._cache is not None:
                for key in asked:
                    self._cache.put(key, found[key])
            asked = [key for key in asked if not found[key]]
        return found

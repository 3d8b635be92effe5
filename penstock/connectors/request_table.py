"""What tables over request sinks share (`async_sink.py`): changes by key, a format, and the options for batches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.common.errors import ValidationError
from penstock.connectors.async_sink import AsyncSinkSettings, Request, RequestConverter
from penstock.connectors.message_part import MessagePart
from penstock.connectors.option_values import at_least, millis, size_bytes
from penstock.connectors.table import (
    ChangelogMode,
    Direction,
    SinkRequest,
    SinkRequirements,
    TableConnector,
)
from penstock.formats.base import DELETE, UPDATE_BEFORE, Option

if TYPE_CHECKING:
    from penstock.catalog.objects import CatalogTable

__all__ = ["BATCH_OPTIONS", "ChangeConverter", "RequestTable", "batch_settings"]

BATCH_OPTIONS = (
    Option("sink.batch.max-size", at_least(1), 500),
    Option("sink.flush-buffer.size", size_bytes, 5 << 20),
    Option("sink.flush-buffer.timeout", millis, 5000),
    Option("sink.requests.max-inflight", at_least(1), 4),
    Option("sink.requests.max-buffered", at_least(1), 10_000),
    Option("sink.max-retries", at_least(0), 5),
    Option("sink.retry-delay", millis, 100),
    Option("sink.parallelism", at_least(1)),
)
"""Under the names that Flink's `AsyncSinkConnectorOptions` have, as far as they do."""


def batch_settings(values: Mapping[str, Any]) -> AsyncSinkSettings:
    return AsyncSinkSettings(
        max_batch_size=values["sink.batch.max-size"],
        max_batch_size_in_bytes=values["sink.flush-buffer.size"],
        max_in_flight_requests=values["sink.requests.max-inflight"],
        max_buffered_requests=values["sink.requests.max-buffered"],
        max_retries=values["sink.max-retries"],
        initial_backoff_ms=values["sink.retry-delay"],
    )


class ChangeConverter(RequestConverter):
    """Rows that come and go, to requests.

    An update comes as two changes, the row before and the row after. The row before says nothing, unless no other
    change of its key follows in the epoch: then the row is gone.
    """

    def __init__(self, changelog: bool, key_places: Sequence[int]) -> None:
        self._changelog = changelog
        self._key_places = tuple(key_places)
        self._halves: dict[tuple[Any, ...], tuple[Any, ...]] = {}

    @abstractmethod
    def come(self, row: tuple[Any, ...], key: tuple[Any, ...]) -> Request:
        """The row is there now; `key` is empty for a table without one."""

    @abstractmethod
    def gone(self, row: tuple[Any, ...], key: tuple[Any, ...]) -> Request:
        """There is no row with this key any more."""

    def convert(self, value: Any) -> Iterator[Request]:
        row, kind = (tuple(value[:-1]), value[-1]) if self._changelog else (tuple(value), 0)
        key = tuple(row[place] for place in self._key_places)
        self._halves.pop(key, None)
        if kind == UPDATE_BEFORE and key:
            self._halves[key] = row
        elif kind in (DELETE, UPDATE_BEFORE):
            yield self.gone(row, key)
        else:
            yield self.come(row, key)

    def rest(self) -> Iterable[Request]:
        halves, self._halves = self._halves, {}
        return [self.gone(row, key) for key, row in halves.items()]


class RequestTable(TableConnector):
    """A table that is written by requests. With a primary key it takes updates and deletions."""

    upserts = True
    all_or_nothing = False  # requests cannot be taken back
    update_advice = "declare a PRIMARY KEY for the sink: rows can only be replaced by key"

    @property
    def format_name(self) -> str | None:
        """The format of rows in requests; None if they have none."""
        found: str | None = self.values.get("format")
        return found

    def knows(self, key: str) -> bool:
        name = self.raw_options.get("format") or self._default("format")
        return super().knows(key) or (name is not None and key.startswith(f"{name}."))

    def _default(self, name: str) -> Any:
        return next((option.default for option in self.options if option.name == name), None)

    def message(self, table: CatalogTable) -> MessagePart:
        """All columns in the table's format."""
        assert self.format_name is not None, "a table without a format has no messages"
        everything = tuple(range(len(table.physical_schema.fields)))
        return MessagePart(self.format_name, self.raw_options, table.physical_schema, everything)

    def validate(self, table: CatalogTable, for_: Direction) -> None:
        super().validate(table, for_)
        if table.partition_keys:
            raise self.refused(f"tables of connector '{self.name}' cannot be PARTITIONED BY columns")
        try:
            if self.format_name is not None:
                part = self.message(table)
                part.check()
                part.encoder() if for_ == "sink" else part.decoder()
            self.check(table, for_)
        except ValidationError as error:
            raise self.refused(error.what, do=error.do) from None
        except ValueError as error:
            raise self.refused(f"the format cannot hold this table: {error}") from None

    def check(self, table: CatalogTable, for_: Direction) -> None:
        """Refuses what only this connector knows to be wrong."""

    def key_places(self, table: CatalogTable) -> tuple[int, ...]:
        names = table.physical_schema.names
        return tuple(names.index(name) for name in table.primary_key)

    def sink_changelog_mode(self, table: CatalogTable) -> ChangelogMode:
        return "changelog" if table.primary_key else "insert-only"

    def sink_requirements(self, table: CatalogTable, request: SinkRequest) -> SinkRequirements:
        """A key's changes go to one task, in order."""
        tasks = self.values["sink.parallelism"]
        if not table.primary_key:
            return SinkRequirements(None if tasks is None else (), tasks)
        return SinkRequirements(self.key_places(table), tasks or request.parallelism)

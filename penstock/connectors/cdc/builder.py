"""What the builders of `postgres_cdc` and `mysql_cdc` sources share.

A builder's methods are Flink CDC's, in PyFlink's spelling. Each sets an option of the table connector, so that
programs and tables have the same defaults and the same checks.
"""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from penstock.common.errors import ValidationError
from penstock.connectors.cdc import options as o
from penstock.connectors.cdc.database import Login, Selection
from penstock.connectors.cdc.debezium import DebeziumDeserializationSchema, Records
from penstock.connectors.cdc.enumerator import Capture
from penstock.connectors.cdc.reader import CdcSource
from penstock.formats.base import Option, read_options

__all__ = ["CdcSourceBuilder", "StartupOptions"]

Self = TypeVar("Self", bound="CdcSourceBuilder")


class StartupOptions:
    """Where reading begins; made by the methods below."""

    def __init__(self, mode: str, **options: str) -> None:
        self.options = {"scan.startup.mode": mode, **{f"scan.startup.{k}": v for k, v in options.items()}}

    @staticmethod
    def initial() -> StartupOptions:
        """The rows that are there, then the log."""
        return StartupOptions("initial")

    @staticmethod
    def snapshot() -> StartupOptions:
        """The rows that are there; the source ends then."""
        return StartupOptions("snapshot")

    @staticmethod
    def earliest() -> StartupOptions:
        """Everything that the log still has (MySQL)."""
        return StartupOptions("earliest-offset")

    @staticmethod
    def latest() -> StartupOptions:
        """What is logged from now on."""
        return StartupOptions("latest-offset")

    @staticmethod
    def committed() -> StartupOptions:
        """From where the slot is confirmed (PostgreSQL)."""
        return StartupOptions("committed-offset")

    @staticmethod
    def specific_offset(specific_offset_file: str, specific_offset_pos: int) -> StartupOptions:
        """From a place in the log (MySQL)."""
        place = {
            "specific-offset.file": specific_offset_file,
            "specific-offset.pos": str(specific_offset_pos),
        }
        return StartupOptions("specific-offset", **place)

    @staticmethod
    def timestamp(startup_timestamp_millis: int) -> StartupOptions:
        """What was logged since then (MySQL)."""
        return StartupOptions("timestamp", **{"timestamp-millis": str(startup_timestamp_millis)})


class CdcSourceBuilder(ABC):
    """Settings of a source; where the server is, the tables and a deserializer are needed."""

    connector: ClassVar[str]
    known: ClassVar[tuple[Option, ...]]
    debezium: ClassVar[Mapping[str, Option]]
    ask_for_images: ClassVar[str]

    def __init__(self) -> None:
        self._options: dict[str, str] = {}
        self._tables: tuple[str, ...] = ()
        self._deserializer: DebeziumDeserializationSchema | None = None

    def _set(self: Self, name: str, value: object) -> Self:
        self._options[name] = str(value).lower() if isinstance(value, bool) else str(value)
        return self

    def hostname(self: Self, hostname: str) -> Self:
        return self._set("hostname", hostname)

    def port(self: Self, port: int) -> Self:
        return self._set("port", port)

    def username(self: Self, username: str) -> Self:
        return self._set("username", username)

    def password(self: Self, password: str) -> Self:
        return self._set("password", password)

    def table_list(self: Self, *table_list: str) -> Self:
        """Regular expressions for whole names: `schema.table` in PostgreSQL, `database.table` in MySQL."""
        self._tables = table_list
        return self

    def startup_options(self: Self, startup_options: StartupOptions) -> Self:
        self._options.update(startup_options.options)
        return self

    def split_size(self: Self, split_size: int) -> Self:
        """Rows in a chunk of the snapshot."""
        return self._set("scan.incremental.snapshot.chunk.size", split_size)

    def chunk_key_column(self: Self, chunk_key_column: str) -> Self:
        return self._set("scan.incremental.snapshot.chunk.key-column", chunk_key_column)

    def fetch_size(self: Self, fetch_size: int) -> Self:
        return self._set("scan.snapshot.fetch.size", fetch_size)

    def connect_timeout(self: Self, connect_timeout: dt.timedelta) -> Self:
        return self._set("connect.timeout", f"{round(connect_timeout.total_seconds() * 1000)} ms")

    def connect_max_retries(self: Self, connect_max_retries: int) -> Self:
        return self._set("connect.max-retries", connect_max_retries)

    def debezium_properties(self: Self, properties: Mapping[str, str]) -> Self:
        """Settings of Debezium that mean something here; others are refused."""
        self._options.update({o.DEBEZIUM + name: value for name, value in properties.items()})
        return self

    def deserializer(self: Self, deserializer: DebeziumDeserializationSchema) -> Self:
        """What changes become, e.g. `JsonDebeziumDeserializationSchema()`."""
        self._deserializer = deserializer
        return self

    def build(self) -> CdcSource:
        """The source.

        Raises:
            ValidationError: Something is missing, or cannot be read.
        """
        if self._deserializer is None:
            raise ValidationError(
                "there is no deserializer", do="call deserializer(JsonDebeziumDeserializationSchema())"
            )
        if not self._tables:
            raise ValidationError("it is not said what to read", do="call table_list(...)")
        given = {"table-name": ", ".join(self._tables), "database-name": "", **self._options}
        values = read_options(self.known, given)
        engine = o.debezium_options(given, self.debezium, f"source {self.connector}")
        o.check(values, f"source {self.connector}")
        row_type = self._deserializer.row_type()
        selection = Selection(
            "|".join(f"(?:{table})" for table in self._tables),
            None if row_type is None else tuple(field.name for field in row_type.fields),
            values["scan.incremental.snapshot.chunk.key-column"],
            values["scan.incremental.snapshot.chunk.size"],
            values["scan.snapshot.fetch.size"],
            values["scan.incremental.snapshot.enabled"],
        )
        selection.check()
        login = Login(
            values["hostname"], values["port"], values["username"], values["password"],
            values["connect.timeout"] / 1000, values["connect.max-retries"],
        )  # fmt: skip
        capture = self._capture(login, selection, values, engine)
        name = self.connector.removesuffix("-cdc").replace("postgres", "postgresql")
        records = Records(self._deserializer, name, self._zone(values), self.ask_for_images)
        return CdcSource(capture, records, self._deserializer.get_produced_type())

    @abstractmethod
    def _capture(
        self, login: Login, selection: Selection, values: Mapping[str, Any], engine: Mapping[str, Any]
    ) -> Capture:
        """What is read."""

    def _zone(self, values: Mapping[str, Any]) -> dt.tzinfo:
        return dt.timezone.utc

"""JDBC, as PyFlink spells it: `stream.add_sink(JdbcSink.sink(...))`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.common.typeinfo import RowTypeInfo
from penstock.connectors.jdbc.dialect import Login, find_dialect
from penstock.connectors.jdbc.statement import JdbcStatement, JdbcStatementSink
from penstock.connectors.jdbc.url import JdbcUrl
from penstock.connectors.row_types import row_type_of
from penstock.connectors.sink import Committer, Sink, SinkCoordinator, SinkWriter, WriterContext
from penstock.functions.legacy import SinkFunction

__all__ = ["JdbcConnectionOptions", "JdbcExactlyOnceOptions", "JdbcExecutionOptions", "JdbcSink"]


class JdbcSink(SinkFunction, Sink):
    """Executes a statement for each row; `add_sink` and `sink_to` take it."""

    def __init__(self, j_jdbc_sink: JdbcStatementSink) -> None:
        super().__init__(j_jdbc_sink)

    @staticmethod
    def sink(
        sql: str,
        type_info: RowTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """Rows are written at least once: an epoch that fails is written again. An upsert hides that.

        Args:
            sql: The statement, with a `?` for each field of the rows.
            type_info: The type of the rows, `Types.ROW([...])` or `Types.ROW_NAMED([...], [...])`.
        """
        return JdbcSink(_sink(sql, type_info, jdbc_connection_options, jdbc_execution_options))

    @staticmethod
    def exactly_once_sink(
        sql: str,
        type_info: RowTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
        jdbc_exactly_once_options: JdbcExactlyOnceOptions | None = None,
    ) -> JdbcSink:
        """Rows are written exactly once, whatever the statement does (Java API; no XA is needed here).

        An epoch is one transaction of the database, in which the epoch is also noted: docs/connectors/jdbc.md.
        """
        once = jdbc_exactly_once_options or JdbcExactlyOnceOptions.defaults()
        return JdbcSink(_sink(sql, type_info, jdbc_connection_options, jdbc_execution_options, once))

    def create_writer(self, context: WriterContext, restored: Sequence[Any] = ()) -> SinkWriter:
        """Called by the runtime in a task, for every epoch."""
        writer: SinkWriter = self.sink_func.create_writer(context, restored)
        return writer

    def create_committer(self) -> Committer | None:
        """Called by the runtime in the driver; None where rows are written at least once."""
        committer: Committer | None = self.sink_func.create_committer()
        return committer

    def create_coordinator(self) -> SinkCoordinator | None:
        """Called by the runtime in the driver; None where there is nothing to coordinate."""
        coordinator: SinkCoordinator | None = self.sink_func.create_coordinator()
        return coordinator


def _sink(
    sql: str,
    type_info: RowTypeInfo,
    connection: JdbcConnectionOptions,
    execution: JdbcExecutionOptions | None,
    once: JdbcExactlyOnceOptions | None = None,
) -> JdbcStatementSink:
    if not isinstance(type_info, RowTypeInfo):
        raise TypeMismatchError(
            f"JdbcSink needs the type of its rows, got {type_info!r}", do="pass Types.ROW([...])"
        )
    execution = execution or JdbcExecutionOptions.defaults()
    return JdbcStatementSink(
        JdbcStatement(*_database(connection), sql, row_type_of(type_info)),
        execution.get_batch_size(),
        execution.get_max_retries(),
        once is not None,
        3 if once is None else once.get_max_commit_attempts(),
        None if once is None else once.get_unknown_outcome(),
    )


def _database(connection: JdbcConnectionOptions) -> tuple[Any, Login]:
    """The dialect and how to get in; refuses what is missing, also the driver's package."""
    address = connection.get_db_url()
    if address is None:
        raise ValidationError("there is no database to write to", do="call with_url")
    url = JdbcUrl.parse(address)
    dialect = find_dialect(url)
    dialect.driver()
    return dialect, Login(url, connection.get_user_name(), connection.get_password())


class JdbcConnectionOptions:
    """How to reach the database."""

    def __init__(self, j_jdbc_connection_options: Any) -> None:
        self._options: dict[str, str] = dict(j_jdbc_connection_options)

    def get_db_url(self) -> str | None:
        """The JDBC URL, None if it was not set."""
        return self._options.get("url")

    def get_driver_name(self) -> str | None:
        """The name of the Java driver, which nothing here uses; None if it was not set."""
        return self._options.get("driver_name")

    def get_user_name(self) -> str | None:
        """The user, None if it was not set."""
        return self._options.get("user_name")

    def get_password(self) -> str | None:
        """The password, None if it was not set."""
        return self._options.get("password")

    class JdbcConnectionOptionsBuilder:
        """Settings of `JdbcConnectionOptions`."""

        def __init__(self) -> None:
            self._options: dict[str, str] = {}

        def with_url(self, url: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """The database, such as `jdbc:postgresql://host:5432/shop`."""
            self._options["url"] = url
            return self

        def with_driver_name(self, driver_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Kept, without effect: the URL says which Python driver is used."""
            self._options["driver_name"] = driver_name
            return self

        def with_user_name(self, user_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """The user to log in as."""
            self._options["user_name"] = user_name
            return self

        def with_password(self, password: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """The user's password."""
            self._options["password"] = password
            return self

        def build(self) -> JdbcConnectionOptions:
            """The options as set so far; a missing URL is told when a sink is made.

            >>> builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
            >>> builder.with_url("jdbc:postgresql://db:5432/shop").with_user_name("writer").build().get_user_name()
            'writer'
            """
            return JdbcConnectionOptions(self._options)


@dataclass(frozen=True)
class _Execution:
    batch_interval_ms: int = 0
    batch_size: int = 5000
    max_retries: int = 3


class JdbcExecutionOptions:
    """How statements are batched; Flink's defaults."""

    def __init__(self, j_jdbc_execution_options: Any) -> None:
        self._execution: _Execution = j_jdbc_execution_options

    def get_batch_interval_ms(self) -> int:
        """What `with_batch_interval_ms` was told."""
        return self._execution.batch_interval_ms

    def get_batch_size(self) -> int:
        """How many rows go to the database together."""
        return self._execution.batch_size

    def get_max_retries(self) -> int:
        """How often rows are sent again."""
        return self._execution.max_retries

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        """Batches of 5,000 rows, three retries."""
        return JdbcExecutionOptions(_Execution())

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        """Begins with the defaults."""
        return JdbcExecutionOptions.Builder()

    class Builder:
        """Settings of `JdbcExecutionOptions`."""

        def __init__(self) -> None:
            self._values: dict[str, int] = {}

        def with_batch_size(self, size: int) -> JdbcExecutionOptions.Builder:
            """How many rows go to the database together; 0 leaves it to the sink."""
            self._values["batch_size"] = size
            return self

        def with_batch_interval_ms(self, interval_ms: int) -> JdbcExecutionOptions.Builder:
            """Kept, without effect: what is left of an epoch is written when the epoch ends."""
            self._values["batch_interval_ms"] = interval_ms
            return self

        def with_max_retries(self, max_retries: int) -> JdbcExecutionOptions.Builder:
            """How often rows are sent again when the database fails in a way that may pass."""
            self._values["max_retries"] = max_retries
            return self

        def build(self) -> JdbcExecutionOptions:
            """The options as set so far."""
            return JdbcExecutionOptions(_Execution(**self._values))


@dataclass(frozen=True)
class _ExactlyOnce:
    max_commit_attempts: int = 3
    unknown_outcome: str | None = None

    def __post_init__(self) -> None:
        if self.max_commit_attempts < 1:
            raise ValidationError(f"max_commit_attempts is {self.max_commit_attempts}: it must be positive")
        if self.unknown_outcome not in (None, "skip", "publish"):
            raise ValidationError(
                f"the unknown outcome is {self.unknown_outcome!r}", do="say 'skip' or 'publish'"
            )


class JdbcExactlyOnceOptions:
    """How an exactly-once sink commits (Java API). What is about XA there has no meaning here."""

    def __init__(self, values: _ExactlyOnce) -> None:
        self._values = values

    def get_max_commit_attempts(self) -> int:
        """How often the driver tries to write an epoch."""
        return self._values.max_commit_attempts

    def get_unknown_outcome(self) -> str | None:
        """'skip' or 'publish', None if the job is to fail and ask."""
        return self._values.unknown_outcome

    @staticmethod
    def defaults() -> JdbcExactlyOnceOptions:
        """Three attempts; an unknown outcome fails the job."""
        return JdbcExactlyOnceOptions(_ExactlyOnce())

    @staticmethod
    def builder() -> JdbcExactlyOnceOptions.Builder:
        """Begins with the defaults."""
        return JdbcExactlyOnceOptions.Builder()

    class Builder:
        """Settings of `JdbcExactlyOnceOptions`."""

        def __init__(self) -> None:
            self._values: dict[str, Any] = {}

        def with_max_commit_attempts(self, max_commit_attempts: int) -> JdbcExactlyOnceOptions.Builder:
            """How often the driver tries to write an epoch before the restart strategy decides."""
            self._values["max_commit_attempts"] = max_commit_attempts
            return self

        def with_unknown_outcome(self, decision: str) -> JdbcExactlyOnceOptions.Builder:
            """'skip' or 'publish' an epoch of which nobody knows whether it was written: the job was set back."""
            self._values["unknown_outcome"] = decision
            return self

        def build(self) -> JdbcExactlyOnceOptions:
            """The options; values that cannot be are refused."""
            return JdbcExactlyOnceOptions(_ExactlyOnce(**self._values))

"""JDBC, as PyFlink spells it; refused by `JdbcSink.sink()`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.datastream.connectors.unsupported import refuse
from penstock.functions.legacy import SinkFunction

__all__ = ["JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink"]


class JdbcSink(SinkFunction):
    """Runs a statement for each row."""

    def __init__(self, j_jdbc_sink: Any) -> None:
        refuse("JdbcSink", "there is no database connection that takes part in checkpoints yet")

    @staticmethod
    def sink(
        sql: str,
        type_info: Any,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        return JdbcSink(sql)


class JdbcConnectionOptions:
    """How to reach the database."""

    def __init__(self, j_jdbc_connection_options: Any) -> None:
        self._options: dict[str, str] = dict(j_jdbc_connection_options)

    def get_db_url(self) -> str | None:
        return self._options.get("url")

    def get_driver_name(self) -> str | None:
        return self._options.get("driver_name")

    def get_user_name(self) -> str | None:
        return self._options.get("user_name")

    def get_password(self) -> str | None:
        return self._options.get("password")

    class JdbcConnectionOptionsBuilder:
        """Settings of `JdbcConnectionOptions`."""

        def __init__(self) -> None:
            self._options: dict[str, str] = {}

        def with_url(self, url: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            self._options["url"] = url
            return self

        def with_driver_name(self, driver_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            self._options["driver_name"] = driver_name
            return self

        def with_user_name(self, user_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            self._options["user_name"] = user_name
            return self

        def with_password(self, password: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            self._options["password"] = password
            return self

        def build(self) -> JdbcConnectionOptions:
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
        return self._execution.batch_interval_ms

    def get_batch_size(self) -> int:
        return self._execution.batch_size

    def get_max_retries(self) -> int:
        return self._execution.max_retries

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        return JdbcExecutionOptions(_Execution())

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        return JdbcExecutionOptions.Builder()

    class Builder:
        """Settings of `JdbcExecutionOptions`."""

        def __init__(self) -> None:
            self._values: dict[str, int] = {}

        def with_batch_size(self, size: int) -> JdbcExecutionOptions.Builder:
            self._values["batch_size"] = size
            return self

        def with_batch_interval_ms(self, interval_ms: int) -> JdbcExecutionOptions.Builder:
            self._values["batch_interval_ms"] = interval_ms
            return self

        def with_max_retries(self, max_retries: int) -> JdbcExecutionOptions.Builder:
            self._values["max_retries"] = max_retries
            return self

        def build(self) -> JdbcExecutionOptions:
            return JdbcExecutionOptions(_Execution(**self._values))

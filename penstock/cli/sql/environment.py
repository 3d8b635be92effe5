"""Makes the client's `TableEnvironment` and moves it between batch and streaming."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.cli.sql.options import RUNTIME_MODE
from penstock.common.configuration import Configuration
from penstock.sql.dialect.statement_parser import parse_statement
from penstock.sql.operations.dml import check_inserts
from penstock.sql.session import SqlSession
from penstock.sql.spark.hive_dialect import speaks_hive
from penstock.table import EnvironmentSettings, TableEnvironment

__all__ = ["check_statement", "create_environment", "switch_mode"]


def create_environment(properties: Mapping[str, str]) -> TableEnvironment:
    """An environment with these properties; `execution.runtime-mode` among them says which mode."""
    builder = EnvironmentSettings.new_instance().in_batch_mode()
    settings = builder.with_configuration(Configuration.from_dict(properties)).build()
    return TableEnvironment.create(settings)


def check_statement(environment: TableEnvironment, text: str) -> None:
    """Raises what is wrong with an INSERT without running it, so that nobody waits for Spark to be told."""
    session = environment._session
    if not speaks_hive(session.config):
        check_inserts(session, parse_statement(text))


def switch_mode(environment: TableEnvironment, streaming: bool) -> None:
    """Batch or streaming from the next statement on; catalogs, temporary objects and options stay."""
    old = environment._session
    if old.streaming == streaming:
        return
    environment._session = SqlSession(old.catalogs, old.config, streaming)
    environment._session.pending_inserts = old.pending_inserts
    mode = "STREAMING" if streaming else "BATCH"
    environment.get_config().set(RUNTIME_MODE, mode)

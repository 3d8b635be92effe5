"""Makes the client's `TableEnvironment` and moves it between batch and streaming."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.cli.sql.options import RUNTIME_MODE
from penstock.common.configuration import Configuration
from penstock.sql.dialect.statement_parser import parse_statement
from penstock.sql.operations.dml import check_inserts, execute_sinks, planned_inserts
from penstock.sql.session import SqlSession
from penstock.sql.spark.hive_dialect import speaks_hive
from penstock.sql.streaming.jobs import insert_job_name
from penstock.table import EnvironmentSettings, TableEnvironment

__all__ = ["batch_insert", "check_statement", "create_environment", "derived_environment", "switch_mode"]


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


def derived_environment(environment: TableEnvironment, options: Mapping[str, str]) -> TableEnvironment:
    """The same catalogs under other options, for one statement."""
    derived = create_environment({**environment.get_config().to_map(), **options})
    own = derived._session
    derived._session = SqlSession(environment._session.catalogs, own.config, own.streaming)
    derived._session.pending_inserts = environment._session.pending_inserts
    return derived


def batch_insert(environment: TableEnvironment, text: str) -> tuple[str, Callable[[], None]] | None:
    """The INSERTs of a batch statement, planned now and run by whoever calls the function, whatever the session does
    meanwhile; with the name of their job. None if the statement has none, or the session is not a batch one.
    """
    session = environment._session
    if session.streaming or speaks_hive(session.config):
        return None
    own = SqlSession(session.catalogs, dict(session.config), False)
    own.pending_inserts = session.pending_inserts
    sinks = planned_inserts(own, parse_statement(text))
    if not sinks:
        return None

    def run() -> None:
        execute_sinks(own, sinks)

    return own.config.get("pipeline.name") or insert_job_name(sinks), run

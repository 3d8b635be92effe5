"""Makes the client's `TableEnvironment` and moves it between batch and streaming."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.cli.sql.options import RUNTIME_MODE
from penstock.common.configuration import Configuration
from penstock.sql.session import SqlSession
from penstock.table import EnvironmentSettings, TableEnvironment

__all__ = ["create_environment", "switch_mode"]


def create_environment(properties: Mapping[str, str]) -> TableEnvironment:
    """An environment with these properties; `execution.runtime-mode` among them says which mode."""
    builder = EnvironmentSettings.new_instance().in_batch_mode()
    settings = builder.with_configuration(Configuration.from_dict(properties)).build()
    return TableEnvironment.create(settings)


def switch_mode(environment: TableEnvironment, streaming: bool) -> None:
    """Batch or streaming from the next statement on; catalogs, temporary objects and options stay."""
    old = environment._session
    if old.streaming == streaming:
        return
    environment._session = SqlSession(old.catalogs, old.config, streaming)
    environment._session.pending_inserts = old.pending_inserts
    mode = "STREAMING" if streaming else "BATCH"
    environment.get_config().set(RUNTIME_MODE, mode)

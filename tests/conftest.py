"""Fixtures for all tests: servers that are started once, when the first test asks for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.mariadb import MariaDbServer
from tests.servers.postgres import PostgresServer


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDbServer]:
    server = MariaDbServer()
    yield server
    server.stop()

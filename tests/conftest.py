"""For all tests: servers that are started once, when the first test asks for them, and no test against the clock."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.servers.kafka import KafkaServer
from tests.servers.mariadb import MariaDbServer
from tests.servers.mosquitto import MosquittoServer
from tests.servers.nats import NatsServer
from tests.servers.postgres import PostgresServer
from tests.servers.rabbitmq import RabbitServer
from tests.servers.redis import RedisServer

# How long an example takes says how busy the machine is, nothing about the code.
settings.register_profile("penstock", deadline=None)
settings.load_profile("penstock")


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


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaServer]:
    server = KafkaServer()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    server = RedisServer()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def nats_server() -> Iterator[NatsServer]:
    server = NatsServer()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def mosquitto() -> Iterator[MosquittoServer]:
    server = MosquittoServer()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def rabbitmq() -> Iterator[RabbitServer]:
    server = RabbitServer()
    yield server
    server.stop()

"""Connectors by name: the ones that come with Penstock, those a program registers, and those of other packages.

A package offers a connector by an entry point of the group `penstock.connectors`, a format by one of the group
`penstock.formats` (`formats/__init__.py`):

    [project.entry-points."penstock.connectors"]
    mybus = "mybus.penstock:MyBusConnector"

Entry points are looked for when a name is asked for that is not known yet, or when all are listed, and imported only
for the name that is asked for. One that cannot be imported, or that offers a name that is taken, is refused then,
naming the package and the cause.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.common.plugins import Plugins
from penstock.connectors.blackhole.table import BlackHoleConnector
from penstock.connectors.datagen.table import DataGenConnector
from penstock.connectors.delta.table import DeltaConnector
from penstock.connectors.elasticsearch.table import Elasticsearch7Connector, OpenSearchConnector
from penstock.connectors.filesystem.table import FileSystemConnector
from penstock.connectors.http.table import HttpConnector
from penstock.connectors.iceberg.table import IcebergConnector
from penstock.connectors.jdbc.table import JdbcConnector
from penstock.connectors.kafka.table import KafkaConnector, UpsertKafkaConnector
from penstock.connectors.mqtt.table import MqttConnector
from penstock.connectors.mysql_cdc.table import MySqlCdcConnector
from penstock.connectors.nats.table import NatsConnector
from penstock.connectors.nexmark.table import NexmarkConnector
from penstock.connectors.postgres_cdc.table import PostgresCdcConnector
from penstock.connectors.print.table import PrintConnector
from penstock.connectors.rabbitmq.table import RabbitConnector
from penstock.connectors.redis.table import RedisConnector
from penstock.connectors.table import TableConnector

GROUP = "penstock.connectors"

CONNECTORS: dict[str, type[TableConnector]] = {}
_plugins = Plugins(GROUP, "connector")


def register_connector(connector: type[TableConnector]) -> type[TableConnector]:
    """Makes a connector known under its name; usable as decorator."""
    CONNECTORS[connector.name] = connector
    return connector


for _connector in (
    FileSystemConnector,
    JdbcConnector,
    KafkaConnector,
    UpsertKafkaConnector,
    Elasticsearch7Connector,
    OpenSearchConnector,
    HttpConnector,
    RedisConnector,
    RabbitConnector,
    NatsConnector,
    MqttConnector,
    PostgresCdcConnector,
    MySqlCdcConnector,
    DeltaConnector,
    IcebergConnector,
    DataGenConnector,
    NexmarkConnector,
    PrintConnector,
    BlackHoleConnector,
):
    register_connector(_connector)


_NO_CLIENT = "penstock has no client for it"
_HBASE = "its client is Java's, and no server could be had to test its gateways against"
REFUSED: dict[str, str] = {
    **dict.fromkeys(
        (
            "kinesis", "kinesis-legacy", "firehose", "dynamodb", "sqs", "pulsar", "upsert-pulsar", "cassandra",
            "mongodb", "hudi", "prometheus",
        ),
        _NO_CLIENT,
    ),
    **dict.fromkeys(("hbase-1.4", "hbase-2.2", "hbase-2.6"), _HBASE),
    "paimon": "its library for Python, pypaimon 2.1, works with pyarrow before 20 only",
    "hive": "it needs Hive's own classes; its files can be read and written with 'filesystem'",
    "elasticsearch-6": "only the protocol of version 7 is spoken",
}  # fmt: skip
"""Connectors of Flink's world that do not come with Penstock, and why."""


def comes_with_penstock(name: str) -> bool:
    """Whether Penstock itself has a connector of that name, so that no package may offer another."""
    return name in CONNECTORS and CONNECTORS[name].__module__.split(".")[0] == "penstock"


def connector_names() -> list[str]:
    """Every name that `find_connector_class` knows, sorted; nothing is imported for it."""
    return sorted({*CONNECTORS, *_plugins.names()})


def find_connector_class(name: str, where: str | None = None) -> type[TableConnector]:
    """The connector of that name.

    Raises:
        ValidationError: There is none, or the package that offers it cannot be used.
        NotSupportedError: Flink has one of that name, and there is a reason that Penstock has not.
    """
    found = known_connector(name, where)
    if found is None and name in REFUSED:
        raise NotSupportedError(
            f"connector '{name}'",
            REFUSED[name],
            where=where,
            do="write a connector of your own: docs/custom_connectors.md",
        )
    if found is None:
        known = connector_names()
        close = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean '{close[0]}'?" if close else f"known are {', '.join(known)}"
        raise ValidationError(f"there is no connector '{name}'", where=where, do=hint)
    return found


def known_connector(name: str, where: str | None = None) -> type[TableConnector] | None:
    """The connector of that name; None if there is none.

    Raises:
        ValidationError: The package that offers it cannot be used.
    """
    if comes_with_penstock(name):
        _plugins.refuse_claims(name, where)
    if name not in CONNECTORS:
        found = _plugins.load(name, where)
        if found is None:
            return None
        CONNECTORS[name] = _checked(found, name, where)
    return CONNECTORS[name]


def _checked(found: object, name: str, where: str | None) -> type[TableConnector]:
    if not isinstance(found, type) or not issubclass(found, TableConnector):
        raise _plugins.refused(name, f"{found!r} is not a TableConnector", where)
    if found.name != name:
        raise _plugins.refused(name, f"{found.__name__} calls itself '{found.name}'", where)
    return found


def find_connector(options: Mapping[str, str], table_path: object) -> TableConnector:
    """The connector of a table, made from the options of its WITH clause.

    Raises:
        ValidationError: No such connector or format, an option nobody knows, or a required one is missing.
    """
    where = f"table {table_path}"
    name = options.get("connector")
    if name is None:
        raise ValidationError(
            "the table has no 'connector' option",
            where=where,
            do="add 'connector' = '...' to the WITH clause",
        )
    return find_connector_class(name, where)(options, str(table_path))

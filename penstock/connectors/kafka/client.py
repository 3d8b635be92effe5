"""A Kafka cluster as a connector sees it: settings, clients, and errors that say what to do.

Settings have the names of Java's client, which are what programs for Flink have, or librdkafka's own; they differ
in a few places, and what only Java has is either done here or refused. Clients are silent: what they complain about
is kept (`Complaints`) and told with the call that failed because of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from penstock.common.errors import (
    ExternalSystemError,
    MissingDependencyError,
    NotSupportedError,
    PenstockError,
    ValidationError,
)

T = TypeVar("T")

_OURS = frozenset(
    {
        "auto.offset.reset", "client.id.prefix", "commit.offsets.on.checkpoint", "default.api.timeout.ms",
        "enable.auto.commit", "key.deserializer", "key.serializer", "max.block.ms", "max.poll.records",
        "partition.discovery.interval.ms", "register.consumer.metrics", "register.producer.metrics",
        "ssl.keystore.type", "ssl.truststore.password", "ssl.truststore.type", "value.deserializer",
        "value.serializer",
    }
)  # fmt: skip
"""Settings that the connector looks at itself, or that mean nothing without a JVM."""
_RENAMED = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "max.partition.fetch.bytes": "max.partition.fetch.bytes",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.truststore.certificates": "ssl.ca.pem",
}
_PEM = (".pem", ".crt", ".cer")
_LOGIN = re.compile(r"\b(username|password)\s*=\s*(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[^\s;]+)")
_DEFAULT_TIMEOUT_MS = 60_000


def confluent() -> Any:
    """The client library.

    Raises:
        MissingDependencyError: It is not installed.
    """
    try:
        import confluent_kafka
        import confluent_kafka.admin
    except ImportError as error:
        raise MissingDependencyError(
            f"Kafka needs the package confluent-kafka: {error}",
            where="connector 'kafka', KafkaSource, KafkaSink",
            do="pip install 'penstock[kafka]'",
        ) from error
    return confluent_kafka


def client_settings(properties: Mapping[str, str]) -> dict[str, Any]:
    """Settings as librdkafka wants them.

    Raises:
        ValidationError, NotSupportedError: One of them cannot be done without a JVM.
    """
    settings: dict[str, Any] = {"log_level": 0}
    for name, value in properties.items():
        if name == "sasl.jaas.config":
            settings.update(_login(value))
        elif name == "ssl.truststore.location":
            settings["ssl.ca.location"] = _pem(name, value)
        elif name == "ssl.endpoint.identification.algorithm":
            settings[name] = value or "none"
        elif name == "buffer.memory":
            settings["queue.buffering.max.kbytes"] = max(1, int(value) // 1024)
        elif name.endswith(("interceptor.classes", "partitioner.class")):
            raise NotSupportedError(f"the Kafka setting '{name}'", "its value is a class of Java's")
        elif name not in _OURS and not name.startswith("penstock."):
            settings[_RENAMED.get(name, name)] = value
    return settings


def _login(jaas: str) -> dict[str, str]:
    """User and password of a login module's text."""
    found = {name: _unquoted(value) for name, value in _LOGIN.findall(jaas)}
    if set(found) != {"username", "password"}:
        raise NotSupportedError(
            "this 'sasl.jaas.config'",
            "only the login modules for PLAIN and SCRAM are understood, with username and password",
            do="set librdkafka's own settings: sasl.username and sasl.password, sasl.kerberos.*, sasl.oauthbearer.*",
        )
    return {f"sasl.{name}": value for name, value in found.items()}


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[:1] in "\"'" else text


def _pem(name: str, path: str) -> str:
    if not path.lower().endswith(_PEM):
        raise NotSupportedError(
            f"'{name}' = '{path}'",
            "the client reads PEM files, not Java key stores",
            do="keytool -exportcert -rfc -keystore ... > ca.pem, and give that path",
        )
    return path


@dataclass
class Complaints:
    """What clients said went wrong, of which calls that time out do not know."""

    errors: list[Any] = field(default_factory=list)

    def __call__(self, error: Any) -> None:
        self.errors = [*self.errors[-9:], error]

    @property
    def telling(self) -> Any:
        """The error that explains most: refused credentials before lost connections."""
        kafka_error = confluent().KafkaError
        refused = [e for e in self.errors if e.code() == kafka_error._AUTHENTICATION]
        return (refused or self.errors or [None])[-1]


class KafkaCluster:
    """A cluster and how to reach it; picklable. Clients are made by whoever uses them, in their own process."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.properties = {str(k): str(v) for k, v in properties.items()}
        if not self.properties.get("bootstrap.servers"):
            raise ValidationError(
                "there is no 'bootstrap.servers'", do="name the brokers, e.g. host-1:9092,host-2:9092"
            )
        self.settings = client_settings(self.properties)

    @property
    def servers(self) -> str:
        return self.properties["bootstrap.servers"]

    @property
    def timeout_s(self) -> float:
        """How long calls may take before the cluster counts as away."""
        return int(self.properties.get("default.api.timeout.ms", _DEFAULT_TIMEOUT_MS)) / 1000

    @property
    def reads_committed(self) -> bool:
        return self.properties.get("isolation.level", "read_uncommitted") == "read_committed"

    def make(self, client: Callable[[dict[str, Any]], T], settings: Mapping[str, Any]) -> T:
        """A client with the cluster's settings and these.

        Raises:
            ValidationError: librdkafka does not know a setting, or not that value.
        """
        try:
            return client({**self.settings, **settings})
        except confluent().KafkaException as error:
            raise ValidationError(
                f"Kafka client: {error.args[0].str()}",
                where=f"cluster {self.servers}",
                do="settings are those of Java's client or of librdkafka (its CONFIGURATION.md)",
            ) from None

    def failed(self, what: str, error: Any, complaints: Complaints | None = None) -> PenstockError:
        """The error to raise for one of the client's; what it said before may tell more."""
        error = error.args[0] if isinstance(error, confluent().KafkaException) else error
        told = complaints.telling if complaints else None
        if told is not None and _is_about_connection(error):
            error = told
        do, retryable = _advice(error)
        found = ExternalSystemError(
            f"{what}: {error.str() or error.name()}", where=f"Kafka cluster {self.servers}", do=do
        )
        found.retryable = retryable
        return found


def _is_about_connection(error: Any) -> bool:
    codes = confluent().KafkaError
    return error.code() in (codes._TRANSPORT, codes._TIMED_OUT, codes._ALL_BROKERS_DOWN, codes._RESOLVE)


def _advice(error: Any) -> tuple[str, bool]:
    """What to do, and whether trying again may help."""
    k = confluent().KafkaError
    by_code: Sequence[tuple[tuple[int, ...], str, bool]] = (
        (
            (k._AUTHENTICATION, k.SASL_AUTHENTICATION_FAILED),
            "check security.protocol, sasl.mechanism and the user's name and password",
            False,
        ),
        ((k._SSL,), "check security.protocol, ssl.ca.location and the certificate's host name", False),
        (
            (k.UNKNOWN_TOPIC_OR_PART, k._UNKNOWN_TOPIC, k._UNKNOWN_PARTITION),
            "create the topic, or correct its name: kafka-topics --create --topic ...",
            True,
        ),
        (
            (
                k.TOPIC_AUTHORIZATION_FAILED,
                k.GROUP_AUTHORIZATION_FAILED,
                k.CLUSTER_AUTHORIZATION_FAILED,
                k.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            ),
            "allow the user to do this: kafka-acls --add ...",
            False,
        ),
    )
    for codes, do, retryable in by_code:
        if error.code() in codes:
            return do, retryable
    if _is_about_connection(error):
        return "start the brokers, or correct bootstrap.servers and security.protocol", True
    return "see the broker's log", True

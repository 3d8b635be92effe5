"""A Kafka broker: one node that is its own controller (KRaft), run from the jars of Maven Central.

Maven fetches them once into `~/.cache/penstock/kafka-<version>`. A broker keeps its data in a folder of its own,
allows transactions on one node, and makes topics only when it is told to.
"""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from tests.servers.certificates import make_certificate
from tests.servers.packages import cache_folder
from tests.servers.process import ServerProcess, find_program, free_port, is_ci

VERSION = "4.0.0"
USER, PASSWORD = "penstock", "it's secret"
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_CLUSTER = "cGVuc3RvY2stdGVzdHMtMQ"
_FETCH_S = 540
_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>penstock.tests</groupId><artifactId>kafka-broker</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""


class KafkaServer:
    """Listens on 127.0.0.1; at `guarded_servers` it wants a user's name and password (SASL, PLAIN), at
    `secure_servers` the same over TLS, with the certificate in `certificate`."""

    def __init__(self) -> None:
        if not is_ci():  # there it is a part of the tests' own packages
            pytest.importorskip("confluent_kafka", reason="pip install 'penstock[kafka]'")
        self._java = find_program("java", "default-jre-headless")
        jars = _jars()
        self._server = ServerProcess(
            "kafka", "root"
        )  # it has nothing against root, and the jars are in a home
        self.port = self._server.port
        self._classpath = f"{jars}/*"
        self._settings = self._write_settings()
        self._server.run(
            self._java, "-Xmx256m", "-cp", self._classpath, "kafka.tools.StorageTool", "format",
            "-t", _CLUSTER, "-c", str(self._settings),
        )  # fmt: skip
        self.start()

    def _write_settings(self) -> pathlib.Path:
        folder, controller, guarded, secure = self._server.folder, free_port(), free_port(), free_port()
        self.guarded_servers, self.secure_servers = f"127.0.0.1:{guarded}", f"127.0.0.1:{secure}"
        self.certificate, identity = make_certificate(folder)
        path = folder / "server.properties"
        path.write_text(
            f"""process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{self.port},GUARDED://127.0.0.1:{guarded},SECURE://127.0.0.1:{secure},\
CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{self.port},GUARDED://127.0.0.1:{guarded},SECURE://127.0.0.1:{secure}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,GUARDED:SASL_PLAINTEXT,SECURE:SASL_SSL,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.guarded.plain.sasl.jaas.config={_LOGIN} user_{USER}="{PASSWORD}";
listener.name.secure.plain.sasl.jaas.config={_LOGIN} user_{USER}="{PASSWORD}";
listener.name.secure.ssl.keystore.type=PEM
listener.name.secure.ssl.keystore.location={identity}
log.dirs={folder / "data"}
auto.create.topics.enable=false
num.partitions=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=2
transaction.abort.timed.out.transaction.cleanup.interval.ms=500
transaction.partition.verification.enable=true
group.initial.rebalance.delay.ms=0
initial.broker.registration.timeout.ms=240000
log.retention.ms=-1
"""
        )
        return path

    def start(self) -> None:
        """Starts the broker; after `kill` it goes on with the data it has."""
        self._server.start(
            self._java, "-Xms128m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
            "-cp", self._classpath, "kafka.Kafka", str(self._settings),
            ready=lambda: self.admin().list_topics(timeout=2),
        )  # fmt: skip

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    def admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        return AdminClient({"bootstrap.servers": self.servers, "log_level": 0})

    def create(self, topic: str, partitions: int = 1, **config: str) -> str:
        """Makes a topic; dots in settings are written as double underscores. Returns its name."""
        from confluent_kafka.admin import NewTopic

        settings = {name.replace("__", "."): value for name, value in config.items()}
        admin = self.admin()  # a client that nobody holds gives up its calls
        admin.create_topics([NewTopic(topic, partitions, 1, config=settings)])[topic].result(30)
        return topic

    def send(
        self, topic: str, messages: Iterable[Any], partition: int = 0, timestamp: int = 0, **settings: Any
    ) -> None:
        """Writes values, or (key, value), or (key, value, headers) to a partition, in order."""
        from confluent_kafka import Producer

        producer = Producer(
            {
                "bootstrap.servers": self.servers,
                "linger.ms": 5,
                "queue.buffering.max.messages": 10_000_000,
                **settings,
            }
        )
        for message in messages:
            key, value, headers = (
                (*message, None)[:3] if isinstance(message, tuple) else (None, message, None)
            )
            producer.produce(
                topic, value, key, partition=partition, timestamp=timestamp, headers=headers or None
            )
        assert producer.flush(30) == 0

    def read(self, topic: str, isolation: str = "read_committed") -> list[Any]:
        """All messages of a topic up to its end: partition after partition, each in order."""
        from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": "test-reader",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": isolation,
            }
        )
        try:
            partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
            found: list[Any] = []
            for number in sorted(partitions):
                consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING)])
                found.extend(_to_the_end(consumer))
            return found
        finally:
            consumer.close()

    def kill(self) -> None:
        """SIGKILL: as if the machine had lost its power."""
        self._server.kill()

    def stop(self) -> None:
        self._server.stop()


def _to_the_end(consumer: Any) -> Iterator[Any]:
    from confluent_kafka import KafkaError

    while True:
        message = consumer.poll(20)
        assert message is not None, "the broker does not answer"
        if message.error() is None:
            yield message
        elif message.error().code() == KafkaError._PARTITION_EOF:
            return
        else:
            raise AssertionError(str(message.error()))


def _jars() -> pathlib.Path:
    """The folder of the broker's jars; tests are skipped where they cannot be had, on CI that is a failure."""
    cache = cache_folder()
    folder = cache / f"kafka-{VERSION}"
    if folder.is_dir():
        return folder
    maven = find_program("mvn", "maven")
    cache.mkdir(parents=True, exist_ok=True)
    aside = pathlib.Path(tempfile.mkdtemp(prefix="kafka-", dir=cache))
    try:
        return _fetched(maven, aside, folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _fetched(maven: str, aside: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    (aside / "pom.xml").write_text(_POM)
    command = [maven, "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"]
    try:
        done = subprocess.run(
            [*command, "-DincludeScope=runtime"], cwd=aside, capture_output=True, text=True, timeout=_FETCH_S
        )
        said = "" if done.returncode == 0 else (done.stdout + done.stderr)[-1000:]
    except subprocess.TimeoutExpired:
        said = f"it took longer than {_FETCH_S} seconds"
    if said:
        assert not is_ci(), f"the broker's jars cannot be fetched: {said}"
        pytest.skip(f"the Kafka broker's jars cannot be fetched with Maven: {said}")
    with contextlib.suppress(OSError):  # another test run was faster
        (aside / "jars").rename(folder)
    return folder

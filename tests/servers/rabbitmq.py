"""A RabbitMQ broker, run by Erlang without the package's scripts, which want to be in their places."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from tests.servers.packages import Program, find_packaged
from tests.servers.process import ServerProcess, free_port, is_ci

_ERLANG = (
    "asn1", "base", "crypto", "eldap", "inets", "mnesia", "os-mon", "parsetools", "public-key", "runtime-tools",
    "ssl", "syntax-tools", "tools", "xmerl",
)  # fmt: skip
_NEEDS = ("rabbitmq-server", "libsctp1", *(f"erlang-{name}" for name in _ERLANG))


class RabbitServer:
    """Listens on 127.0.0.1; the user is guest, and so is the password. It has an epmd of its own."""

    def __init__(self) -> None:
        if not is_ci():  # there it is a part of the tests' own packages
            pytest.importorskip("pika", reason="pip install 'penstock[rabbitmq]'")
        self._program = find_packaged("rabbitmq-server", "rabbitmq-server", _NEEDS)
        self._names = ServerProcess("epmd", "root")
        self._server = ServerProcess("rabbitmq", "root")
        self.port = self._server.port
        self._environment = self._settings(self._program)
        self._bin = pathlib.Path(self._environment["BINDIR"])
        self._names.start(
            str(self._bin / "epmd"), "-port", self._environment["ERL_EPMD_PORT"], "-address", "127.0.0.1",
            ready=lambda: None, environment=self._environment,
        )  # fmt: skip
        self.start()

    def _settings(self, program: Program) -> dict[str, str]:
        folder, library = self._server.folder, program.root / "usr/lib"
        erlang = library / "erlang"
        plugins = next((library / "rabbitmq/lib").glob("rabbitmq_server-*")) / "plugins"
        (folder / "enabled").write_text("[].")
        (folder / "rabbitmq.conf").write_text("loopback_users.guest = true\n")
        return {
            **program.environment,
            "HOME": str(folder),
            "ROOTDIR": str(erlang),
            "BINDIR": str(next(erlang.glob("erts-*")) / "bin"),
            "EMU": "beam",
            "PROGNAME": "erl",
            "ERL_LIBS": str(plugins),
            "ERL_EPMD_PORT": str(free_port()),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"penstock{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_HOME": str(plugins.parent),
            "RABBITMQ_PLUGINS_DIR": str(plugins),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder),
            "RABBITMQ_LOGS": "-",
        }

    def start(self) -> None:
        """Starts the broker; after `kill` it goes on with the data it has."""
        self._server.start(
            str(self._bin / "erlexec"), "-noinput", "-s", "rabbit", "boot", "-boot", "start_sasl", "+W", "w",
            "-syslog", "logger", "[]", "-syslog", "syslog_error_logger", "false",
            "-kernel", "prevent_overlapping_partitions", "false", "-kernel", "inet_dist_use_interface", "{127,0,0,1}",
            "-mnesia", "dump_log_time_threshold", "500",
            ready=lambda: self.connect().close(), environment=self._environment,
        )  # fmt: skip

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}/%2F"

    def connect(self) -> Any:
        import pika

        return pika.BlockingConnection(pika.URLParameters(self.url))

    def publish(self, queue: str, bodies: list[bytes], ids: bool = False) -> None:
        """To a durable queue; with `ids` the body is the correlation id, too."""
        import pika

        connection = self.connect()
        channel = connection.channel()
        channel.queue_declare(queue, durable=True)
        channel.confirm_delivery()
        for body in bodies:
            properties = pika.BasicProperties(
                delivery_mode=2, correlation_id=body.decode() if ids else None, timestamp=1_700_000_000
            )
            channel.basic_publish("", queue, body, properties)
        connection.close()

    def left(self, queue: str) -> list[bytes]:
        """The messages that are in the queue, which stay there."""
        connection = self.connect()
        channel = connection.channel()
        found = []
        while (answer := channel.basic_get(queue))[0] is not None:
            found.append(answer[2])
        connection.close()
        return found

    def knows_for_good(self, queue: str) -> bool:
        """Whether the queue's definition is on the disk for good: the broker writes it a while after it has said yes.

        In the log of its transactions it is earlier, but the broker drops that before its tables are written.
        """
        tables = (self._server.folder / "data").rglob("rabbit_durable_queue.DC*")
        return any(queue.encode() in path.read_bytes() for path in tables)

    def kill(self) -> None:
        self._server.kill()

    def stop(self) -> None:
        self._server.stop()
        self._names.stop()

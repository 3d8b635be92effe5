"""A PostgreSQL server."""

from __future__ import annotations

import pathlib
from typing import Any

from tests.servers.process import ServerProcess, find_program

USER, PASSWORD, DATABASE = "penstock", "it's secret", "shop"
_FOLDERS = ("usr/lib/postgresql/*/bin",)


class PostgresServer:
    """Listens on 127.0.0.1 and wants a password; `shop` is an empty database."""

    scheme, user, password, database = "postgresql", USER, PASSWORD, DATABASE

    def __init__(self) -> None:
        initdb = find_program("initdb", "postgresql", _FOLDERS)
        program = find_program("postgres", "postgresql", _FOLDERS)
        self._server = ServerProcess("postgres", "postgres")
        folder = self._server.folder
        self.port = self._server.port
        secret = pathlib.Path(folder / "secret")
        secret.write_text(PASSWORD)
        self._server.hand_over(secret)
        self._server.run(
            initdb, "-D", str(folder / "data"), "-U", USER, "--pwfile", str(secret), "-A", "scram-sha-256",
            "-E", "UTF8", "--locale=C", "--no-sync",
        )  # fmt: skip
        self._server.start(
            program, "-D", str(folder / "data"), "-p", str(self.port), "-h", "127.0.0.1", "-k", str(folder),
            "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "timezone=Asia/Tokyo",
            "-c", "wal_level=logical", "-c", "max_replication_slots=40", "-c", "max_wal_senders=40",
            ready=lambda: self.connect("postgres").close(),
        )  # fmt: skip
        self.execute(f"CREATE DATABASE {DATABASE}", database="postgres")

    @property
    def base_url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}"

    def connect(self, database: str = DATABASE) -> Any:
        import psycopg

        return psycopg.connect(
            host="127.0.0.1", port=self.port, user=USER, password=PASSWORD, dbname=database, autocommit=True
        )

    def execute(self, *statements: str, database: str = DATABASE) -> list[tuple[Any, ...]]:
        """Runs statements; the rows of the last, if it has some."""
        with self.connect(database) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []

    def stop(self) -> None:
        self._server.stop()

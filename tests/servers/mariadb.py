"""A MariaDB server."""

from __future__ import annotations

from typing import Any

from tests.servers.process import ServerProcess, find_program

USER, PASSWORD, DATABASE = "penstock", "it's secret", "shop"

_SETUP = f"""
CREATE DATABASE {DATABASE};
CREATE USER '{USER}'@'%' IDENTIFIED BY '{PASSWORD.replace("'", "''")}';
GRANT ALL ON *.* TO '{USER}'@'%';
"""


class MariaDbServer:
    """Listens on 127.0.0.1 and wants a password; `shop` is an empty database."""

    scheme, user, password, database = "mysql", USER, PASSWORD, DATABASE

    def __init__(self) -> None:
        install = find_program("mariadb-install-db", "mariadb-server")
        program = find_program("mariadbd", "mariadb-server")
        self._server = ServerProcess("mariadb", "mysql")
        folder = self._server.folder
        self.port = self._server.port
        setup = folder / "setup.sql"
        setup.write_text(_SETUP)
        self._server.hand_over(setup)
        self._server.run(
            install, "--no-defaults", f"--datadir={folder / 'data'}", "--skip-test-db",
            "--auth-root-authentication-method=normal",
        )  # fmt: skip
        self._server.start(
            program, "--no-defaults", f"--datadir={folder / 'data'}", f"--port={self.port}",
            "--bind-address=127.0.0.1", "--skip-name-resolve", f"--socket={folder / 'socket'}",
            f"--pid-file={folder / 'pid'}", f"--init-file={setup}", "--innodb-flush-log-at-trx-commit=0",
            "--innodb-buffer-pool-size=32M", "--default-time-zone=+09:00",
            f"--log-bin={folder / 'data' / 'changes'}", "--binlog-format=ROW", "--server-id=1",
            ready=lambda: self.connect().close(),
        )  # fmt: skip

    @property
    def base_url(self) -> str:
        return f"jdbc:mysql://127.0.0.1:{self.port}"

    def connect(self, database: str = DATABASE) -> Any:
        import pymysql

        return pymysql.connect(
            host="127.0.0.1", port=self.port, user=USER, password=PASSWORD, database=database, autocommit=True
        )

    def execute(self, *statements: str, database: str = DATABASE) -> list[tuple[Any, ...]]:
        """Runs statements; the rows of the last, if it has some."""
        connection = self.connect(database)
        try:
            cursor = connection.cursor()
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())
        finally:
            connection.close()

    def stop(self) -> None:
        self._server.stop()

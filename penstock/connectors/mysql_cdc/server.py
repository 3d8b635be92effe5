"""A MySQL or MariaDB server: how it is reached, what its tables are, and whether it logs what is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.common.errors import MissingDependencyError, NotSupportedError, ValidationError
from penstock.connectors.cdc.columns import captured, some
from penstock.connectors.cdc.database import Database, Login, Selection
from penstock.connectors.cdc.model import CapturedTable, Column, Place, TableName
from penstock.connectors.mysql_cdc.columns import ORDERED, REFUSED, natural_type

if TYPE_CHECKING:
    from penstock.connectors.mysql_cdc.control import MySqlControl
    from penstock.connectors.mysql_cdc.work import MySqlWork

_PARSE_ERROR = 1064
_SYSTEM = ("information_schema", "mysql", "performance_schema", "sys")
_NEEDED = {
    "log_bin": ("ON", "start the server with log-bin"),
    "binlog_format": ("ROW", "SET GLOBAL binlog_format = 'ROW'"),
    "binlog_row_image": ("FULL", "SET GLOBAL binlog_row_image = 'FULL'"),
    "binlog_row_value_options": ("", "SET GLOBAL binlog_row_value_options = ''"),
    "log_bin_compress": ("OFF", "SET GLOBAL log_bin_compress = OFF: compressed events cannot be read"),
    "binlog_transaction_compression": (
        "OFF",
        "SET GLOBAL binlog_transaction_compression = OFF: compressed transactions cannot be read",
    ),
}
"""What variables of the server must be, where it has them."""


@dataclass(frozen=True)
class Startup:
    """Where reading begins without a snapshot."""

    file: str | None = None
    offset: int | None = None
    timestamp_ms: int | None = None


@dataclass(frozen=True)
class MySqlDatabase(Database):
    """A server. `server_ids` are the first and the last number by which readers of the log are known to it."""

    login: Login
    selection: Selection
    server_ids: tuple[int, int]
    startup: Startup = Startup()

    @property
    def where(self) -> str:
        return f"the MySQL server at {self.login.hostname}:{self.login.port}"

    def control(self, source_id: str) -> MySqlControl:
        from penstock.connectors.mysql_cdc.control import MySqlControl

        return MySqlControl(self, source_id)

    def work(self, source_id: str, subtask: int) -> MySqlWork:
        from penstock.connectors.mysql_cdc.work import MySqlWork

        first, last = self.server_ids
        return MySqlWork(self, first + subtask % (last - first + 1))

    # --- connections

    def settings(self) -> dict[str, Any]:
        login = self.login
        return {
            "host": login.hostname,
            "port": login.port,
            "user": login.username,
            "password": login.password,
            "connect_timeout": max(1, round(login.timeout_s)),
            "charset": "utf8mb4",
        }

    @property
    def log_name(self) -> str:
        return "binary log"

    def errors(self) -> tuple[type[Exception], ...]:
        return (pymysql().Error, OSError)

    def connect(self) -> Any:
        """A connection that commits every statement, and whose moments are in UTC."""
        settings = {**self.settings(), "autocommit": True, "init_command": "SET time_zone = '+00:00'"}
        try:
            return self.tried(lambda: pymysql().connect(**settings))
        except RuntimeError as error:
            raise MissingDependencyError(
                f"the server's way of checking passwords needs another package: {error}",
                where=self.where,
                do="pip install cryptography",
            ) from error

    # --- questions

    def check(self, connection: Any) -> None:
        """Refuses a server that does not log what is needed."""
        names = ", ".join(f"'{name}'" for name in _NEEDED)
        found = rows(connection, f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})")
        for name, value in found:
            wanted, do = _NEEDED[name]
            if value.upper() != wanted:
                raise ValidationError(
                    f"the server's {name} is '{value}' and must be '{wanted}'", where=self.where, do=do
                )

    def log_end(self, connection: Any) -> Place:
        """Where the log ends now; between two transactions."""
        try:
            [row] = rows(connection, "SHOW MASTER STATUS")
        except pymysql().ProgrammingError as error:
            if error.args[0] != _PARSE_ERROR:
                raise
            [row] = rows(connection, "SHOW BINARY LOG STATUS")
        return place_of(row[0], row[1])

    def tables(self, connection: Any) -> tuple[CapturedTable, ...]:
        found = rows(
            connection,
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE' "
            f"AND table_schema NOT IN {_SYSTEM} ORDER BY 1, 2",
        )
        names = [TableName(d, "", n) for d, n in found if self.selection.matches(f"{d}.{n}")]
        if not names:
            raise ValidationError(
                f"no table is called {self.selection.pattern!r}",
                where=self.where,
                do=f"check 'database-name' and 'table-name'; there are {some([f'{d}.{n}' for d, n in found])}",
            )
        return tuple(self._table(connection, name) for name in names)

    def _table(self, connection: Any, name: TableName) -> CapturedTable:
        where = f"table {name} of {self.where}"
        there = {column.name: column for column in self.columns(connection, name)}
        key = [
            row[0]
            for row in rows(
                connection,
                "SELECT column_name FROM information_schema.key_column_usage WHERE table_schema = %s "
                "AND table_name = %s AND constraint_name = 'PRIMARY' ORDER BY ordinal_position",
                (name.database, name.name),
            )
        ]
        if not key:
            raise NotSupportedError(
                "a table without a primary key",
                "a row that cannot be told from others cannot be taken back to how it was when its chunk was planned",
                where=where,
                do="add a primary key to the table",
            )
        table = captured(self.selection, name, there, key, ORDERED, where)
        for column in table.columns:
            if column.data_type is None:
                raise NotSupportedError(
                    f"column '{column.name}' of type {column.kind}",
                    "there is no type of Flink's for shapes"
                    if column.kind in REFUSED
                    else "it is MariaDB's own",
                    where=where,
                )
        return replace(table, layout=tuple(there.values()))

    def columns(self, connection: Any, name: TableName) -> list[Column]:
        """All columns of a table as they are now, in order."""
        found = rows(
            connection,
            "SELECT column_name, data_type, column_type, character_set_name, collation_name, "
            "character_maximum_length FROM information_schema.columns WHERE table_schema = %s AND table_name = %s "
            "ORDER BY ordinal_position",
            (name.database, name.name),
        )
        return [
            Column(row[0], row[1].lower(), natural_type(row[1].lower(), row[2].lower()), tuple(row[2:]))
            for row in found
        ]


def place_of(file: str, offset: int) -> Place:
    """A place in the log; files are numbered.

    >>> place_of("changes.000012", 4)
    (12, 4, 'changes.000012')
    """
    return int(file.rpartition(".")[2]), offset, file


def rows(connection: Any, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, values or None)
        return list(cursor.fetchall())


def quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def quoted_table(name: TableName) -> str:
    return f"{quote(name.database)}.{quote(name.name)}"


def pymysql() -> Any:
    """The driver, or an error that says what to install."""
    try:
        import pymysql
        import pymysqlreplication  # noqa: F401
    except ImportError:
        raise MissingDependencyError(
            "capturing changes of MySQL needs the packages pymysql and mysql-replication",
            do="pip install 'penstock[cdc]'",
        ) from None
    return pymysql

"""A statement that a program gives, executed for each of its rows: what is behind PyFlink's `JdbcSink`.

The statement has a `?` for each field of the rows, as JDBC writes parameters. What stands in quotes or comments is no
parameter, and `??` is a question mark, as PostgreSQL's own driver has it for operators.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.datatypes import DataType, LocalZonedTimestampType, RowType, VarBinaryType
from penstock.common.errors import ValidationError
from penstock.common.time import Instant
from penstock.connectors.jdbc.database_table import JdbcDatabase
from penstock.connectors.jdbc.dialect import Dialect, Login
from penstock.connectors.jdbc.epochs import JdbcWriting, JdbcWritingSink
from penstock.connectors.jdbc.sink import UNBOUNDED_ROWS, converted
from penstock.connectors.jdbc.transaction import Portion, Portions, Row, Statements
from penstock.connectors.sink import SinkWriter, WriterContext

_SHOWN = 80
_TOKENS = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | `(?:[^`]|``)*`      # texts and names
      | --[^\n]* | /\*.*?\*/                                   # comments
      | (?P<tag>\$[A-Za-z_]*\$).*?(?P=tag)                     # PostgreSQL's texts between dollars
      | (?P<mark>\?\??)""",
    re.VERBOSE | re.DOTALL,
)

Convert = Callable[[Any], Any]


def translated(sql: str, placeholder: str) -> tuple[str, int]:
    """The statement as a driver wants it, and how many parameters it has.

    >>> translated("INSERT INTO t VALUES (?, '50 % ?') -- why?", "%s")
    ("INSERT INTO t VALUES (%s, '50 %% ?') -- why?", 1)
    """
    parts, count, end = [], 0, 0
    escape = (lambda text: text.replace("%", "%%")) if placeholder == "%s" else str
    for token in _TOKENS.finditer(sql):
        parts.append(escape(sql[end : token.start()]))
        if token["mark"] == "?":
            parts.append(placeholder)
            count += 1
        else:
            parts.append("?" if token["mark"] else escape(token[0]))
        end = token.end()
    return "".join([*parts, escape(sql[end:])]), count


@dataclass(frozen=True)
class JdbcStatement(JdbcDatabase):
    """A statement and where it is executed; pickled into tasks."""

    dialect: Dialect
    login: Login
    sql: str
    row_type: RowType

    cannot_write = "cannot execute the statement"

    def __post_init__(self) -> None:
        for field in self.row_type.fields:
            self.dialect.check_type(field.name, field.data_type)
        count, fields = translated(self.sql, "?")[1], len(self.row_type.fields)
        if count != fields:
            raise ValidationError(
                f"the statement has {count} parameters and the rows have {fields} fields",
                where=self.where,
                do="write a ? for each field, in the order of the fields",
            )

    @property
    def zoned(self) -> bool:  # type: ignore[override]
        return any(isinstance(field.data_type, LocalZonedTimestampType) for field in self.row_type.fields)

    @property
    def where(self) -> str:
        text = " ".join(self.sql.split())
        shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
        return f"JdbcSink '{shown}' of {self.login.url.shown}"


class OneStatement(Statements):
    """Executes the statement for each row of a portion, in order."""

    def __init__(self, statement: JdbcStatement) -> None:
        self._statement = statement
        dialect = statement.dialect
        self._sql = translated(statement.sql, dialect.placeholder)[0]
        self._converts = [_conversion(dialect, field.data_type) for field in statement.row_type.fields]

    @property
    def database(self) -> JdbcDatabase:
        return self._statement

    def execute(self, connection: Any, portion: Portion) -> None:
        cursor = connection.cursor()
        cursor.executemany(self._sql, converted(portion.come, self._converts))
        cursor.close()


def _conversion(dialect: Dialect, data_type: DataType) -> Convert | None:
    """From the values of streams to those of the driver."""
    convert = dialect.to_database(data_type)
    if isinstance(data_type, LocalZonedTimestampType):
        then = convert or (lambda value: value)
        return lambda value: then(value.to_datetime() if isinstance(value, Instant) else value)
    if isinstance(data_type, VarBinaryType):
        return _bytes
    return convert


def _bytes(value: Any) -> bytes:
    """Java's bytes are signed, and so may those of a stream be."""
    return bytes(b & 0xFF for b in value) if isinstance(value, (list, tuple)) else bytes(value)


@dataclass(frozen=True)
class JdbcStatementSink(JdbcWritingSink):
    """How a program's rows are written."""

    statement: JdbcStatement
    batch_size: int = 5000
    max_retries: int = 3
    exactly_once: bool = False
    max_commit_attempts: int = 3
    unknown_outcome: str | None = None

    @property
    def writing(self) -> JdbcWriting:
        return JdbcWriting(
            OneStatement(self.statement),
            self.max_retries,
            self.exactly_once,
            max(0, self.max_commit_attempts - 1),
            self.unknown_outcome,
        )

    def create_writer(self, context: WriterContext, restored: Sequence[Any] = ()) -> JdbcStatementWriter:
        return JdbcStatementWriter(self, self.writing.target(context))


class JdbcStatementWriter(SinkWriter):
    """Sends rows in portions of the batch size; they are committed together at the end of the epoch."""

    def __init__(self, sink: JdbcStatementSink, target: Portions) -> None:
        self._limit = sink.batch_size or UNBOUNDED_ROWS
        self._width = len(sink.statement.row_type.fields)
        self._where = sink.statement.where
        self._target = target
        self._rows: list[Row] = []

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        for value in values:
            row = tuple(value)
            if len(row) != self._width:
                raise ValidationError(f"a row has {len(row)} fields: {value!r}", where=self._where)
            self._rows.append(row)
            if len(self._rows) >= self._limit:
                self._send()

    def _send(self) -> None:
        rows, self._rows = self._rows, []
        self._target.send(Portion([], rows))

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        try:
            if self._rows:
                self._send()
            return self._target.finish()
        finally:
            self._target.close()

    def abort(self) -> None:
        self._target.close()

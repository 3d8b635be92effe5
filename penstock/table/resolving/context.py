"""What binding needs to know, where there is a line of Python instead of a text of SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.common.errors import PenstockError, SqlError, ValidationError
from penstock.datastream.builder import call_site
from penstock.sql.binder.context import BindContext
from penstock.sql.session import SqlSession


@dataclass(frozen=True)
class ProgramContext(BindContext):
    """A context whose errors say which call of the program they are about."""

    call: str = ""

    def error(self, what: str, node: Any = None, do: str | None = None) -> ValidationError:
        """An error about a program's expression: it names the line of the program, not a place in SQL."""
        if self.sql:  # inside call_sql(...)
            return super().error(what, node, do)
        return ValidationError(what, where=self._where(), do=do)

    def wrap(self, error: PenstockError, node: Any) -> PenstockError:
        """The same error, with the line of the program where there is no better place."""
        if self.sql:
            return super().wrap(error, node)
        if not isinstance(error, SqlError) and error.where is None:
            error.where = self._where()
        return error

    def _where(self) -> str | None:
        return _line_of(self.call)


def _line_of(call: str) -> str | None:
    line = call_site()
    return f"{call}, {line}" if line and call else line or call or None


@dataclass(frozen=True)
class RefusedBy:
    """Lets refusals inside say which call of the program they are about, unless they say something better.

    (Not made with contextlib, whose frames would be taken for the program's.)
    """

    call: str

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: Any) -> None:
        if isinstance(error, ValidationError) and not isinstance(error, SqlError) and error.where is None:
            error.where = _line_of(self.call)


def program_context(session: SqlSession, call: str) -> ProgramContext:
    """The context of one call of a table's method."""
    return ProgramContext(session.catalogs, session.streaming, session.config, "", call)

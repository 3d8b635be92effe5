"""Every error that penstock raises: what happened, where, and what to do about it.

An error carries three texts (`what`, `where`, `do`), the domain that caused it, whether trying again can
help, and a stable code. Restarts, the REST API and the dashboard go by the fields; only people read the text.

`retryable` decides about restarts: an error that is not fails the job at once, whatever the restart strategy
says. It is False where the same must happen again (the program is wrong, state is damaged), and True where
Flink would ask the restart strategy and something may be different next time.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any


class ErrorDomain(enum.Enum):
    """Whose fault it is: the user's program, something outside, or penstock itself."""

    USER = "user"
    EXTERNAL = "external"
    INTERNAL = "internal"


class PenstockError(Exception):
    """Base of all errors here.

    Args:
        what: The fact and the value, in one sentence.
        where: Operator, file and line, split and offset: wherever the reader should look.
        do: The next step.
    """

    code = "PENSTOCK_ERROR"
    domain = ErrorDomain.INTERNAL
    retryable = False

    def __init__(self, what: str, *, where: str | None = None, do: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.do = do

    def __str__(self) -> str:
        lines = [self.what]
        if self.where:
            lines.append(f"  where: {self.where}")
        if self.do:
            lines.append("  do:    " + self.do.replace("\n", "\n         "))
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.__dict__.copy(), self.args)

    def as_dict(self) -> Mapping[str, Any]:
        """The fields as plain data, for REST answers and logs."""
        return {
            "code": self.code,
            "domain": self.domain.value,
            "retryable": self.retryable,
            "what": self.what,
            "where": self.where,
            "do": self.do,
        }


def _rebuild(cls: type[PenstockError], fields: dict[str, Any], args: tuple[Any, ...]) -> PenstockError:
    error = cls.__new__(cls)
    Exception.__init__(error, *args)
    error.__dict__.update(fields)
    return error


class ValidationError(PenstockError, ValueError):
    """The program or the configuration cannot mean anything: found before anything runs."""

    code = "VALIDATION"
    domain = ErrorDomain.USER


class TypeMismatchError(ValidationError, TypeError):
    """A value or an expression does not fit its declared type."""

    code = "TYPE_MISMATCH"


class UnknownColumnError(ValidationError, AttributeError):
    """A table was asked for a column, as its attribute, that it does not have."""

    code = "UNKNOWN_COLUMN"


class MalformedPatternError(ValidationError):
    """A pattern of events means nothing: found by the call that makes it so, or when the pattern is compiled."""

    code = "MALFORMED_PATTERN"


class NotSupportedError(PenstockError):
    """Flink has it, penstock does not (yet): `not supported: …, because …`."""

    code = "NOT_SUPPORTED"
    domain = ErrorDomain.USER

    def __init__(
        self, feature: str, because: str, *, where: str | None = None, do: str | None = None
    ) -> None:
        super().__init__(f"not supported: {feature}, because {because}", where=where, do=do)


_SHOWN = 120
"""How much of a line is shown; programs write whole tables into one."""


def underlined(line: str, column: int, length: int) -> tuple[str, str]:
    """A line of text, cut to what surrounds the piece, and the marks that go below it. `column` counts from 1.

    >>> print(*underlined("SELECT a FORM t", 10, 4), sep="\\n")
    SELECT a FORM t
             ^^^^
    """
    first = column - 1
    length = max(1, min(length, len(line) - first))
    start = 0 if len(line) <= _SHOWN else max(0, min(first - _SHOWN // 3, len(line) - _SHOWN))
    shown = line[start : start + _SHOWN]
    before, after = "…" if start else "", "…" if start + _SHOWN < len(line) else ""
    lead = "".join("\t" if c == "\t" else " " for c in before + shown[: first - start])
    return f"{before}{shown}{after}", lead + "^" * min(length, start + _SHOWN - first)


class SqlError(ValidationError):
    """A SQL text was refused. `line` and `column` count from 1; `str()` underlines the piece."""

    code = "SQL"

    def __init__(
        self,
        what: str,
        *,
        sql: str | None = None,
        line: int | None = None,
        column: int | None = None,
        length: int = 1,
        do: str | None = None,
    ) -> None:
        where = None
        if line is not None and column is not None:
            where = f"line {line}, column {column}"
            if sql is not None and 0 < line <= len(sql.splitlines()):
                source, marks = underlined(sql.splitlines()[line - 1], column, length)
                where += f"\n    {source}\n    {marks}"
        super().__init__(what, where=where, do=do)
        self.sql = sql
        self.line = line
        self.column = column
        self.length = length


class MissingDependencyError(PenstockError):
    """The machine lacks something: Java, a package, a directory that can be written."""

    code = "ENVIRONMENT"
    domain = ErrorDomain.EXTERNAL


class ExternalSystemError(PenstockError):
    """A system that a connector talks to did not do its part; trying again may help."""

    code = "EXTERNAL_SYSTEM"
    domain = ErrorDomain.EXTERNAL
    retryable = True


class MalformedRecordError(PenstockError, ValueError):
    """A record could not be read: names the file or split, the line or offset, and the value.

    Tried again as Flink does: a file that was still being written is complete the next time.
    """

    code = "MALFORMED_RECORD"
    domain = ErrorDomain.EXTERNAL
    retryable = True


class UserFunctionError(PenstockError):
    """A user's function raised. The user's own traceback comes first.

    Tried again as Flink does: nobody knows what the function depends on.
    """

    code = "USER_FUNCTION"
    domain = ErrorDomain.USER
    retryable = True

    def __init__(self, what: str, *, user_traceback: str, where: str | None = None, do: str | None = None):
        super().__init__(what, where=where, do=do)
        self.user_traceback = user_traceback

    def __str__(self) -> str:
        return f"{self.user_traceback.rstrip()}\n\n{super().__str__()}"


class CepRuntimeError(PenstockError):
    """A pattern could not go on with the events that came; the same events lead there again."""

    code = "CEP_RUNTIME"
    domain = ErrorDomain.USER


class JobExecutionError(PenstockError):
    """A job failed for good; `__cause__` tells why. `domain` and `retryable` are those of the cause."""

    code = "JOB_EXECUTION"
    domain = ErrorDomain.USER


class JobCancelledError(PenstockError):
    """The job was cancelled while somebody waited for it."""

    code = "JOB_CANCELLED"
    domain = ErrorDomain.USER


class JobEndedError(PenstockError):
    """Something was asked of a job that has ended; if it failed, `__cause__` is what made it fail."""

    code = "JOB_ENDED"
    domain = ErrorDomain.USER


class WorkerMemoryError(PenstockError):
    """A Python worker reached its memory limit. Tried again with smaller epochs, which may fit."""

    code = "WORKER_MEMORY"
    domain = ErrorDomain.USER
    retryable = True


class StateError(PenstockError):
    """State cannot be read, restored or written as asked."""

    code = "STATE"


class LocalStateError(StateError):
    """The copy of state on this machine cannot be used now; state itself is safe in checkpoint storage."""

    code = "LOCAL_STATE"
    domain = ErrorDomain.EXTERNAL
    retryable = True


class StateMigrationError(StateError, ValueError):
    """State was written with another type or serializer than the program now declares."""

    code = "STATE_MIGRATION"
    domain = ErrorDomain.USER


class CheckpointError(StateError):
    """A checkpoint or savepoint is missing, incomplete or damaged."""

    code = "CHECKPOINT"
    domain = ErrorDomain.EXTERNAL


class DamagedStateError(CheckpointError):
    """A state file is missing or not what was written: nothing can go on from a checkpoint that names it."""

    code = "DAMAGED_STATE"


class InvariantError(PenstockError, AssertionError):
    """Something that always holds did not, or a failure that nobody foresaw. Never the user's fault.

    Tried again: the job restarts from a committed epoch, where everything did hold.
    """

    code = "INVARIANT"
    retryable = True

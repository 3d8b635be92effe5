"""Poison: elements on which a user's function raises, and records that cannot be decoded.

Without a destination (`penstock.dead-letter.path` and its siblings) they fail the job. With one they become *dead
letters*: the element is left out, what is known of it is written down, and the job goes on. Dead letters travel with
the subtask's report and are part of the epoch: they are published when it is committed, once, as the output of a sink
is.

The loops in the operators keep their iterator and go on with it behind the element, so nothing costs anything while
nothing fails. Results that a function gave for the element before it raised are dropped; what it did to its state
before that stays. A bound for each epoch (`penstock.dead-letter.max-per-epoch`) fails the job when poison is the
rule.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

from penstock.common.config_values import parse_list
from penstock.common.errors import JobExecutionError, MalformedRecordError, PenstockError, UserFunctionError
from penstock.common.options import DeadLetterOptions
from penstock.connectors.source import BadRecord
from penstock.operators.base import OperatorContext
from penstock.operators.failures import raise_user_error, user_traceback

__all__ = [
    "POISONED",
    "DeadLetter",
    "DeadLetters",
    "bears_blame",
    "bury",
    "bury_record",
    "bury_row",
    "bury_what",
    "limit_of",
    "per_minute_of",
    "time_at",
    "too_many",
    "too_often",
    "whole",
]

MAX_PER_EPOCH = DeadLetterOptions.MAX_PER_EPOCH.key
MAX_PER_MINUTE = DeadLetterOptions.MAX_PER_MINUTE.key
_VALUE_CHARACTERS = 10_000
_RAW_BYTES = 1 << 20


def limit_of(configuration: Mapping[str, str]) -> int:
    """How many an epoch may have."""
    given = configuration.get(MAX_PER_EPOCH)
    return int(given) if given else int(DeadLetterOptions.MAX_PER_EPOCH.default or 0)


def per_minute_of(configuration: Mapping[str, str]) -> int | None:
    """How many a minute may have; None: any number."""
    given = configuration.get(MAX_PER_MINUTE)
    return int(given) if given else None


def _wanted(configuration: Mapping[str, str], names: tuple[str, ...]) -> bool:
    """Whether there is a destination, and the operator with these names is among those that may use it."""
    there = any(configuration.get(o.key) for o in (DeadLetterOptions.PATH, DeadLetterOptions.TOPIC))
    if not there and not any(key.startswith(DeadLetterOptions.TABLE) for key in configuration):
        return False
    only = configuration.get(DeadLetterOptions.ONLY.key)
    if not only:
        return True
    return any(name == wanted or fnmatchcase(name, wanted) for name in names for wanted in parse_list(only))


class _Poisoned:
    """Stands where the result of an element would be."""

    def __bool__(self) -> bool:
        return False


POISONED = _Poisoned()


@dataclass(frozen=True)
class DeadLetter:
    """An element or record that nobody could process, and all that is known of it.

    Attributes:
        value: The element as `repr` shows it; None for a record that was never an element.
        raw: The record's bytes in base64, at most a mebibyte of them; None for an element.
        offset: Where the record was in its split, as the connector says it.
    """

    job_id: str
    job_name: str
    operator: str
    uid: str
    subtask: int
    epoch: int
    processing_time_ms: int
    error: str
    traceback: str
    event_time: int | None = None
    value: str | None = None
    split: str | None = None
    offset: str | None = None
    raw: str | None = None

    def as_dict(self) -> Mapping[str, Any]:
        return asdict(self)


class DeadLetters:
    """Those of one operator subtask in one epoch."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._letters: list[DeadLetter] = []

    @staticmethod
    def of(configuration: Mapping[str, str], *names: str) -> DeadLetters | None:
        """Those of an operator with these names; None where poison fails the job."""
        return DeadLetters(limit_of(configuration)) if _wanted(configuration, names) else None

    def begin_epoch(self) -> None:
        self._letters = []

    def taken(self) -> tuple[DeadLetter, ...]:
        """All of the epoch."""
        return tuple(self._letters)

    def add(self, context: OperatorContext, error: Exception, **known: Any) -> None:
        """Writes one down.

        Raises:
            PenstockError: There are too many.
        """
        if len(self._letters) >= self.limit:
            raise too_many(self.limit, error, context.name)
        clock = context.clock
        self._letters.append(
            DeadLetter(
                context.job_id,
                context.job_name,
                context.name,
                str(context.uid),
                context.subtask_index,
                int(clock.epoch),
                clock.processing_time_ms,
                f"{type(error).__name__}: {error}",
                getattr(error, "user_traceback", "") or user_traceback(error),
                **known,
            )
        )
        context.metrics.counter("numDeadLetters").inc()


def too_many(limit: int, error: object, operator: str) -> PenstockError:
    """The error of an epoch in which poison is the rule; not tried again, because nothing would be different."""
    failure = MalformedRecordError(
        f"more than {limit} elements or records of one epoch could not be processed; the last one: {error}",
        where=f"operator '{operator}'",
        do=f"correct the function or the data, or raise '{MAX_PER_EPOCH}'",
    )
    failure.retryable = False
    return failure


def too_often(limit: int, error: object, operator: str) -> PenstockError:
    """The error of a minute in which poison is the rule."""
    failure = MalformedRecordError(
        f"more than {limit} elements or records of one minute could not be processed; the last one: {error}",
        where=f"operator '{operator}'",
        do=f"correct the function or the data, or raise '{MAX_PER_MINUTE}'",
    )
    failure.retryable = False
    return failure


def bury(
    error: Exception, context: OperatorContext, function: Any, value: Any, timestamp: int | None
) -> None:
    """Makes a dead letter of an element.

    Raises:
        PenstockError: There is nowhere to put it, or it is an error of penstock's own: the job fails as ever.
    """
    letters = context.dead_letters
    if letters is None or isinstance(error, PenstockError):
        raise_user_error(error, context, function, value)
    letters.add(context, error, event_time=timestamp, value=_shown(value))


def bury_what(
    error: Exception, context: OperatorContext, function: Any, what: str, timestamp: int | None
) -> None:
    """Makes a dead letter of something that is not an element: a timer, a window that fires.

    Raises:
        PenstockError: As `bury` does.
    """
    letters = context.dead_letters
    if letters is None or isinstance(error, PenstockError):
        raise_user_error(error, context, function, during=what)
    letters.add(context, error, event_time=timestamp, value=_cut(what))


def bears_blame(error: Exception) -> bool:
    """Whether an error of a table's program is about its rows, and not about penstock or the machine."""
    return isinstance(error, (UserFunctionError, MalformedRecordError, JobExecutionError)) or not isinstance(
        error, (PenstockError, MemoryError, AssertionError)
    )


def bury_row(error: Exception, context: OperatorContext, row: Any) -> None:
    """Makes a dead letter of a row of a table."""
    assert context.dead_letters is not None, "otherwise it fails the job"
    context.dead_letters.add(context, error, value=_shown(row))


def time_at(timestamps: list[int] | None, place: int) -> int | None:
    """The event time of the element at a place of its batch, if it has one."""
    return None if timestamps is None else timestamps[place]


def bury_record(context: OperatorContext, record: BadRecord) -> None:
    """Makes a dead letter of a record that cannot be decoded."""
    assert context.dead_letters is not None, "readers are told of it only then"
    raw = base64.b64encode(record.raw[:_RAW_BYTES]).decode()
    context.dead_letters.add(
        context, record.error, event_time=record.timestamp, split=record.split, offset=record.offset, raw=raw
    )


def whole(call: Callable[..., Any], context: OperatorContext) -> Callable[..., Any]:
    """The call with all its results at once where there are dead letters, so that it gives all of them or none."""
    if context.dead_letters is None:
        return call

    def called(*arguments: Any) -> list[Any] | None:
        items = call(*arguments)
        return None if items is None else list(items)

    return called


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:  # a broken __repr__ must not hide the element's own failure
        return f"<{type(value).__name__} whose repr failed: {error}>"
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= _VALUE_CHARACTERS else text[:_VALUE_CHARACTERS] + "…"

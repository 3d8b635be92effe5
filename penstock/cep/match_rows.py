"""MATCH_RECOGNIZE on the pattern library: events are rows, steps are pattern variables.

    PATTERN (A B+ C?)     begin A, next B one or more, consecutive and greedy, next C optional
    DEFINE B AS …         what looks at the row alone is a column of the row; the rest is asked of rows so far
    MEASURES …            values of rows of the match, or aggregates over the rows of a variable

A *leaf* is such a value: it knows a variable, and takes what it needs from the rows that matched it. In DEFINE
the row at hand counts as one of the variable that is being defined.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.cep.nfa.predicates import Look
from penstock.cep.nfa.taken import Taking, unshared
from penstock.cep.pattern.conditions import IterativeCondition, SimpleCondition
from penstock.cep.pattern.pattern import Pattern
from penstock.cep.pattern.skip import AfterMatchSkipStrategy
from penstock.common.errors import ValidationError
from penstock.delta.aggregates.call import AggregateCall
from penstock.delta.aggregates.spec import AggSpec

Row = tuple[Any, ...]


class Rows(ABC):
    """The rows of each variable; of all variables, in the order of the pattern, for None."""

    @abstractmethod
    def row(self, variable: str | None, first: bool, offset: int) -> Row | None:
        """The first or last row, or the one `offset` rows from there; None: there is no such row."""

    @abstractmethod
    def aggregate(self, variable: str | None, call: AggregateCall) -> Any:
        """The result of an aggregate over the rows."""


class MatchRows(Rows):
    """The rows of a match."""

    def __init__(self, match: Mapping[str, Sequence[Row]], names: Sequence[str]) -> None:
        self._match = match
        self._names = names

    def row(self, variable: str | None, first: bool, offset: int) -> Row | None:
        return _nth(self._of(variable), first, offset)

    def aggregate(self, variable: str | None, call: AggregateCall) -> Any:
        return call.result(call.update(call.create(), self._of(variable), None))

    def _of(self, variable: str | None) -> Sequence[Row]:
        if variable is not None:
            return self._match.get(variable, ())
        return [row for name in self._names for row in self._match.get(name, ())]


class RowsSoFar(Rows):
    """The rows of a partial match and the row at hand, which counts as one of the variable `own`.

    Nothing here takes longer for a partial match that has taken more rows, except what looks at all variables, and
    FIRST with an offset.
    """

    def __init__(self, taking: Taking, names: Sequence[str], own: str, row: Row) -> None:
        self._taking = taking
        self._names = names
        self._own = own
        self._at_hand = row

    def row(self, variable: str | None, first: bool, offset: int) -> Row | None:
        if variable is None:
            return self._at_hand if not first and not offset else _nth(self._all(), first, offset)
        taken = self._taking.get(variable)
        count = 0 if taken is None else taken.count
        if variable == self._own:
            if offset == (count if first else 0):
                return self._at_hand
            offset -= 0 if first else 1
        if taken is None or offset >= count:
            return None
        if first and not offset:
            return taken.first  # type: ignore[no-any-return]
        link = taken.back(count - 1 - offset if first else offset)
        return None if link is None else link.value

    def aggregate(self, variable: str | None, call: AggregateCall) -> Any:
        if variable is None:
            return call.result(call.update(call.create(), self._all(), None))
        taken = self._taking.get(variable)
        accumulator = call.create() if taken is None else taken.folded(call, call.create, call.update_one)
        if variable == self._own:
            accumulator = call.update_one(unshared(accumulator), self._at_hand)
        return call.result(accumulator)

    def _all(self) -> list[Row]:
        taken = [self._taking[name] for name in self._names if name in self._taking]
        return [*(row for one in taken for row in one.events()), self._at_hand]


def _nth(rows: Sequence[Row], first: bool, offset: int) -> Row | None:
    if len(rows) <= offset:
        return None
    return rows[offset if first else -1 - offset]


class Leaf(ABC):
    """A value that is taken from rows."""

    def open(self, function_context: Any) -> None:
        """Once per task; functions of users want to know."""

    def close(self) -> None:
        """Once per task, at the end of the job."""

    @abstractmethod
    def value(self, rows: Rows, time_ms: int) -> Any:
        """The value, for rows that matched so far."""


@dataclass(frozen=True)
class RowLeaf(Leaf):
    """A column of the first or last row of a variable, or of one `offset` rows from there."""

    variable: str | None
    column: int
    first: bool = False
    offset: int = 0

    def value(self, rows: Rows, time_ms: int) -> Any:
        row = rows.row(self.variable, self.first, self.offset)
        return None if row is None else row[self.column]


class AggregateLeaf(Leaf):
    """An aggregate over the rows of a variable."""

    def __init__(self, variable: str | None, spec: AggSpec) -> None:
        self.variable = variable
        self.spec = spec
        self._call = AggregateCall(spec, retracts=False)

    def open(self, function_context: Any) -> None:
        self._call.open(function_context)

    def close(self) -> None:
        self._call.close()

    def value(self, rows: Rows, time_ms: int) -> Any:
        return rows.aggregate(self.variable, self._call)

    def __reduce__(self) -> tuple[Any, ...]:
        return AggregateLeaf, (self.variable, self.spec)


@dataclass(frozen=True)
class TimeLeaf(Leaf):
    """The time of the match."""

    as_value: Callable[[int], Any]

    def value(self, rows: Rows, time_ms: int) -> Any:
        return self.as_value(time_ms)


@dataclass(frozen=True)
class Variable:
    """A variable of the pattern.

    Attributes:
        name: Unique in the pattern.
        minimum: How many rows it needs.
        maximum: How many it takes at most; None: no bound.
        greedy: Whether it takes what it can before the next variable gets a row.
        column: A boolean column that must be true; None: there is none.
        leaves: What the condition is over.
        condition: (values of the leaves) -> true, false or unknown; None: there is none.
    """

    name: str
    minimum: int = 1
    maximum: int | None = 1
    greedy: bool = True
    column: int | None = None
    leaves: tuple[Leaf, ...] = ()
    condition: Callable[[Sequence[Any]], Any] | None = None


def build_pattern(variables: Sequence[Variable], skip: tuple[str, str | None], within_ms: int) -> Pattern:
    """The pattern of a clause.

    Raises:
        ValidationError: Flink has no such patterns.
    """
    strategy = _strategy(skip)
    pattern: Pattern | None = None
    for number, variable in enumerate(variables):
        step = Pattern.begin(variable.name, strategy) if pattern is None else pattern.next(variable.name)
        if variable.column is not None:
            step.where(_ColumnCondition(variable.column))
        if variable.condition is not None:
            step.where(_RowsCondition(variable, [v.name for v in variables[: number + 1]]))
        pattern = _quantified(step, variable)
    if pattern is None:
        raise ValidationError("an empty pattern matches nothing")
    if pattern.get_quantifier().is_greedy:
        raise ValidationError(
            "Greedy quantifiers are not allowed as the last element of a Pattern yet. Finish your pattern with "
            "either a simple variable or reluctant quantifier."
        )
    return pattern.within(within_ms) if within_ms else pattern


def _strategy(skip: tuple[str, str | None]) -> AfterMatchSkipStrategy:
    kind, variable = skip
    if kind == "PAST LAST ROW":
        return AfterMatchSkipStrategy.skip_past_last_event()
    if variable is None:
        return AfterMatchSkipStrategy.skip_to_next()
    make = AfterMatchSkipStrategy.skip_to_first if kind == "TO FIRST" else AfterMatchSkipStrategy.skip_to_last
    return make(variable).throw_exception_on_miss()


def _quantified(step: Pattern, variable: Variable) -> Pattern:
    low, high = variable.minimum, variable.maximum
    if (low, high) == (1, 1):
        return step
    if (low, high) == (0, 1):
        if not variable.greedy:
            raise ValidationError("Reluctant optional variables are not supported yet.")
        return step.optional()
    if high is not None:
        step.times(low, high).consecutive()
    elif low == 0:
        step.one_or_more().optional().consecutive()
    else:
        step.times_or_more(low).consecutive()
    return step.greedy() if variable.greedy and low != high else step


class _ColumnCondition(SimpleCondition):
    """A boolean column of the row is true."""

    def __init__(self, column: int) -> None:
        self._column = column

    def filter(self, value: Row) -> bool:  # type: ignore[override]
        return value[self._column] is True


class _RowsCondition(IterativeCondition):
    """A condition over the rows so far and the row at hand."""

    def __init__(self, variable: Variable, names: Sequence[str]) -> None:
        self._variable = variable
        self._names = tuple(names)

    def filter(self, value: Row, ctx: IterativeCondition.Context) -> bool:
        assert isinstance(ctx, Look)
        condition, time_ms = self._variable.condition, ctx.timestamp_ms
        assert condition is not None
        rows = RowsSoFar(ctx.taking, self._names, self._variable.name, value)
        return condition([leaf.value(rows, time_ms) for leaf in self._variable.leaves]) is True

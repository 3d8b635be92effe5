"""What operators remember, told for people: EXPLAIN prints it.

    Join on id     every row of the left input, found by id, for ever         grows with each row
    GROUP BY id    MAX and how many rows, by id, for 1 h after a change       grows with each key
    TUMBLE         COUNT by id and window, until the window ends              as large as what is open

It is told by the operator, next to the state it opens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

WINDOW_ENDS = "until the window ends"
PASSED = "until the watermark passes it"


@dataclass(frozen=True)
class Kept:
    """Something that an operator remembers.

    Attributes:
        what: What there is of it for each key.
        each: Whether there is more of it for each row, or for each key only.
        input_index: Which input it is about.
        columns: The columns of that input that it consists of; None for all, () where `what` says it.
        ttl_ms: How long without a change a key is remembered, 0 being for ever; None if no time to live applies.
        until: What else lets it go.
        windowed: Whether it is kept for each window apart.
    """

    what: str
    each: Literal["row", "key"] = "key"
    input_index: int = 0
    columns: tuple[int, ...] | None = None
    ttl_ms: int | None = None
    until: str = ""
    windowed: bool = False

    @property
    def bound(self) -> str:
        """How long it is kept.

        >>> Kept("1 row", ttl_ms=0).bound, Kept("1 row", ttl_ms=1000).bound, Kept("1 row", until=WINDOW_ENDS).bound
        ('for ever', 'until 1000 ms without a change', 'until the window ends')
        """
        if self.until:
            return self.until
        return f"until {self.ttl_ms} ms without a change" if self.ttl_ms else "for ever"

    def grows(self, keyed: bool) -> bool:
        """Whether nothing bounds it; what is kept once, and not for each key, does not grow.

        >>> Kept("1 row", ttl_ms=0).grows(keyed=True), Kept("1 row", ttl_ms=0).grows(keyed=False)
        (True, False)
        """
        return self.bound == "for ever" and (keyed or self.each == "row")


def every_row(
    inputs: int = 1, ttl_ms: Sequence[int | None] = (None, None), until: Sequence[str] = ("", "")
) -> tuple[Kept, ...]:
    """All rows of each input."""
    return tuple(
        Kept("every row", "row", i, ttl_ms=ttl_ms[i], until=until[i], windowed=until[i] == WINDOW_ENDS)
        for i in range(inputs)
    )


def waiting(waits_ms: Sequence[int]) -> list[str]:
    """Until when rows of each side of an interval join may find a partner.

    >>> waiting((-5, 10))
    ['until the watermark passes it', 'until the watermark is 10 ms past it']
    """
    return [f"until the watermark is {ms} ms past it" if ms > 0 else PASSED for ms in waits_ms]


def some_rows(number: int) -> str:
    """
    >>> some_rows(1), some_rows(10)
    ('1 row', '10 rows')
    """
    return "1 row" if number == 1 else f"{number} rows"


def results(functions: Iterable[str]) -> str:
    """Partial results of aggregates, and the number of rows, which says when a group has gone.

    >>> results(["MAX", "COUNT", "MAX"]), results([])
    ('MAX, COUNT, a number of rows', 'a number of rows')
    """
    return ", ".join([*dict.fromkeys(functions), "a number of rows"])

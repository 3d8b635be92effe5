"""ORDER BY ... LIMIT ... OFFSET: a Top-N over everything, whose result has no order of its own."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.delta.rank import Rank


class SortLimit(Rank):
    """Output rows are input rows. With an empty order, arrival decides: LIMIT of a changing table."""

    def __init__(
        self,
        order: Sequence[tuple[int, bool]],
        *,
        limit: int,
        offset: int = 0,
        input_retracts: bool = True,
        state_ttl_ms: int = 0,
    ) -> None:
        super().__init__(
            (),
            order,
            start=offset + 1,
            end=offset + limit,
            input_retracts=input_retracts,
            state_ttl_ms=state_ttl_ms,
        )

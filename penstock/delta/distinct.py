"""SELECT DISTINCT: a group aggregate over all columns, without aggregates.

A row is in the result as long as the input has it at least once.
"""

from __future__ import annotations

from penstock.delta.group_aggregate import GroupAggregate


class Distinct(GroupAggregate):
    """Output row: the input row."""

    def __init__(self, width: int, *, input_retracts: bool = True, state_ttl_ms: int = 0) -> None:
        super().__init__(range(width), (), input_retracts=input_retracts, state_ttl_ms=state_ttl_ms)

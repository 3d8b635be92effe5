"""The driver's side of the sources: which splits there are, who reads them, and what an epoch reads.

Splits are given to subtasks round-robin in the order of discovery and stay there. Sources in the same
watermark alignment group wait for the slowest: a source whose watermark is further ahead than the allowed
drift reads nothing until the others have come closer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from penstock.common.ids import MAX_WATERMARK
from penstock.connectors.source import EnumeratorContext, SplitEnumerator
from penstock.graph.stream_graph import StreamNode
from penstock.graph.transformations import SourceTransformation
from penstock.runtime.plan import SourcePlan, SplitRead
from penstock.runtime.progress import SplitState


class SourcePlanner:
    """One source: its enumerator, and the plan of each epoch."""

    def __init__(self, node: StreamNode, configuration: Mapping[str, str], restored: Any = None) -> None:
        transformation = node.transformation
        assert isinstance(transformation, SourceTransformation)
        self.node = node
        self._strategy = transformation.watermark_strategy
        self.enumerator: SplitEnumerator = transformation.source.create_enumerator(
            EnumeratorContext(node.parallelism, configuration), restored
        )
        self.watermark_by_subtask: dict[int, int] = {}
        self._assigned: int | None = None

    def discover(self, known: Mapping[str, SplitState]) -> dict[str, SplitState]:
        """The known splits and the new ones; also moves splits when the parallelism has changed."""
        forgets = self.enumerator.remembers_splits
        splits = {
            split_id: state
            if state.subtask < self.node.parallelism
            else dataclasses.replace(state, subtask=state.subtask % self.node.parallelism)
            for split_id, state in known.items()
            if not (forgets and state.finished)
        }
        if self._assigned is None:
            self._assigned = len(splits)
        for split in self.enumerator.discover():
            if split.split_id not in splits:
                splits[split.split_id] = SplitState(split, self._assigned % self.node.parallelism)
                self._assigned += 1
        return splits

    def pending(self, splits: Mapping[str, SplitState]) -> dict[int, int]:
        """Records that are known to be there and unread, by subtask; nothing if the source cannot tell."""
        if type(self.enumerator).pending_records is SplitEnumerator.pending_records:
            return {}
        found: dict[int, int] = {}
        for state in splits.values():
            known = None if state.finished else self.enumerator.pending_records(state.split, state.position)
            if known is not None:
                found[state.subtask] = found.get(state.subtask, 0) + known
        return found

    def plan(
        self, splits: Mapping[str, SplitState], now_ms: int, budget: int | None, held_back: bool
    ) -> tuple[dict[int, SourcePlan], bool]:
        """Each subtask's plan, and whether there is anything to do at all."""
        reads: dict[int, list[SplitRead]] = {}
        assigned: dict[int, set[str]] = {}
        for split_id, state in splits.items():
            if state.finished:
                continue
            assigned.setdefault(state.subtask, set()).add(split_id)
            limit = None if held_back else self.enumerator.plan_read(state.split, state.position, now_ms)
            if limit is None:
                continue
            if budget is not None and (limit.max_records is None or limit.max_records > budget):
                limit = dataclasses.replace(limit, max_records=budget)
            reads.setdefault(state.subtask, []).append(SplitRead(state.split, state.position, limit))
        last = self.enumerator.no_more_splits
        plans = {
            subtask: SourcePlan(
                tuple(_share(reads.get(subtask, []), budget)),
                frozenset(assigned.get(subtask, ())),
                last,
            )
            for subtask in range(self.node.parallelism)
        }
        return plans, any(plan.reads for plan in plans.values())

    def all_finished(self, splits: Mapping[str, SplitState]) -> bool:
        return self.enumerator.no_more_splits and all(s.finished for s in splits.values())

    @property
    def alignment_group(self) -> str | None:
        return self._strategy.alignment.group if self._strategy and self._strategy.alignment else None

    @property
    def watermark(self) -> int | None:
        return min(self.watermark_by_subtask.values(), default=None)

    def is_ahead_of(self, slowest: int) -> bool:
        """True if alignment asks this source to wait."""
        alignment = self._strategy.alignment if self._strategy else None
        mine = self.watermark
        if alignment is None or mine is None or mine == MAX_WATERMARK:
            return False
        return mine > slowest + alignment.max_drift_ms


def _share(reads: list[SplitRead], budget: int | None) -> list[SplitRead]:
    """The subtask's budget over its splits, so that none starves."""
    if budget is None or len(reads) <= 1:
        return reads
    share = max(1, budget // len(reads))
    return [
        dataclasses.replace(
            read,
            limit=dataclasses.replace(read.limit, max_records=min(read.limit.max_records or share, share)),
        )
        for read in reads
    ]

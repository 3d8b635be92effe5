"""Tasks that have taken output of different runs of a task are found out."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.graph.stages import plan_stages
from penstock.graph.transformations import Partitioner, PartitionerKind
from penstock.runtime.attempts import ENDED, are_mixed, combined, number_of
from penstock.runtime.plan import SubtaskReport
from penstock.runtime.routing import connects
from tests.runtime.test_exchange import edge_graph

TOKENS = ["a" * 32, "b" * 32, "c" * 32]


def reported(kind: PartitionerKind, senders: list[str], receivers: int) -> tuple[Any, list[SubtaskReport]]:
    """A job of one exchange, and the reports of an epoch in which everything went well."""
    partitioner = Partitioner(kind, key_selector=(lambda v: v) if kind is PartitionerKind.HASH else None)
    graph = edge_graph(partitioner, len(senders), receivers)
    job = SimpleNamespace(graph=graph, stages=plan_stages(graph))
    reports = [SubtaskReport(0, i, token) for i, token in enumerate(senders)]
    for receiver in range(receivers):
        heard = combined(
            number_of(token)
            for i, token in enumerate(senders)
            if connects(partitioner, i, len(senders), receiver, receivers)
        )
        reports.append(SubtaskReport(1, receiver, f"{receiver:032x}", heard={graph.edges[0].id: heard}))
    return job, reports


@pytest.mark.parametrize("kind", [PartitionerKind.HASH, PartitionerKind.RESCALE, PartitionerKind.BROADCAST])
@pytest.mark.parametrize("receivers", [1, 2, 5])
def test_an_epoch_whose_tasks_ran_once_is_not_mixed(kind: PartitionerKind, receivers: int) -> None:
    assert not are_mixed(*reported(kind, TOKENS[:2], receivers))


def test_a_receiver_that_heard_another_run_is_found() -> None:
    job, reports = reported(PartitionerKind.HASH, TOKENS, 2)
    other = combined(number_of(t) for t in (TOKENS[0], TOKENS[1], "d" * 32))
    reports[-1] = replace(reports[-1], heard={0: other})
    assert are_mixed(job, reports)


def test_a_report_of_another_run_than_all_receivers_heard_is_found() -> None:
    job, reports = reported(PartitionerKind.HASH, TOKENS, 2)
    reports[0] = replace(reports[0], token="d" * 32)
    assert are_mixed(job, reports)


def test_subtasks_that_have_ended_always_say_the_same() -> None:
    assert not are_mixed(*reported(PartitionerKind.HASH, [ENDED, TOKENS[0]], 3))

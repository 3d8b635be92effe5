"""Which state goes to whom when a program starts from a checkpoint: pure decisions, no files.

State is found by operator uid. Operators of the program that the checkpoint does not know start empty; state
whose operator the program does not have any more is an error, unless the user allows it to be dropped.

What a subtask takes over, kind by kind:

    keyed state       the handles whose key groups overlap its own. Not simply its own handle even at the same
                      parallelism: the files of a savepoint may have been rewritten in one piece
    operator state    its own; everybody's at another parallelism, or if there is union list state, and the state
                      backend cuts lists and repeats broadcasts
    runtime state     its own; at another parallelism every former subtask's goes to exactly one, except that
                      a source looks through all of them, because its splits may have moved. If all of them had
                      ended, every new subtask gets one, to know that it has ended
    attributes        of a function its own; at another parallelism none: they would be there beside the parts of
                      the lists that they were made from

`runtime/progress.py` plans the epochs from these decisions and makes none of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from penstock.checkpoint.handles import FileRef, KeyedStateHandle, OperatorSubtaskState
from penstock.checkpoint.metadata import CheckpointMetadata, OperatorCheckpoint, SourceCheckpoint
from penstock.common.errors import StateMigrationError
from penstock.common.ids import EpochId, OperatorUid
from penstock.common.key_groups import key_group_range
from penstock.state.operator import has_union_state

Blob = bytes | FileRef
T = TypeVar("T")


@dataclass(frozen=True)
class OperatorDescription:
    """What the program says about one of its operators."""

    uid: OperatorUid
    name: str
    parallelism: int
    max_parallelism: int
    keyed: bool = False
    is_source: bool = False


@dataclass(frozen=True)
class SubtaskRestore:
    """What one subtask goes on from. All of it is empty for an operator that the checkpoint does not know.

    `states` are the former subtasks whose runtime and function state it takes over. `waiting` is its own after an
    epoch; after a change of parallelism all of it, and the subtask takes what belongs to it.
    """

    keyed: tuple[KeyedStateHandle, ...] = ()
    operator_states: tuple[Blob, ...] = ()
    states: tuple[OperatorSubtaskState, ...] = ()
    waiting: tuple[Blob, ...] = ()


@dataclass(frozen=True)
class RestorePlan:
    """The decisions: per operator a restore per subtask, sources by uid, and what was dropped on purpose."""

    epoch: EpochId
    operators: Mapping[OperatorUid, tuple[SubtaskRestore, ...]] = field(default_factory=dict)
    sources: Mapping[OperatorUid, SourceCheckpoint] = field(default_factory=dict)
    starting_empty: tuple[OperatorUid, ...] = ()
    dropped: tuple[OperatorUid, ...] = ()


def resolve_restore(
    metadata: CheckpointMetadata | None,
    operators: Sequence[OperatorDescription],
    allow_non_restored: bool = False,
) -> RestorePlan:
    """Decides what every subtask restores; `metadata` is None for a fresh start.

    Raises:
        StateMigrationError: State would be lost, or an operator's max parallelism changed.
    """
    if metadata is None:
        return RestorePlan(EpochId(0), {op.uid: _empty(op) for op in operators})
    known = {op.uid for op in operators}
    dropped = _without_operator(metadata, known)
    if dropped and not allow_non_restored:
        raise _state_would_be_lost(metadata, dropped, operators)
    plans = {}
    for op in operators:
        former = metadata.operators.get(op.uid)
        plans[op.uid] = _empty(op) if former is None else _restore(op, former)
    return RestorePlan(
        metadata.epoch,
        plans,
        {uid: source for uid, source in metadata.sources.items() if uid in known},
        tuple(op.uid for op in operators if op.uid not in metadata.operators),
        tuple(dropped),
    )


def own_states(states: Sequence[OperatorSubtaskState]) -> tuple[SubtaskRestore, ...]:
    """What the subtasks go on from after an epoch: each from what it reported itself, and from all union list state.

    A subtask that has it all in memory looks at none of it; one that is opened anew, after a failure or because it
    has come to another process, sees the whole union as on every restore.
    """
    united = {id(state) for state in states if _is_united(state)}
    return tuple(
        SubtaskRestore(
            _some(own.keyed),
            tuple(s.operator_state for s in states if s.operator_state and (s is own or id(s) in united))
            if united
            else _some(own.operator_state),
            (own,),
            _some(own.waiting),
        )
        for own in states
    )


def _empty(op: OperatorDescription) -> tuple[SubtaskRestore, ...]:
    return (SubtaskRestore(),) * op.parallelism


def _restore(op: OperatorDescription, former: OperatorCheckpoint) -> tuple[SubtaskRestore, ...]:
    has_keyed_state = any(sub.keyed is not None for sub in former.subtasks)
    if has_keyed_state and op.max_parallelism != former.max_parallelism:
        raise StateMigrationError(
            f"operator {op.uid!r} has max parallelism {op.max_parallelism}, "
            f"its state was written with {former.max_parallelism}",
            where=f"operator {op.name!r}",
            do=f"call set_max_parallelism({former.max_parallelism}): it cannot change in a job's life",
        )
    if has_keyed_state and not op.keyed:
        raise StateMigrationError(
            f"operator {op.uid!r} has keyed state in the checkpoint, but its input is not keyed any more",
            where=f"operator {op.name!r}",
            do="key the stream as before, or give the operator another uid to start without the state",
        )
    return tuple(_share(op, former.subtasks, i) for i in range(op.parallelism))


def _share(op: OperatorDescription, former: Sequence[OperatorSubtaskState], subtask: int) -> SubtaskRestore:
    taken = with_operator_state = tuple(former)
    if op.parallelism == len(former):
        taken = (former[subtask],)
        with_operator_state = tuple(s for s in former if s is former[subtask] or _is_united(s))
    elif former and all(sub.ended for sub in former):
        # Nobody will tell the new subtasks that their input has ended: they have to know it from the start.
        taken = (former[subtask % len(former)],)
    elif not op.is_source:
        # Some may have ended before others; the new ones all have input to come.
        taken = tuple(sub for sub in taken[subtask :: op.parallelism] if not sub.ended)
    groups = key_group_range(subtask, op.max_parallelism, op.parallelism)
    if op.parallelism != len(former):
        taken = tuple(replace(sub, function_state=None) for sub in taken)
    handles = tuple(h.keyed for h in former if h.keyed is not None and _overlap(h.keyed, groups))
    operator_states = (state.operator_state for state in with_operator_state)
    waiting = (state.waiting for state in (taken if op.parallelism == len(former) else former))
    return SubtaskRestore(
        handles,
        tuple(s for s in operator_states if s is not None),
        taken,
        tuple(w for w in waiting if w is not None),
    )


def _is_united(state: OperatorSubtaskState) -> bool:
    """Whether every subtask wants the operator state. Nobody looks into files here: they may have union state."""
    blob = state.operator_state
    return blob is not None and (isinstance(blob, FileRef) or has_union_state(blob))


def _overlap(handle: KeyedStateHandle, groups: range) -> bool:
    return handle.first_key_group < groups.stop and handle.last_key_group >= groups.start


def _some(item: T | None) -> tuple[T, ...]:
    return () if item is None else (item,)


def _without_operator(metadata: CheckpointMetadata, known: set[OperatorUid]) -> list[OperatorUid]:
    """Operators and sources with something to lose that the program does not have."""
    stateful = [uid for uid, op in metadata.operators.items() if _has_state(op)]
    return sorted((set(stateful) | set(metadata.sources)) - known)


def _has_state(op: OperatorCheckpoint) -> bool:
    return any(
        (sub.keyed is not None and sub.keyed.files) or sub.operator_state or sub.function_state
        for sub in op.subtasks
    )


def _state_would_be_lost(
    metadata: CheckpointMetadata, dropped: list[OperatorUid], operators: Sequence[OperatorDescription]
) -> StateMigrationError:
    names = [
        f"{uid!r} ({metadata.operators[uid].name})" if uid in metadata.operators else repr(uid)
        for uid in dropped
    ]
    have = ", ".join(repr(op.uid) for op in operators)
    return StateMigrationError(
        f"checkpoint {metadata.epoch} has state of operators that the program does not have: "
        + ", ".join(names),
        where=f"job {metadata.job_id}; the program has {have}",
        do="give the operators the uids they had (.uid(...)), or allow it with\n"
        "execution.state-recovery.ignore-unclaimed-state: true (--allow-non-restored-state)",
    )

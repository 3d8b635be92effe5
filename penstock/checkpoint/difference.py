"""What has changed between two checkpoints or savepoints: operators, states, entries, positions of sources.

Records are compared by their bytes, in one walk through both states, which come sorted.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.checkpoint.contents import OperatorContents, StateContents
from penstock.checkpoint.listing import StateInfo, describe_operator, sources_of
from penstock.checkpoint.savepoint_rows import as_text
from penstock.state.files import Record
from penstock.state.records import TIMER, RecordParts, RecordReader


@dataclass
class StateDifference:
    """How one state differs, in records: values, map entries, chunks of lists, timers.

    An example has `key`, `before` and `after`; as far as the state has them also `window`, `map_key`, the `time` of a
    timer and the `chunk` of a list.
    """

    name: str
    kind: str
    added: int = 0
    removed: int = 0
    changed: int = 0
    same: int = 0
    note: str = ""
    examples: list[dict[str, Any]] = field(default_factory=list)

    @property
    def differs(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.note)


@dataclass
class OperatorDifference:
    """How one operator differs. `status` is added, removed, changed or same."""

    uid: str
    name: str
    status: str
    notes: list[str] = field(default_factory=list)
    states: list[StateDifference] = field(default_factory=list)


@dataclass
class Difference:
    """From one checkpoint or savepoint to another."""

    epochs: tuple[int, int]
    operators: list[OperatorDifference]
    sources: list[dict[str, Any]]

    @property
    def differs(self) -> bool:
        return bool(self.sources) or any(op.status != "same" for op in self.operators)


def compare(before: StateContents, after: StateContents, examples: int = 0) -> Difference:
    """Compares all operators; up to `examples` changes of each state are shown."""
    operators = []
    for uid in dict.fromkeys([*before.operators, *after.operators]):
        old, new = before.operators.get(uid), after.operators.get(uid)
        if old is not None and new is not None:
            operators.append(_compare_operator(old, new, examples))
        else:
            known = old or new
            assert known is not None
            status = "added" if old is None else "removed"
            operators.append(OperatorDifference(uid, known.checkpoint.name, status))
    epochs = (before.metadata.epoch, after.metadata.epoch)
    return Difference(epochs, operators, list(_compare_sources(before, after)))


def _compare_sources(before: StateContents, after: StateContents) -> Iterator[dict[str, Any]]:
    old, new = sources_of(before), sources_of(after)
    for uid in dict.fromkeys([*old, *new]):
        splits = dict.fromkeys([*old.get(uid, {}), *new.get(uid, {})])
        for split in splits:
            was, now = old.get(uid, {}).get(split), new.get(uid, {}).get(split)
            if was != now:
                yield {
                    "uid": uid,
                    "split": split,
                    "before": was and was["position"],
                    "after": now and now["position"],
                }


def _compare_operator(old: OperatorContents, new: OperatorContents, examples: int) -> OperatorDifference:
    was, now = describe_operator(old), describe_operator(new)
    found = OperatorDifference(now.uid, now.name, "same")
    for what in ("name", "parallelism", "max_parallelism", "key_type"):
        if getattr(was, what) != getattr(now, what):
            found.notes.append(f"{what} {getattr(was, what)} -> {getattr(now, what)}")
    states = {s.name: StateDifference(s.name, s.kind, note=_note(s, was.states)) for s in now.states}
    for gone in (s for s in was.states if s.name not in states):
        states[gone.name] = StateDifference(gone.name, gone.kind, note="removed")
    if was.max_parallelism == now.max_parallelism:
        _compare_records(old, new, states, examples)
    else:
        found.notes.append("records are not compared: they are in other key groups")
    _compare_operator_state(old, new, states)
    found.states = sorted(states.values(), key=lambda s: s.name)
    if found.notes or any(s.differs for s in found.states):
        found.status = "changed"
    return found


def _note(state: StateInfo, before: list[StateInfo]) -> str:
    was = next((s for s in before if s.name == state.name), None)
    if was is None:
        return "added"
    if (was.kind, was.type) != (state.kind, state.type):
        return f"{was.kind} {was.type} -> {state.kind} {state.type}"
    return ""


def _compare_records(
    old: OperatorContents, new: OperatorContents, states: dict[str, StateDifference], examples: int
) -> None:
    readers = (RecordReader(old.schemas()), RecordReader(new.schemas()))
    for was, now in _walk(_records(old), _records(new)):
        record, reader = (now, readers[1]) if now is not None else (was, readers[0])
        assert record is not None
        parts = reader.parts(*record)
        state = states.setdefault(parts.state, StateDifference(parts.state, parts.kind))
        if was is None:
            state.added += 1
        elif now is None:
            state.removed += 1
        elif was == now:
            state.same += 1
            continue
        else:
            state.changed += 1
        if len(state.examples) < examples:
            shown = [r and rd.parts(*r) for r, rd in zip((was, now), readers, strict=True)]
            values = [p and as_text(rd.value, p) for p, rd in zip(shown, readers, strict=True)]
            state.examples.append({**_place(reader, parts), "before": values[0], "after": values[1]})


def _place(reader: RecordReader, parts: RecordParts) -> dict[str, Any]:
    """Which record of a state it is: the key, and what else there is that tells records of a key apart."""
    place: dict[str, Any] = {"key": as_text(reader.key, parts)}
    if parts.namespace:
        place["window"] = as_text(reader.namespace, parts)
    if parts.map_key is not None:
        place["map_key"] = as_text(reader.map_key, parts)
    if parts.position is not None:
        place["time" if parts.kind == TIMER else "chunk"] = parts.position
    return place


def _records(operator: OperatorContents) -> Iterator[Record]:
    return heapq.merge(*(share.records() for share in operator.shares))


def _walk(old: Iterator[Record], new: Iterator[Record]) -> Iterator[tuple[Record | None, Record | None]]:
    """Pairs of records of one key; None where one side has none."""
    was, now = next(old, None), next(new, None)
    while was is not None or now is not None:
        if now is None or (was is not None and was[:2] < now[:2]):
            yield was, None
            was = next(old, None)
        elif was is None or now[:2] < was[:2]:
            yield None, now
            now = next(new, None)
        else:
            yield was, now
            was, now = next(old, None), next(new, None)


def _compare_operator_state(
    old: OperatorContents, new: OperatorContents, states: dict[str, StateDifference]
) -> None:
    was, now = _elements(old), _elements(new)
    for name in {*was, *now}:
        state = states[name]
        before, after = was.get(name, []), now.get(name, [])
        state.same = sum(item in before for item in after)
        state.added, state.removed = len(after) - state.same, len(before) - state.same


def _elements(operator: OperatorContents) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for saved in operator.operator_states():
        for name, state in saved.items():
            items = list(map(tuple, state.pairs)) if state.mode == "broadcast" else state.elements
            if state.mode != "broadcast" or name not in found:
                found.setdefault(name, []).extend(items)
    return found

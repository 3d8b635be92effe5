"""Which checkpoints and savepoints there are, and what their operators keep: for people and scripts.

find_snapshots(folder)     checkpoints and savepoints in a folder, also below job ids
describe(contents)         operators, states, sizes
state_rows(...)            entries of a state, as plain values
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, islice
from typing import Any

from penstock.checkpoint.column_state import ColumnStateView, is_in_columns
from penstock.checkpoint.contents import OperatorContents, StateContents, open_contents
from penstock.checkpoint.entries import TIMER_STATES, KeyedStateView, StateEntry, Unreadable
from penstock.checkpoint.file_check import FileCheck
from penstock.checkpoint.filesystem import FileSystem, filesystem_for
from penstock.checkpoint.savepoint import SAVEPOINT_FILE
from penstock.checkpoint.savepoint_rows import to_json
from penstock.checkpoint.storage import COPY_FILE, METADATA_FILE
from penstock.common.codecs import compile_codec
from penstock.common.errors import CheckpointError, PenstockError, TypeMismatchError
from penstock.state.operator import SavedState
from penstock.state.schema import KEY_RECORD, StateSchema, declared_type

_DEPTH = 3
_CHECKPOINT = re.compile(r"chk-\d+$")


@dataclass(frozen=True)
class Snapshot:
    """A checkpoint or savepoint; `problem` says why it cannot be used, if it cannot."""

    path: str
    kind: str
    epoch: int = -1
    job_id: str = ""
    job_name: str = ""
    timestamp_ms: int = 0
    operators: int = 0
    state_bytes: int = 0
    problem: str = ""


@dataclass(frozen=True)
class StateInfo:
    """One state of an operator."""

    name: str
    kind: str
    type: str
    has_ttl: bool = False
    namespaced: bool = False


@dataclass(frozen=True)
class OperatorInfo:
    """One operator."""

    uid: str
    name: str
    parallelism: int
    max_parallelism: int
    key_type: str
    keyed_bytes: int
    operator_bytes: int
    states: list[StateInfo] = field(default_factory=list)


def find_snapshots(path: str, check: FileCheck | None = None) -> list[Snapshot]:
    """Checkpoints and savepoints in a folder and below it, oldest first; the folder itself if it is one.

    Metadata that cannot be read is a problem of the snapshot; files that it names are looked at with a `check`.
    """
    files, root = filesystem_for(path)
    opened = [_opened(folder) for folder in _folders(files, root, _DEPTH)]
    found = [snapshot for snapshot, _ in opened]
    if check is not None:
        found = list(_checked(files, opened, check))
    return sorted(found, key=lambda s: (s.timestamp_ms, s.epoch, s.path))


def _checked(
    files: FileSystem, opened: list[tuple[Snapshot, StateContents | None]], check: FileCheck
) -> Iterator[Snapshot]:
    for snapshot, contents in opened:
        problem = check.problem(contents) if contents is not None else ""
        if problem and not {METADATA_FILE, COPY_FILE} & set(files.names(snapshot.path)):
            continue  # its job has deleted it meanwhile: metadata first, then files
        yield replace(snapshot, problem=snapshot.problem or problem)


def _folders(files: FileSystem, folder: str, depth: int) -> Iterator[str]:
    names = files.names(folder)
    if METADATA_FILE in names or SAVEPOINT_FILE in names or _CHECKPOINT.search(folder):
        yield folder
        return
    if depth > 0:
        for name in names:
            if name not in ("shared", "operators") and "." not in name and not name.startswith("_"):
                yield from _folders(files, f"{folder}/{name}", depth - 1)


def _opened(folder: str) -> tuple[Snapshot, StateContents | None]:
    try:
        contents = open_contents(folder)
    except (PenstockError, OSError) as error:
        return Snapshot(folder, "?", problem=str(error).partition("\n")[0]), None
    return _snapshot(contents), contents


def _snapshot(contents: StateContents) -> Snapshot:
    metadata = contents.metadata
    size = sum(op.keyed_bytes + op.operator_bytes for op in contents.operators.values())
    return Snapshot(
        contents.path,
        "savepoint" if contents.is_savepoint else "checkpoint",
        metadata.epoch,
        metadata.job_id,
        metadata.job_name,
        metadata.timestamp_ms,
        len(contents.operators),
        size,
    )


# --- operators ----------------------------------------------------------------------------------------------


def describe(contents: StateContents) -> list[OperatorInfo]:
    """The operators that have state, or had a chance to."""
    return [describe_operator(operator) for operator in contents.operators.values()]


def describe_operator(operator: OperatorContents) -> OperatorInfo:
    schemas = operator.schemas()
    states = [
        StateInfo(s.name, s.kind, s.fingerprint, s.has_ttl, s.namespaced)
        for key, s in schemas.items()
        if key != KEY_RECORD
    ]
    saved: dict[str, SavedState] = {}
    for of_subtask in operator.operator_states():
        saved.update(of_subtask)
    states += [StateInfo(name, s.mode, s.fingerprint) for name, s in saved.items()]
    former, key = operator.checkpoint, schemas.get(KEY_RECORD)
    return OperatorInfo(
        former.uid,
        former.name,
        former.parallelism,
        former.max_parallelism,
        key.fingerprint if key is not None else "",
        operator.keyed_bytes,
        operator.operator_bytes,
        sorted(states, key=lambda s: s.name),
    )


def sources_of(contents: StateContents) -> dict[str, dict[str, dict[str, Any]]]:
    """Where the sources stand: by uid and split, the position as Python shows it."""
    return {
        uid: {
            split_id: {"position": repr(position), "finished": finished}
            for split_id, (_, position, finished, _) in source.splits.items()
        }
        for uid, source in contents.metadata.sources.items()
    }


# --- rows ---------------------------------------------------------------------------------------------------


def state_rows(
    operator: OperatorContents, state: str, key: str | None = None, limit: int | None = None
) -> list[dict[str, Any]]:
    """Entries of a state in terms of JSON.

    Args:
        state: A state of the operator, or `timers`.
        key: Only of this key: JSON (`7`, `"a"`, `["a", 7]`), or a text as it is.
        limit: At most so many; all if None.

    Raises:
        CheckpointError: There is no such state, or it has no keys to look for.
    """
    schemas = operator.schemas()
    schema = schemas.get(state.encode())
    if state == "timers":
        rows = _timers(operator, schemas, key)
    elif is_in_columns(schema):
        rows = _in_columns(ColumnStateView(operator, state, schemas), key)
    elif schema is None and any(state in saved for saved in operator.operator_states()):
        rows = _operator_state(operator, state, key)
    else:
        rows = _keyed(KeyedStateView(operator, state, schemas=schemas), key)
    return list(islice(rows, limit))


def _keyed(view: KeyedStateView, key: str | None) -> Iterator[dict[str, Any]]:
    for entry in _entries(view, key):
        yield _without_nothing(
            key=_json(entry.key),
            window=_json(entry.namespace),
            map_key=_json(entry.map_key),
            time=entry.time_ms,
            value=_json(entry.value),
            last_access=entry.accessed_ms,
        )


def _entries(view: KeyedStateView, key: str | None) -> Iterator[StateEntry]:
    if key is None:
        for share in view.shares:
            yield from view.entries(share)
        return
    found: dict[bytes, Any] = {}
    for candidate in keys_meant(key):
        try:
            found[view.key_codec.encode_key(candidate)] = candidate
        except (TypeMismatchError, TypeError, ValueError):
            continue
    yield from chain.from_iterable(view.of_key(candidate) for candidate in found.values())


def keys_meant(text: str) -> list[Any]:
    """What somebody may mean who writes a key: the JSON that it is, or the text itself.

    >>> keys_meant('["a", 7]'), keys_meant("a"), keys_meant("7")
    ([('a', 7), '["a", 7]'], ['a'], [7, '7'])
    """
    try:
        value = json.loads(text)
    except ValueError:
        return [text]
    return [tuple(value) if isinstance(value, list) else value, text]


def _timers(
    operator: OperatorContents, schemas: dict[bytes, StateSchema], key: str | None
) -> Iterator[dict[str, Any]]:
    for domain in TIMER_STATES:
        view = KeyedStateView(operator, domain, timers=True, schemas=schemas)
        for row in _keyed(view, key):
            yield {"domain": domain, **row}


def _in_columns(view: ColumnStateView, key: str | None) -> Iterator[dict[str, Any]]:
    if key is not None:
        raise CheckpointError(
            f"state {view.state!r} is kept in columns: its rows cannot be looked up by key here"
        )
    for share in view.shares:
        table = view.table(share)
        for row in table.to_pylist() if table is not None else ():
            yield {column: _json(value) for column, value in row.items()}


def _operator_state(operator: OperatorContents, name: str, key: str | None) -> Iterator[dict[str, Any]]:
    for subtask, saved in enumerate(operator.operator_states()):
        state = saved.get(name)
        if state is None:
            continue
        whole = declared_type(StateSchema("", "", "", type_info=state.type_info)) if state.type_info else None
        if state.mode == "broadcast":
            if subtask == 0:
                yield from _broadcast(state, whole, key)
            continue
        read = compile_codec(whole).decode
        yield from ({"subtask": subtask, "value": _json(_tried(read, data))} for data in state.elements)


def _broadcast(state: SavedState, whole: Any, key: str | None) -> Iterator[dict[str, Any]]:
    read_key = compile_codec(getattr(whole, "key_type_info", None)).decode
    read_value = compile_codec(getattr(whole, "value_type_info", None)).decode
    for key_bytes, value in state.pairs:
        map_key = _tried(read_key, key_bytes)
        if key is None or map_key in keys_meant(key):
            yield {
                "map_key": _json(map_key),
                "value": None if value is None else _json(_tried(read_value, value)),
            }


def _tried(read: Any, data: bytes) -> Any:
    try:
        return read(data)
    except (PenstockError, ImportError, AttributeError) as error:
        return Unreadable(data, str(error))


def _json(value: Any) -> Any:
    return json.loads(to_json(value)) if not isinstance(value, Unreadable) else repr(value)


def _without_nothing(**cells: Any) -> dict[str, Any]:
    return {name: value for name, value in cells.items() if value is not None or name in ("key", "value")}


def as_json(item: Any) -> dict[str, Any]:
    """A dataclass of this module as plain data."""
    return asdict(item)

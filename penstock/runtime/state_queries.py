"""Committed keyed state of a running job, looked up from outside: by operator uid, state name and key.

    counts = job_client.query_state("counts", "count")
    counts.get("a")                      the value of one key: only the blocks that may hold it are read
    list(counts.between("a", "f"))       entries of a range of keys, in their order

What is read are the files of the newest committed epoch, as they lie in checkpoint storage. A running epoch is never
seen, tasks are not asked, and the job does not notice. State that nobody has written to since the job was restored
is there too. A file may be replaced by a newer snapshot while it is being read; then the newest state is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.checkpoint.contents import StateContents, contents_of
from penstock.checkpoint.entries import KeyedStateView, StateEntry
from penstock.checkpoint.filesystem import Slices
from penstock.checkpoint.handles import FileRef
from penstock.checkpoint.metadata import CheckpointMetadata, OperatorCheckpoint
from penstock.checkpoint.storage import open_verified
from penstock.common.errors import DamagedStateError, ValidationError
from penstock.state.schema import StateSchema

if TYPE_CHECKING:
    from penstock.runtime.coordinator import Coordinator

_TRIES = 3
T = TypeVar("T")


def committed_state(coordinator: Coordinator) -> StateContents:
    """What the job holds after its newest committed epoch."""
    progress, nodes = coordinator.progress, coordinator.job.graph.nodes
    operators = {
        nodes[i].uid: OperatorCheckpoint(
            nodes[i].uid, nodes[i].name, nodes[i].parallelism, nodes[i].max_parallelism, state.states
        )
        for i, state in progress.nodes.items()
    }
    job = coordinator.job
    return contents_of(
        CheckpointMetadata(progress.epoch, job.job_id, job.job_name, 0, operators), f"job {job.job_id}"
    )


class QueryableState:
    """One keyed state of an operator. Every question is answered from the newest committed epoch.

    Args:
        newest: Gives the committed state.
        uid: The operator, by uid or by name.
        state: The name of the state.
    """

    def __init__(self, newest: Callable[[], StateContents], uid: str, state: str) -> None:
        self._newest = newest
        self._uid = uid
        self._state = state
        self._opened: dict[FileRef, Slices] = {}
        self._known: tuple[tuple[FileRef, ...], dict[bytes, StateSchema]] | None = None
        self._view()  # a state that does not exist is told at once

    def get(self, key: Any) -> Any:
        """The value of a key, None if there is none: a list of a list state, a dict of a map state.

        Of state that is kept per window: a dict from window to that.

        Raises:
            TypeMismatchError: The key is not of the declared type.
        """
        entries = self.entries(key)
        if not entries:
            return None
        spaced: dict[Any, Any] = {}
        for entry in entries:
            if self._kind == "map":
                spaced.setdefault(entry.namespace, {})[entry.map_key] = entry.value
            else:
                spaced[entry.namespace] = entry.value
        return spaced[None] if set(spaced) == {None} else spaced

    def entries(self, key: Any) -> list[StateEntry]:
        """The entries of one key, with windows, map keys and times of last access."""
        return self._retried(lambda: list(self._view().of_key(key, self._open)))

    def between(self, start: Any = None, end: Any = None, limit: int | None = None) -> list[StateEntry]:
        """The entries with start <= key < end, in the order of their keys; None leaves a side open.

        All keys are looked at: state is spread by the hash of its keys. `limit` is applied at the end.
        """

        def read() -> list[StateEntry]:
            view = self._view()
            every = (entry for share in view.shares for entry in view.entries(share, self._open))
            found = [e for e in every if _within(e.key, start, end)]
            return list(islice(sorted(found, key=lambda e: e.key), limit))

        return self._retried(read)

    def scan(self) -> Iterator[StateEntry]:
        """All entries, in the order of the store. Not retried: for states that are not to be held in memory."""
        view = self._view()
        for share in view.shares:
            yield from view.entries(share, self._open)

    @property
    def epoch(self) -> int:
        """The epoch that an answer would be of now."""
        return self._newest().metadata.epoch

    @property
    def _kind(self) -> str:
        return self._view().kind

    def _view(self) -> KeyedStateView:
        operator = self._newest().operator(self._uid)
        handles = [handle for share in operator.shares for handle in share.handles]
        files = tuple(ref for handle in handles for ref in handle.files)
        self._opened = {ref: data for ref, data in self._opened.items() if ref in files}
        if self._known is None or self._known[0] != files:
            self._known = files, operator.schemas()
        return KeyedStateView(operator, self._state, schemas=self._known[1])

    def _open(self, ref: FileRef) -> Slices:
        """Files never change, so one that has been verified is not read as a whole again."""
        if ref not in self._opened:
            self._opened[ref] = open_verified(ref)
        return self._opened[ref]

    def _retried(self, read: Callable[[], T]) -> T:
        for _ in range(_TRIES - 1):
            try:
                return read()
            except (DamagedStateError, FileNotFoundError):
                continue  # a snapshot has replaced the files meanwhile
        return read()


def _within(key: Any, start: Any, end: Any) -> bool:
    try:
        return (start is None or key >= start) and (end is None or key < end)
    except TypeError:
        raise ValidationError(
            f"the key {key!r} cannot be compared with {start!r} and {end!r}",
            do="give bounds of the type of the keys",
        ) from None

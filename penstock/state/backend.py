"""The contract between operators and whatever stores their state.

An operator subtask has one `KeyedStateBackend` (if its input is keyed) and one `OperatorStateBackend`. The
stage drives them through epochs:

    begin_epoch(restore)      state is what the handle in `restore` says, nothing else
    ... operators read and write through State objects and timer queues ...
    end_epoch(epoch)          what changed goes to checkpoint storage; returns the new handle
    (or) abort_epoch()        the changes are forgotten

State objects are created once, when the function is opened, and stay valid across epochs: they look up the
backend's current key and namespace at each call. Changes live in an overlay of Python objects; a value is
decoded at most once and encoded at most once per epoch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.checkpoint.handles import FileRef, KeyedStateHandle
from penstock.common.ids import EpochId

if TYPE_CHECKING:
    from penstock.state.arranged import Arrangement
    from penstock.state.descriptors import StateDescriptor

VOID_NAMESPACE = None
"""Namespace of state that does not belong to a window."""


@dataclass(frozen=True)
class KeyedStateRestore:
    """What a keyed backend has to hold when an epoch begins.

    `handles` is empty for a new job, has one entry normally, and several after a change of parallelism (each
    is then cut to `first_key_group..last_key_group`, inclusive). `epoch` is the last committed one, 0 if
    there is none. `take_snapshot`: all of it is written when the epoch begins; `compact`: beside the epochs.
    """

    epoch: EpochId
    first_key_group: int
    last_key_group: int
    handles: tuple[KeyedStateHandle, ...] = ()
    take_snapshot: bool = False
    compact: bool = False


def next_handle(
    restore: KeyedStateRestore, snapshot: FileRef | None, epoch: EpochId, delta: FileRef | None
) -> KeyedStateHandle:
    """The handle after an epoch, from what it began with and what `begin_epoch` and `end_epoch` returned.

    A snapshot replaces the files of all former handles; it is always there after a change of parallelism.
    """
    first, last = restore.first_key_group, restore.last_key_group
    if snapshot is not None:
        former = KeyedStateHandle(restore.epoch, first, last, snapshot, ())
    elif restore.handles:
        former = restore.handles[0]
    else:
        former = KeyedStateHandle(restore.epoch, first, last, None, ())
    return former.with_delta(epoch, delta)


class Timer(NamedTuple):
    """A timer that is due: for which key and namespace, and the time it was registered for."""

    time_ms: int
    key: Any
    namespace: Any


class TimerQueue(ABC):
    """Timers of one operator subtask and one time domain, in firing order.

    Registering the same (time, key, namespace) twice fires once, as in Flink.
    """

    @abstractmethod
    def register(self, time_ms: int, namespace: Any = VOID_NAMESPACE) -> None:
        """Adds a timer for the backend's current key."""

    @abstractmethod
    def delete(self, time_ms: int, namespace: Any = VOID_NAMESPACE) -> None:
        """Removes it again; no error if there is none."""

    @abstractmethod
    def pop_due(self, up_to_ms: int) -> list[Timer]:
        """Removes and returns all timers with time <= `up_to_ms`: by time, ties in a deterministic order."""

    @abstractmethod
    def next_time(self) -> int | None:
        """The earliest registered time, or None. Cheap: asked for at every watermark."""


class KeyedStateBackend(ABC):
    """Keyed state and timers of one operator subtask."""

    current_key: Any
    event_timers: TimerQueue
    processing_timers: TimerQueue

    @abstractmethod
    def set_current_key(self, key: Any) -> None:
        """Makes `key` the one that state objects and timer queues act on. Hot: called per record."""

    @abstractmethod
    def set_current_namespace(self, namespace: Any) -> None:
        """Selects the namespace (a window, hashable; VOID_NAMESPACE otherwise) for namespaced state."""

    @abstractmethod
    def get_partitioned_state(self, descriptor: StateDescriptor, *, namespaced: bool = False) -> Any:
        """The State object for a descriptor; the same object for the same name.

        Args:
            descriptor: Name, type and TTL.
            namespaced: False: always in VOID_NAMESPACE (plain keyed state, a window's global state). True:
                follows `set_current_namespace` (window contents, per-window state, trigger state).

        Raises:
            StateMigrationError: The name was used with another kind or an incompatible type, in this program
                or in the restored state.
        """

    @abstractmethod
    def get_arrangement(
        self, name: str, *, weighted: bool, columns: Sequence[str] | None = None
    ) -> Arrangement:
        """State in columns: rows by the place of their key; the same object for the same name.

        Args:
            name: Unique among all states of the operator.
            weighted: Whether rows may be taken back.
            columns: What readers of the state call the columns; None if nobody knows.

        Raises:
            StateMigrationError: The restored state of that name is something else.
        """

    @abstractmethod
    def has_restored(self, name: str) -> bool:
        """Whether the committed state of the running epoch has a state of that name, empty or not.

        For an operator that keeps something in another way than it did, and takes over what is there.
        """

    @abstractmethod
    def merge_namespaces(self, descriptor: StateDescriptor, target: Any, sources: Iterable[Any]) -> None:
        """For the current key, merges the state of window namespaces into one and clears the sources.

        List state concatenates (target first), reducing and aggregating state combine by their function.
        """

    @abstractmethod
    def keys(self, descriptor: StateDescriptor, namespace: Any = VOID_NAMESPACE) -> Iterator[Any]:
        """All keys of this subtask that have a value in the state (for `apply_to_keyed_state`)."""

    @abstractmethod
    def begin_epoch(self, restore: KeyedStateRestore, processing_time_ms: int) -> FileRef | None:
        """Brings the backend to the committed state `restore` describes; cheap when it is there already.

        Returns the file of a full snapshot as of `restore.epoch` if `restore.take_snapshot` asked for it, or
        if the state had to be put together from other key-group ranges (see `next_handle`).
        `processing_time_ms` is the epoch's clock, by which state TTL is judged.
        """

    @abstractmethod
    def end_epoch(self, epoch: EpochId) -> FileRef | None:
        """Writes the epoch's changes as a delta file; None if nothing changed."""

    @abstractmethod
    def expiries(self) -> Mapping[str, int]:
        """Tables of whose records some do not belong into a full snapshot: those last used then, or before."""

    @abstractmethod
    def abort_epoch(self) -> None:
        """Forgets the changes of the running epoch."""

    @abstractmethod
    def close(self) -> None:
        """Releases local resources; the committed copy on disk stays for the next process."""


class OperatorStateBackend(ABC):
    """List, union list and broadcast state of one operator subtask; small enough to live in memory."""

    @abstractmethod
    def get_list_state(self, descriptor: StateDescriptor) -> Any:
        """State redistributed round-robin when the parallelism changes."""

    @abstractmethod
    def get_union_list_state(self, descriptor: StateDescriptor) -> Any:
        """State of which every subtask gets all elements on restore."""

    @abstractmethod
    def get_broadcast_state(self, descriptor: StateDescriptor) -> Any:
        """A map that is the same in every subtask."""

    @abstractmethod
    def snapshot(self) -> bytes | None:
        """All of it, encoded; None if there is none."""

    @abstractmethod
    def restore(self, snapshots: Sequence[bytes], subtask: int, parallelism: int) -> None:
        """Takes over from the snapshots of all former subtasks, re-cut for this one."""

"""Keyed state that stays open in a Python worker from epoch to epoch.

Opening state costs as much as there is of it: with the memory backend all files are read. So a worker keeps what it
has opened; if Spark hands it the subtask again, only what was written elsewhere in between is read. Whether a kept
copy is the state to go on from is decided by the backend, file by file (`state/chain.py`), never by who had it last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from penstock.state.keyed import StoredKeyedBackend


class StateKey(NamedTuple):
    """Whose state it is."""

    job_id: str
    uid: str
    subtask: int
    key_groups: tuple[int, int]


class KeptStates:
    """The open states of this process, over all jobs it has served."""

    def __init__(self) -> None:
        self._open: dict[StateKey, StoredKeyedBackend] = {}

    @contextmanager
    def using(
        self, key: StateKey, open_state: Callable[[], StoredKeyedBackend], last: bool = False
    ) -> Iterator[StoredKeyedBackend]:
        """The state for one epoch. If that fails, the copy is closed: nobody knows what it holds.

        Args:
            last: Nothing will be read of it again, so it is not kept either.
        """
        state = self._open.pop(key, None) or open_state()
        try:
            yield state
        except BaseException:
            state.close()
            raise
        if last:
            state.close()
        else:
            self._open[key] = state

    def close_job(self, job_id: str) -> int:
        """Closes all states of a job; answers how many there were."""
        keys = [key for key in self._open if key.job_id == job_id]
        for key in keys:
            self._open.pop(key).close()
        return len(keys)


KEPT = KeptStates()

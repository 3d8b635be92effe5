"""Events that wait for the watermark, so that those that came out of order meet the automaton in order.

Events of the running epoch wait in memory, by key. What still waits when the epoch ends goes to keyed state, not by
key but in *pieces*: the events of a key group in the order of time, 64 to a piece. A piece lies under the key and
the time of its first event, with one timer there:

    key group 7     │ 10:00:01 … 10:00:03 │ 10:00:03 … 10:00:07 │      written by epoch 4
                    │ 10:00:02 … 10:00:09 │                             written by epoch 5

so an event costs a part of a record and of a timer, and where a watermark passes half a piece, few events are written
again. Events of a key that have the same time stay in the order in which they came: pieces know the epoch that first
wrote them, and whatever is due at once is put in the order of time, epoch and arrival.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from operator import itemgetter
from typing import Any

from penstock.common.typeinfo import TypeInformation, Types
from penstock.state.descriptors import MapStateDescriptor, StateDescriptor
from penstock.state.keyed import StoredKeyedBackend

Event = tuple[int, Any]
"""Its time in ms, and the event itself."""

_WAITING = "waiting"
"""Namespace of the timers of pieces, and the name of the state."""

_PIECE_EVENTS = 64
"""Large enough that records and timers cost little, small enough that what a watermark leaves of a piece does too."""

_time_of = itemgetter(0)


class WaitingEvents:
    """The events of one operator subtask that the watermark has not passed.

    Args:
        backend: Has keys and timers.
        state_of: Gives the state of a descriptor.
        key_of: event -> key; the same each time it is asked.
        event_type: Type of the events; None: any.
    """

    def __init__(
        self,
        backend: StoredKeyedBackend,
        state_of: Callable[[StateDescriptor], Any],
        key_of: Callable[[Any], Any],
        event_type: TypeInformation | None,
    ) -> None:
        self._backend = backend
        self._key_of = key_of
        pieces = Types.PICKLED_BYTE_ARRAY()
        if event_type is not None:
            pieces = Types.LIST(
                Types.TUPLE([Types.LONG(), Types.LIST(Types.TUPLE([Types.LONG(), event_type]))])
            )
        self._pieces = state_of(MapStateDescriptor(_WAITING, Types.LONG(), pieces))
        self._arrived = _Arrived()

    def begin_epoch(self) -> None:
        """Forgets what an epoch that was given up has left."""
        self._arrived = _Arrived()

    def add_all(self, keys: Iterable[Any], times_ms: Iterable[int], values: Iterable[Any]) -> None:
        """Events that the watermark has not passed, in the order in which they came."""
        entries, find, add = self._backend.live_entries, self._backend.find_entry, self._arrived.add
        for key, time_ms, value in zip(keys, times_ms, values, strict=True):
            try:
                entry = entries[key]
            except (KeyError, TypeError):
                entry = find(key)
            else:
                if entry.key_type is not type(key) or (
                    entry.shape is not None and entry.shape != tuple(map(type, key))
                ):
                    entry = find(key)
            add(entry, time_ms, value)

    def take_due(self, watermark: int) -> dict[Any, list[Event]]:
        """Takes out the events up to the watermark, by key and in order; also gives keys with another timer there."""
        due = self._due_by_timers(watermark)
        self._arrived.move_due(watermark, due)
        for events in due.values():
            events.sort(key=_time_of)
        return due

    def end_epoch(self) -> None:
        """Saves what still waits."""
        groups: dict[int, list[Event]] = {}
        for entry, events in self._arrived.all():
            groups.setdefault(entry.group, []).extend(events)
        epoch = self._backend.running_epoch
        for events in groups.values():
            events.sort(key=_time_of)
            for start in range(0, len(events), _PIECE_EVENTS):
                self._save(epoch, events[start : start + _PIECE_EVENTS])
        self._arrived = _Arrived()

    def _save(self, epoch: int, events: Sequence[Event]) -> None:
        time_ms, first = events[0]
        backend, pieces = self._backend, self._pieces
        backend.set_current_key(self._key_of(first))
        pieces.put(time_ms, [*(pieces.get(time_ms) or ()), (epoch, list(events))])
        backend.event_timers.register(time_ms, _WAITING)

    def _due_by_timers(self, watermark: int) -> dict[Any, list[Event]]:
        due: dict[Any, list[Event]] = {}
        pieces: list[tuple[int, list[Event]]] = []
        backend = self._backend
        for time_ms, entries in backend.event_timers.pop_entries(watermark):
            for entry in entries:
                if entry.namespace == _WAITING:
                    backend.set_current_key(entry.key)
                    pieces += self._pieces.get(time_ms) or ()
                    self._pieces.remove(time_ms)
                else:
                    due[entry] = []
        pieces.sort(key=_time_of)  # by epoch
        for epoch, events in pieces:
            passed = bisect_right(events, watermark, key=_time_of)
            for event in events[:passed]:
                due.setdefault(backend.find_entry(self._key_of(event[1])), []).append(event)
            if passed < len(events):
                self._save(epoch, events[passed:])
        return due


class _Arrived:
    """Events of the running epoch, by key.

    `_first` has each key once for each time that was the smallest of its events, so that a watermark finds the keys
    with something to do without a look at the others.
    """

    def __init__(self) -> None:
        self._events: dict[Any, list[Event]] = {}
        self._smallest: dict[Any, int] = {}
        self._first: list[tuple[int, int, Any]] = []
        self._number = 0

    def add(self, entry: Any, time_ms: int, value: Any) -> None:
        events = self._events.get(entry)
        if events is None:
            self._events[entry] = [(time_ms, value)]
        else:
            events.append((time_ms, value))
            if time_ms >= self._smallest[entry]:
                return
        self._note(entry, time_ms)

    def move_due(self, watermark: int, due: dict[Any, list[Event]]) -> None:
        """Moves the events up to the watermark behind those that `due` has for their keys."""
        first = self._first
        while first and first[0][0] <= watermark:
            entry = heappop(first)[2]
            events = self._events.pop(entry, None)
            if events is None:
                continue
            del self._smallest[entry]
            later = [event for event in events if event[0] > watermark]
            if later:
                self._events[entry] = later
                self._note(entry, min(later, key=_time_of)[0])
                events = [event for event in events if event[0] <= watermark]
            if entry in due:
                due[entry] += events
            else:
                due[entry] = events

    def all(self) -> Iterable[tuple[Any, list[Event]]]:
        return self._events.items()

    def _note(self, entry: Any, time_ms: int) -> None:
        self._smallest[entry] = time_ms
        self._number += 1
        heappush(self._first, (time_ms, self._number, entry))

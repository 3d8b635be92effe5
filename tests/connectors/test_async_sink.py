"""The base of request sinks: order, retries, limits, failures; against a system that is a few lists."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, ClassVar

import pytest

from penstock.common.errors import ExternalSystemError, ValidationError
from penstock.connectors.async_sink import (
    AsyncSinkBase,
    AsyncSinkSettings,
    Request,
    RequestClient,
    RequestConverter,
    Unavailable,
)
from penstock.connectors.sink import WriterContext
from tests.connectors.epochs import SinkLoop

QUICK = {"initial_backoff_ms": 1, "max_backoff_ms": 2}


class System:
    """What the clients of a test write to; found by name, because sinks travel."""

    systems: ClassVar[dict[str, System]] = {}

    def __init__(self, refuse: Callable[[int, Any], str] = lambda number, payload: "") -> None:
        self.accepted: list[Any] = []
        self.batches: list[list[Any]] = []
        self.refuse = refuse
        self.calls = 0
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self.delay_s = 0.0
        self.name = f"system-{len(self.systems)}"
        self.systems[self.name] = self

    def take(self, payloads: Sequence[Any]) -> list[int]:
        with self._lock:
            self.calls += 1
            number = self.calls
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            self.batches.append(list(payloads))
        try:
            time.sleep(self.delay_s)
            answers = [self.refuse(number, p) for p in payloads]
            if "away" in answers:
                raise Unavailable("nobody answers")
            if "never" in answers:
                raise ValidationError("the system does not want it")
            with self._lock:
                self.accepted += [p for p, a in zip(payloads, answers, strict=True) if not a]
            return [i for i, a in enumerate(answers) if a]
        finally:
            with self._lock:
                self._at_once -= 1


class ListClient(RequestClient):
    def __init__(self, system: str) -> None:
        self._system = System.systems[system]

    def submit(self, payloads: Sequence[Any]) -> Sequence[int]:
        return self._system.take(payloads)


class ListSink(AsyncSinkBase):
    """Elements are (key, value)."""

    def __init__(self, system: System, **settings: int) -> None:
        self._name = system.name
        self.settings = AsyncSinkSettings(**{**QUICK, **settings})

    @property
    def system(self) -> str:
        return f"list {self._name}"

    @property
    def client_identity(self) -> Hashable:
        return self._name

    def create_client(self) -> RequestClient:
        return ListClient(self._name)

    def create_converter(self, context: WriterContext) -> RequestConverter:
        return Pairs()


class Pairs(RequestConverter):
    def convert(self, value: Any) -> Iterable[Request]:
        return [Request(value, len(str(value[1])), value[0])]


def test_everything_is_accepted_when_the_epoch_ends_and_no_batch_is_too_large() -> None:
    system = System()
    loop = SinkLoop(ListSink(system, max_batch_size=7, max_batch_size_in_bytes=20), parallelism=2)
    rows = [(None, f"v{i:04}") for i in range(100)]
    loop.run_epoch([rows[:50], rows[50:]])
    assert sorted(system.accepted) == sorted(rows)
    assert max(sum(len(v) for _, v in batch) for batch in system.batches) <= 20


def test_requests_of_a_key_keep_their_order_whatever_has_to_be_sent_again() -> None:
    system = System(lambda number, payload: "busy" if number % 3 == 1 and payload[1] % 2 else "")
    loop = SinkLoop(ListSink(system, max_batch_size=5, max_retries=50))
    loop.run_epoch([[(key, n) for n in range(40) for key in range(6)]])
    by_key = defaultdict(list)
    for key, n in system.accepted:
        by_key[key].append(n)
    assert dict(by_key) == {key: list(range(40)) for key in range(6)}


def test_batches_of_different_lanes_are_under_way_at_the_same_time() -> None:
    system = System()
    system.delay_s = 0.05
    SinkLoop(ListSink(system, max_batch_size=1, max_in_flight_requests=3)).run_epoch(
        [[(None, n) for n in range(12)]]
    )
    assert system.most_at_once == 3 and len(system.accepted) == 12


def test_a_system_that_is_away_for_a_while_is_asked_again() -> None:
    system = System(lambda number, payload: "away" if number < 4 else "")
    SinkLoop(ListSink(system, max_in_flight_requests=1)).run_epoch([[("k", 1)]])
    assert system.accepted == [("k", 1)] and system.calls == 4


def test_a_system_that_stays_away_fails_the_epoch_and_is_named() -> None:
    system = System(lambda number, payload: "away")
    with pytest.raises(
        ExternalSystemError, match="1 requests were not accepted in 3 tries: nobody answers"
    ) as e:
        SinkLoop(ListSink(system, max_retries=2)).run_epoch([[("k", 1)]])
    assert f"list {system.name}" in str(e.value) and e.value.retryable


def test_a_request_that_is_refused_for_good_is_not_sent_again() -> None:
    system = System(lambda number, payload: "never")
    with pytest.raises(ValidationError, match="does not want it"):
        SinkLoop(ListSink(system)).run_epoch([[("k", 1)]])
    assert system.calls == 1


def test_after_a_failed_epoch_the_next_one_goes_on_over_the_same_connections() -> None:
    system = System(lambda number, payload: "away" if number < 3 else "")
    loop = SinkLoop(ListSink(system, max_retries=1, max_in_flight_requests=1))
    with pytest.raises(ExternalSystemError):
        loop.run_epoch([[("k", 1)]])
    loop.run_epoch([[("k", 1), ("k", 2)]])
    assert system.accepted == [("k", 1), ("k", 2)]


def test_a_request_that_is_too_large_and_settings_without_meaning_are_refused() -> None:
    with pytest.raises(ValidationError, match="a request has 9 bytes, more than the 8"):
        SinkLoop(ListSink(System(), max_record_size_in_bytes=8)).run_epoch([[("k", "x" * 9)]])
    with pytest.raises(ValidationError, match="max_batch_size is 0"):
        AsyncSinkSettings(max_batch_size=0)


def test_a_writer_waits_rather_than_buffer_everything() -> None:
    system = System()
    gate = threading.Event()
    system.refuse = lambda number, payload: "" if gate.wait(10) else "away"
    loop = SinkLoop(ListSink(system, max_batch_size=2, max_in_flight_requests=1, max_buffered_requests=4))
    writing = threading.Thread(target=lambda: loop.run_epoch([[(None, n) for n in range(100)]]))
    writing.start()
    time.sleep(0.2)
    assert writing.is_alive() and system.calls == 1
    gate.set()
    writing.join(10)
    assert len(system.accepted) == 100

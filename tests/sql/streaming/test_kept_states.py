"""States that stay open in a worker."""

from __future__ import annotations

import pytest

from penstock.sql.streaming.kept_states import KeptStates, StateKey

KEY = StateKey("job", "uid", 0, (0, 63))


class State:
    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


def test_a_state_is_opened_once() -> None:
    kept, opened = KeptStates(), []

    def open_state() -> State:
        opened.append(State())
        return opened[-1]

    for _ in range(3):
        with kept.using(KEY, open_state) as state:  # type: ignore[arg-type]
            assert state is opened[0]
    assert len(opened) == 1 and not opened[0].closed


def test_a_state_whose_epoch_failed_is_closed_and_opened_anew() -> None:
    kept, first, second = KeptStates(), State(), State()
    with pytest.raises(ZeroDivisionError), kept.using(KEY, lambda: first):  # type: ignore[arg-type, return-value]
        raise ZeroDivisionError
    assert first.closed == 1
    with kept.using(KEY, lambda: second) as state:  # type: ignore[arg-type, return-value]
        assert state is second  # type: ignore[comparison-overlap]


def test_other_key_groups_are_another_state_and_the_end_of_a_job_closes_all_of_its_own() -> None:
    kept = KeptStates()
    states = {key: State() for key in (KEY, KEY._replace(key_groups=(0, 31)), KEY._replace(job_id="other"))}
    for key, state in states.items():
        with kept.using(key, lambda state=state: state):  # type: ignore[misc]
            pass
    assert kept.close_job("job") == 2
    assert [state.closed for state in states.values()] == [1, 1, 0]


def test_after_the_last_epoch_a_state_is_closed() -> None:
    kept, state = KeptStates(), State()
    with kept.using(KEY, lambda: state, last=True):  # type: ignore[arg-type, return-value]
        assert not state.closed
    assert state.closed == 1 and kept.close_job("job") == 0

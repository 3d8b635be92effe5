"""How long input is taken, and in which portions."""

from __future__ import annotations

from penstock.operators.time_box import TimeBox


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def portions(ms_per_element: float, limit_ms: float | None, available: int) -> list[int]:
    """The portions that somebody gets who needs so long for each element."""
    clock = Clock()
    box = TimeBox(clock)
    box.open(limit_ms)
    taken = []
    while available and (size := box.portion(available)):
        taken.append(size)
        available -= size
        clock.now += size * ms_per_element / 1000
    return taken


def test_without_a_limit_everything_is_one_portion() -> None:
    assert portions(1000, None, 5_000) == [5_000]


def test_a_slow_function_gets_one_element_at_a_time_until_the_time_is_over() -> None:
    assert portions(1000, 2_000, 5_000) == [1, 1]


def test_portions_of_a_fast_function_grow_until_they_are_whole_batches() -> None:
    taken = portions(0.001, 2_000, 100_000)
    assert taken[:4] == [1, 16, 256, 4096]
    assert sum(taken) == 100_000
    assert len(taken) < 30


def test_a_portion_takes_no_more_than_a_part_of_the_time() -> None:
    assert max(portions(0.5, 2_000, 5_000)) == 10
    assert sum(portions(0.5, 2_000, 50_000)) <= 4_010


def test_a_function_that_turns_slow_holds_the_epoch_for_one_portion() -> None:
    clock = Clock()
    box = TimeBox(clock)
    box.open(2_000)
    for _ in range(5):
        clock.now += box.portion(100_000) * 0.000_001
    assert box.portion(100_000) <= 5_000  # 5 ms of a fast function, whatever the next elements take
    clock.now += 3
    assert box.portion(100_000) == 0
    box.open(2_000)
    assert box.portion(100_000) <= 10


def test_the_speed_is_known_in_the_next_epoch() -> None:
    clock = Clock()
    box = TimeBox(clock)
    box.open(1_000)
    for _ in range(5):
        clock.now += box.portion(100_000) * 0.000_001
    box.open(1_000)
    assert box.portion(100_000) > 1_000


def test_no_time_means_nothing() -> None:
    assert portions(1, 0, 10) == []

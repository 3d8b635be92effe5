"""How epochs find their size."""

from __future__ import annotations

from penstock.runtime.pacing import FIRST_BUDGET, SMALLEST_BUDGET, Pacing


def test_a_fast_epoch_is_followed_by_a_larger_one() -> None:
    pacing = Pacing(500, bounded=False)
    pacing.observe(FIRST_BUDGET, elapsed_ms=150, work_ms=50)
    assert pacing.next_budget() == 4 * FIRST_BUDGET  # grows fourfold at most


def test_a_slow_epoch_is_followed_by_a_smaller_one() -> None:
    pacing = Pacing(500, bounded=False)
    pacing.observe(FIRST_BUDGET, elapsed_ms=2_100, work_ms=2_000)
    assert pacing.next_budget() == FIRST_BUDGET * 400 // 2_000


def test_fixed_cost_above_the_target_does_not_shrink_epochs_to_nothing() -> None:
    pacing = Pacing(500, bounded=False)
    for _ in range(20):
        records = pacing.next_budget()
        work_ms = records / 100
        pacing.observe(records, elapsed_ms=800 + work_ms, work_ms=work_ms)
    assert pacing.next_budget() >= 24_000 > SMALLEST_BUDGET


def test_an_epoch_that_had_little_to_read_says_nothing_about_the_speed() -> None:
    pacing = Pacing(500, bounded=False)
    pacing.observe(10, elapsed_ms=5_000, work_ms=4_900)
    assert pacing.next_budget() == FIRST_BUDGET


def test_bounded_jobs_take_larger_epochs() -> None:
    streaming, bounded = Pacing(500, bounded=False), Pacing(500, bounded=True)
    for pacing in (streaming, bounded):
        pacing.observe(FIRST_BUDGET, elapsed_ms=1_000, work_ms=900)
    assert bounded.next_budget() > 2 * streaming.next_budget()


def test_a_budget_that_was_set_stays() -> None:
    pacing = Pacing(500, bounded=False, fixed_budget=7)
    pacing.observe(7, elapsed_ms=1, work_ms=1)
    assert pacing.next_budget() == 7


def test_work_that_does_not_depend_on_the_records_does_not_make_epochs_small() -> None:
    pacing = Pacing(500, bounded=False)
    for _ in range(20):
        records = pacing.next_budget()
        work_ms = 300 + records / 100
        pacing.observe(records, elapsed_ms=200 + work_ms, work_ms=work_ms)
    assert pacing.next_budget() >= FIRST_BUDGET // 2


def test_one_slow_epoch_does_not_end_in_tiny_ones() -> None:
    pacing = Pacing(500, bounded=False)
    for number in range(20):
        records = pacing.next_budget()
        work_ms = records / 50 + (4_000 if number == 10 else 0)
        pacing.observe(records, elapsed_ms=300 + work_ms, work_ms=work_ms)
        assert pacing.next_budget() > SMALLEST_BUDGET
    assert pacing.next_budget() >= 10_000


def test_an_epoch_grows_only_as_far_as_a_worker_has_room() -> None:
    pacing = Pacing(500, bounded=True, comfortable_bytes=100 << 20)
    pacing.observe(FIRST_BUDGET, elapsed_ms=150, work_ms=50, growth_bytes=50 << 20)
    assert pacing.next_budget() == 2 * FIRST_BUDGET
    pacing.observe(2 * FIRST_BUDGET, elapsed_ms=200, work_ms=100, growth_bytes=200 << 20)
    assert pacing.next_budget() == FIRST_BUDGET

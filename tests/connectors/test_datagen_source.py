import pytest
from epochs import SourceLoop

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.connectors.datagen import DataGeneratorSource, GeneratorFunction, RateLimiterStrategy


def double(index):
    return 2 * index


def test_every_index_comes_once_at_any_parallelism_and_cut():
    source = DataGeneratorSource(double, 25)
    for parallelism, max_records in [(1, None), (3, 2), (30, 1)]:
        loop = SourceLoop(source, parallelism=parallelism, max_records=max_records)
        assert sorted(loop.run_to_end()) == [2 * i for i in range(25)]


def test_nothing_to_generate_ends_at_once():
    assert SourceLoop(DataGeneratorSource(double, 0)).run_to_end(max_epochs=1) == []


def test_the_rate_is_shared_by_the_splits_and_kept():
    source = DataGeneratorSource(double, 1_000, RateLimiterStrategy.per_second(10))
    loop = SourceLoop(source, parallelism=2)
    loop.run_epoch()
    assert len(loop.values) == 2  # one at once in each split
    loop.now_ms += 100
    assert loop.run_epoch() == 0
    assert loop.now_ms < loop.enumerator.next_wakeup_ms(loop.now_ms) <= loop.now_ms + 1_000
    loop.now_ms += 1_900
    loop.run_epoch()
    assert len(loop.values) == 22


def test_a_restored_source_goes_on_without_hurrying():
    source = DataGeneratorSource(double, 100, RateLimiterStrategy.per_second(10))
    loop = SourceLoop(source)
    loop.run_epoch()
    loop.now_ms += 60_000
    loop.recover()
    loop.run_epoch()
    assert loop.values == [0, 2]
    loop.now_ms += 500
    loop.run_epoch()
    assert loop.values == [2 * i for i in range(7)]


class Greeter(GeneratorFunction):
    def open(self, context):
        self.text = "hello"

    def map(self, value):
        return f"{self.text} {value}"


def test_a_generator_function_is_opened():
    assert SourceLoop(DataGeneratorSource(Greeter(), 2)).run_to_end() == ["hello 0", "hello 1"]


def test_an_unbounded_generator_never_ends():
    loop = SourceLoop(DataGeneratorSource(double), max_records=10)
    for _ in range(3):
        loop.run_epoch()
    assert not loop.ended and loop.values == [2 * i for i in range(len(loop.values))]


def test_an_unbounded_generator_deals_its_indexes_out_in_turn_and_goes_on_after_a_failure():
    loop = SourceLoop(DataGeneratorSource(double), parallelism=3, max_records=4)
    loop.run_epoch()
    assert sorted(loop.values) == [2 * i for i in range(12)]
    loop.recover()
    loop.run_epoch()
    assert sorted(loop.values) == [2 * i for i in range(24)]


def test_settings_that_cannot_be_are_refused():
    with pytest.raises(ValidationError, match="must be positive"):
        RateLimiterStrategy.per_second(0)
    with pytest.raises(NotSupportedError):
        RateLimiterStrategy.per_checkpoint(5)

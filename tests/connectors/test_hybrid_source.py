import pytest
from epochs import SourceLoop
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Types
from penstock.common.errors import ValidationError
from penstock.connectors.collection import CollectionSource
from penstock.connectors.datagen import DataGeneratorSource
from penstock.connectors.hybrid import HybridSource
from penstock.connectors.number_sequence import NumberSequenceSource
from penstock.connectors.source import Boundedness


def chain():
    return (
        HybridSource.builder(NumberSequenceSource(0, 9))
        .add_source(CollectionSource(range(10, 15), Types.LONG()))
        .add_source(DataGeneratorSource(plus_fifteen, 5))
        .build()
    )


def plus_fifteen(index):
    return index + 15


def test_sources_are_read_one_after_the_other():
    loop = SourceLoop(chain(), parallelism=2)
    epochs = []
    while not loop.ended:
        before = len(loop.values)
        loop.run_epoch()
        epochs.append(sorted(loop.values[before:]))
    read = [epoch for epoch in epochs if epoch]
    assert read == [list(range(10)), list(range(10, 15)), list(range(15, 20))]


@settings(max_examples=50, deadline=None)
@given(
    parallelism=st.integers(1, 3),
    steps=st.lists(st.sampled_from(["commit", "crash", "recover"]), max_size=15),
    max_records=st.none() | st.integers(1, 4),
)
def test_nothing_is_lost_or_doubled_whatever_happens(parallelism, steps, max_records):
    loop = SourceLoop(chain(), parallelism=parallelism, max_records=max_records)
    for step in steps:
        loop.run_epoch(crash=step == "crash")
        if step == "recover":
            loop.recover()
    assert sorted(loop.run_to_end(max_epochs=100)) == list(range(20))


def test_the_last_source_may_be_unbounded_and_only_the_last():
    builder = HybridSource.builder(NumberSequenceSource(0, 1)).add_source(DataGeneratorSource(plus_fifteen))
    assert builder.build().boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    loop = SourceLoop(builder.build(), max_records=3)
    for _ in range(4):
        loop.run_epoch()
    assert loop.values[:4] == [0, 1, 15, 16] and not loop.ended
    with pytest.raises(ValidationError, match="would never be read"):
        builder.add_source(NumberSequenceSource(0, 1))


def after(previous):
    return NumberSequenceSource(100, 102)


def test_a_source_can_be_made_when_its_turn_comes():
    source = HybridSource.builder(NumberSequenceSource(0, 1)).add_source(after).build()
    loop = SourceLoop(source, max_records=1)
    loop.run_epoch()
    loop.run_epoch()
    loop.recover()
    assert loop.run_to_end(max_epochs=50) == [0, 1, 100, 101, 102]

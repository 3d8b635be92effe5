import pytest
from epochs import SourceLoop

from penstock.common.errors import ValidationError
from penstock.connectors import number_sequence
from penstock.connectors.number_sequence import NumberSequenceSource, split_range


@pytest.mark.parametrize("parallelism", [1, 2, 3, 7])
@pytest.mark.parametrize("max_records", [1, 3, None])
def test_every_number_comes_once_in_order_within_its_split(monkeypatch, parallelism, max_records):
    monkeypatch.setattr(number_sequence, "BATCH_RECORDS", 2)
    loop = SourceLoop(NumberSequenceSource(3, 19), parallelism=parallelism, max_records=max_records)
    assert sorted(loop.run_to_end()) == list(range(3, 20))
    assert all(values == sorted(values) for values in loop.collected.values())


def test_there_are_no_more_splits_than_numbers():
    assert [(s.start, s.end) for s in split_range(5, 6, 8)] == [(5, 5), (6, 6)]


def test_a_restored_sequence_keeps_the_splits_it_had():
    loop = SourceLoop(NumberSequenceSource(1, 10), parallelism=3, max_records=1)
    loop.run_epoch()
    loop.parallelism = 5
    loop.recover()
    assert sorted(loop.run_to_end()) == list(range(1, 11))
    assert len(loop.collected) == 3


def test_a_sequence_that_runs_backwards_is_refused():
    with pytest.raises(ValidationError, match="from 2 to 1 has no numbers"):
        NumberSequenceSource(2, 1)

import pytest
from epochs import SourceLoop, travelled

from penstock.common.errors import TypeMismatchError
from penstock.common.typeinfo import Types
from penstock.connectors import collection
from penstock.connectors.collection import CollectionSource
from penstock.connectors.source import EnumeratorContext


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(collection, "CHUNK_RECORDS", 4)


def test_elements_come_in_order_wherever_the_epochs_are_cut():
    elements = [(i, f"v{i}") for i in range(23)]
    source = CollectionSource(elements, Types.TUPLE([Types.INT(), Types.STRING()]))
    for max_records in (1, 4, 5, 100):
        assert SourceLoop(source, max_records=max_records).run_to_end() == elements


def test_an_epoch_carries_only_the_chunks_it_can_read(monkeypatch):
    monkeypatch.setattr(collection, "MAX_EPOCH_BYTES", 1)
    source = CollectionSource(range(10), Types.INT())
    enumerator = source.create_enumerator(EnumeratorContext(1, {}))
    (split,) = enumerator.discover()
    limit = enumerator.plan_read(split, 4, 0)
    assert [(chunk.start, chunk.count) for chunk in limit.payload] == [(4, 4)]
    assert limit.split_ends is False
    loop = SourceLoop(source)
    assert loop.run_to_end() == list(range(10))


def test_a_crashed_epoch_is_read_again():
    loop = SourceLoop(CollectionSource(range(10), Types.INT()), max_records=4)
    loop.run_epoch()
    loop.run_epoch(crash=True)
    loop.recover()
    assert loop.run_to_end() == list(range(10))


def test_an_empty_collection_ends_at_once():
    loop = SourceLoop(CollectionSource([], Types.INT()))
    assert loop.run_to_end(max_epochs=1) == []


def test_a_source_sent_to_a_task_leaves_the_elements_behind():
    source = CollectionSource(["x" * 100_000], Types.STRING())
    import pickle

    assert len(pickle.dumps(source)) < 2_000
    assert travelled(source).produced_type() == Types.STRING()


def test_undeclared_elements_are_any_objects():
    elements = [1, "two", {"three": [3]}, None]
    assert SourceLoop(CollectionSource(elements)).run_to_end() == elements


def test_an_element_that_does_not_fit_is_named_with_its_index():
    with pytest.raises(TypeMismatchError) as error:
        CollectionSource([1, 2, 3, 4, 5, "six"], Types.INT())
    assert "element 5" in str(error.value) and "'six'" in str(error.value)

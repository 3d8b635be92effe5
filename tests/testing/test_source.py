"""TestSource and CollectingSink, as the runtime would drive them."""

from __future__ import annotations

import pickle

import pytest

from penstock.common.errors import ExternalSystemError, ValidationError
from penstock.connectors.sink import WriterContext
from penstock.connectors.source import EnumeratorContext
from penstock.testing import ABORT, EOF, PAUSE, CollectingSink, TestSource, abort, element, watermark


def epochs(source, failures=0):
    """Plays a source to its end; a failed epoch is read again from its beginning."""
    source = pickle.loads(pickle.dumps(source))
    enumerator = source.create_enumerator(EnumeratorContext(1, {}))
    [split] = enumerator.discover()
    position, seen = None, []
    while True:
        limit = enumerator.plan_read(split, position, 0)
        try:
            batches = list(source.create_reader().read(split, position, limit))
        except ExternalSystemError:
            failures -= 1
            assert failures >= 0, "failed too often"
            continue
        seen.append([value for batch in batches for value in batch.values])
        position = batches[-1].position if batches else position
        if limit.split_ends:
            assert failures == 0
            return seen


def test_pause_ends_an_epoch_and_eof_the_input():
    assert epochs(TestSource([1, 2, PAUSE, 3, EOF, 4])) == [[1, 2], [3]]


def test_abort_fails_so_many_times_and_then_no_more():
    assert epochs(TestSource([1, ABORT, 2, abort(2), 3]), failures=3) == [[1, 2, 3]]


def test_watermarks_follow_the_element_before_them():
    source = TestSource([element("a", 1), element("b", 9), watermark(5), "c"])
    generator = source.watermark_strategy().create_generator()
    seen = []

    class Output:
        def emit_watermark(self, mark):
            seen.append((count, mark.timestamp))

    for count in range(1, 4):
        generator.on_event(None, 0, Output())
    assert seen == [(2, 5)]
    with pytest.raises(ValidationError):
        TestSource([watermark(5)]).watermark_strategy()


def test_the_collecting_sink_shows_committed_values_once():
    sink = CollectingSink()
    committables = []
    for epoch, values in ((1, ["a", "b"]), (2, ["c"])):
        writer = sink.create_writer(WriterContext(0, 1, epoch, "attempt", 0))
        writer.write(values, None)
        committables.append(writer.prepare_commit(False))
    committer = sink.create_committer()
    committer.commit(committables[0])
    committer.commit(committables[0])
    assert sink.results() == ["a", "b"]
    committer.commit(committables[1])
    assert sink.results() == ["a", "b", "c"]

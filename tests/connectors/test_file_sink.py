import os
import re
from pathlib import Path

import pytest
from epochs import SinkLoop
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.errors import CheckpointError, ValidationError
from penstock.common.serialization import BulkWriter, BulkWriterFactory, Encoder
from penstock.common.typeinfo import Types
from penstock.common.types import Row
from penstock.connectors.file.options import (
    BucketAssigner,
    DefaultRollingPolicy,
    FileCompactor,
    FileCompactStrategy,
    OutputFileConfig,
    RollingPolicy,
)
from penstock.connectors.file.sink import FileSink
from penstock.connectors.java_dates import to_strftime

NEVER = DefaultRollingPolicy(1 << 40, 1 << 40, 1 << 40)


def text_sink(path, policy=NEVER, assigner=None, **kwargs):
    builder = FileSink.for_row_format(str(path), Encoder.simple_string_encoder())
    builder.with_rolling_policy(policy)
    builder.with_bucket_assigner(assigner or BucketAssigner.base_path_bucket_assigner())
    if kwargs:
        builder.enable_compact(kwargs["strategy"], kwargs["compactor"])
    return builder.build()


def files(path, hidden=False) -> list[Path]:
    found = [Path(folder) / name for folder, _, names in os.walk(path) for name in names]
    return sorted(f for f in found if f.name.startswith(".") == hidden)


def lines(path) -> list[str]:
    return [line for file in files(path) for line in file.read_text().splitlines()]


def test_a_part_grows_over_epochs_and_becomes_visible_when_complete(tmp_path):
    loop = SinkLoop(text_sink(tmp_path))
    loop.run_epoch([["a", "b"]])
    loop.run_epoch([["c"]])
    assert files(tmp_path) == []
    loop.run_epoch([[]], end_of_input=True)
    (part,) = files(tmp_path)
    assert part.read_text() == "a\nb\nc\n" and re.fullmatch(
        r"part-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-0", part.name
    )
    assert files(tmp_path, hidden=True) == []


def test_on_checkpoint_rolling_makes_a_file_per_epoch(tmp_path):
    loop = SinkLoop(text_sink(tmp_path, RollingPolicy.on_checkpoint_rolling_policy()))
    loop.run_epoch([["a"]])
    loop.run_epoch([["b"]])
    assert [f.read_text() for f in files(tmp_path)] == ["a\n", "b\n"]


def test_parts_roll_by_size_within_an_epoch(tmp_path):
    loop = SinkLoop(text_sink(tmp_path, DefaultRollingPolicy(part_size=3)))
    sink_writer_batches = ["aaaa", "b", "cccc"]
    for value in sink_writer_batches:
        loop.run_epoch([[value]])
    assert [f.read_text() for f in files(tmp_path)] == ["aaaa\n", "b\ncccc\n"]


def test_parts_roll_by_age_and_by_inactivity(tmp_path):
    loop = SinkLoop(text_sink(tmp_path, DefaultRollingPolicy(1 << 40, 1_000, 300)))
    loop.run_epoch([["a"]])
    loop.now_ms += 200
    loop.run_epoch([["b"]])
    loop.now_ms += 299
    loop.run_epoch([[]])
    assert files(tmp_path) == []
    loop.now_ms += 1
    loop.run_epoch([[]])
    assert lines(tmp_path) == ["a", "b"]


def test_prefix_suffix_and_date_time_buckets(tmp_path):
    sink = (
        FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.date_time_bucket_assigner("yyyy-MM-dd--HH", "UTC"))
        .with_output_file_config(
            OutputFileConfig.builder().with_part_prefix("pre").with_part_suffix(".txt").build()
        )
        .build()
    )
    loop = SinkLoop(sink, now_ms=1_700_000_000_000)
    loop.run_epoch([["x"]], end_of_input=True)
    (part,) = files(tmp_path)
    assert part.parent.name == "2023-11-14--22" and part.name.startswith("pre-") and part.suffix == ".txt"


def test_java_date_patterns():
    assert to_strftime("yyyy/MM/dd'T'HH:mm:ss") == "%Y/%m/%dT%H:%M:%S"


def test_values_that_are_no_strings_are_written_as_print_shows_them(tmp_path):
    loop = SinkLoop(text_sink(tmp_path), type_info=Types.ROW([Types.INT(), Types.STRING()]))
    loop.run_epoch([[Row(1, "a")]], end_of_input=True)
    assert lines(tmp_path) == ["+I[1,a]"]


class ByFirstLetter(BucketAssigner):
    def get_bucket_id(self, element, context):
        return element[0]


def test_buckets_of_ones_own(tmp_path):
    loop = SinkLoop(text_sink(tmp_path, assigner=ByFirstLetter()))
    loop.run_epoch([["a1", "b1", "a2"]])
    loop.run_epoch([["b2"]], end_of_input=True)
    assert {f.parent.name: f.read_text() for f in files(tmp_path)} == {"a": "a1\na2\n", "b": "b1\nb2\n"}


def test_a_file_that_vanished_before_its_commit_is_an_error(tmp_path):
    loop = SinkLoop(text_sink(tmp_path))

    def vanish():
        for file in files(tmp_path, hidden=True):
            file.unlink()

    with pytest.raises(CheckpointError, match="neither the finished file"):
        loop.run_epoch([["a"]], end_of_input=True, between=vanish)


def test_published_files_are_never_overwritten(tmp_path):
    loop = SinkLoop(text_sink(tmp_path))

    def occupy():
        (pending,) = files(tmp_path, hidden=True)
        final = pending.name[1:].split(".e1.")[0]
        (tmp_path / final).write_text("somebody else's")

    with pytest.raises(CheckpointError, match="exists already"):
        loop.run_epoch([["a"]], end_of_input=True, between=occupy)


def test_files_of_dead_attempts_are_removed_by_a_later_epoch(tmp_path):
    loop = SinkLoop(text_sink(tmp_path))
    loop.run_epoch([["a"]])
    loop.run_epoch([["b", "c"]], crash="writing")
    loop.run_epoch([["b", "c"]], crash="prepared")
    loop.run_epoch([["b", "c"]])
    assert len(files(tmp_path, hidden=True)) == 4
    loop.run_epoch([["d"]], end_of_input=True)
    assert lines(tmp_path) == ["a", "b", "c", "d"] and files(tmp_path, hidden=True) == []


def test_an_aborted_writer_removes_what_it_wrote(tmp_path):
    loop = SinkLoop(text_sink(tmp_path))
    writer = loop._writer(0, ())
    writer.write(["a"], None)
    writer.abort()
    assert files(tmp_path, hidden=True) == []


def test_states_of_several_writers_can_be_taken_over_by_one(tmp_path):
    sink = text_sink(tmp_path)
    loop = SinkLoop(sink, parallelism=2)
    loop.run_epoch([["a"], ["b"]])
    import pickle

    states = [state for states in pickle.loads(loop._states) for state in states]
    writer = loop._writer(0, states)
    writer.write(["c"], None)
    sink.create_committer().commit(writer.prepare_commit(True))
    assert sorted(lines(tmp_path)) == ["a", "b", "c"]


def test_another_job_that_goes_on_from_the_state_uses_other_names(tmp_path):
    loop = SinkLoop(text_sink(tmp_path, RollingPolicy.on_checkpoint_rolling_policy()))
    loop.run_epoch([["a"]])
    loop.job_id = "another job"
    loop.run_epoch([["b"]])
    first, second = {f.name.split("-")[1] for f in files(tmp_path)}
    assert first != second and sorted(lines(tmp_path)) == ["a", "b"]


def test_an_unfinished_part_that_is_gone_is_named(tmp_path):
    loop = SinkLoop(text_sink(tmp_path))
    loop.run_epoch([["a"]])
    files(tmp_path, hidden=True)[0].unlink()
    with pytest.raises(CheckpointError, match=r"unfinished part file .* is gone"):
        loop.run_epoch([["b"]], end_of_input=True)


def test_compaction_merges_the_parts_of_several_epochs(tmp_path):
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(3).build()
    compactor = FileCompactor.concat_file_compactor(b"--\n")
    sink = text_sink(
        tmp_path, RollingPolicy.on_checkpoint_rolling_policy(), strategy=strategy, compactor=compactor
    )
    loop = SinkLoop(sink)
    for value in "abcd":
        loop.run_epoch([[value]])
    (merged,) = files(tmp_path)
    assert merged.name.startswith("compacted-part-") and merged.read_text() == "a\n--\nb\n--\nc\n"
    loop.run_epoch([[]], end_of_input=True)
    assert len(files(tmp_path)) == 2 and files(tmp_path, hidden=True) == []


def test_compaction_by_size_and_files_left_as_they_are(tmp_path):
    strategy = FileCompactStrategy.builder().set_size_threshold(4).build()
    sink = text_sink(
        tmp_path,
        RollingPolicy.on_checkpoint_rolling_policy(),
        strategy=strategy,
        compactor=FileCompactor.identical_file_compactor(),
    )
    loop = SinkLoop(sink)
    loop.run_epoch([["a"]])
    assert files(tmp_path) == []
    loop.run_epoch([["b"]])
    assert [f.read_text() for f in files(tmp_path)] == ["a\n", "b\n"]


class CountingFactory(BulkWriterFactory):
    def create(self, stream):
        class Writer(BulkWriter):
            count = 0

            def add_element(self, element):
                self.count += 1

            def flush(self):
                pass

            def finish(self):
                stream.write(b"%d\n" % self.count)

        return Writer()


def test_bulk_formats_are_complete_with_every_epoch(tmp_path):
    builder = FileSink.for_bulk_format(str(tmp_path), CountingFactory())
    builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    loop = SinkLoop(builder.build())
    loop.run_epoch([["a", "b"]])
    loop.run_epoch([["c"]])
    assert lines(tmp_path) == ["2", "1"]
    with pytest.raises(ValidationError, match="rolls on every checkpoint"):
        builder.with_rolling_policy(NEVER)


policies = st.sampled_from(
    [NEVER, RollingPolicy.on_checkpoint_rolling_policy(), DefaultRollingPolicy(6, 50, 20)]
)
epochs = st.lists(
    st.tuples(
        st.lists(st.lists(st.text("ab", max_size=3), max_size=4), min_size=2, max_size=2),
        st.lists(st.sampled_from(["writing", "prepared"]), max_size=2),
        st.sampled_from([None, "publishing"]),
        st.booleans(),
    ),
    max_size=6,
)


@settings(max_examples=100, deadline=None)
@given(policy=policies, run=epochs, compacting=st.booleans())
def test_every_record_is_published_exactly_once_whatever_crashes(tmp_path_factory, policy, run, compacting):
    folder = tmp_path_factory.mktemp("out")
    compaction = {}
    if compacting:
        strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(2).build()
        compaction = {"strategy": strategy, "compactor": FileCompactor.concat_file_compactor()}
    loop = SinkLoop(text_sink(folder, policy, **compaction), parallelism=2)
    expected = []
    epochs = [*run, ([[], []], [], None, True)]
    for number, (per_subtask, failures, last, recover_again) in enumerate(epochs):
        values = [[f"{number}.{s}.{i}{v}" for i, v in enumerate(part)] for s, part in enumerate(per_subtask)]
        expected += [v for part in values for v in part]
        for failure in failures:
            loop.run_epoch(values, crash=failure)
            loop.recover()
        end = number == len(run)
        loop.run_epoch(values, end_of_input=end, crash=last)
        loop.now_ms += 15
        if last or recover_again:
            loop.recover()
    assert sorted(lines(folder)) == sorted(expected)

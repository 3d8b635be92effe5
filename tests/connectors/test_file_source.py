import bz2
import gzip
import lzma
import re

import pytest
import zstandard
from epochs import SourceLoop
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.errors import ExternalSystemError, ValidationError
from penstock.common.time import Duration
from penstock.connectors.file import source as file_source
from penstock.connectors.file import text
from penstock.connectors.file.format import StreamFormat
from penstock.connectors.file.source import FileEnumeratorProvider, FileSource


def lines_of(*paths, charset="UTF-8", **loop):
    source = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(charset), *map(str, paths)
    ).build()
    return SourceLoop(source, **loop).run_to_end()


def java_lines(data: bytes) -> list[str]:
    """The obvious model: what java.io.BufferedReader.readLine gives."""
    pieces = re.split("\r\n|\n|\r", data.decode("utf-8", "replace"))
    return pieces[:-1] if pieces[-1] == "" else pieces


def test_folders_are_walked_and_hidden_names_left_out(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "_tmp").mkdir()
    (tmp_path / "a.txt").write_text("1\n2\n")
    (tmp_path / "b" / "c.txt").write_text("3")
    (tmp_path / ".hidden").write_text("no")
    (tmp_path / "_SUCCESS").write_text("no")
    (tmp_path / "_tmp" / "d.txt").write_text("no")
    assert lines_of(tmp_path) == ["1", "2", "3"]
    assert lines_of(f"file://{tmp_path}") == ["1", "2", "3"]


def test_a_missing_path_is_named():
    with pytest.raises(ValidationError) as error:
        lines_of("/no/such/folder")
    assert "'/no/such/folder' does not exist" in str(error.value) and "do:" in str(error.value)


def test_a_file_that_vanished_is_named(tmp_path):
    path = tmp_path / "f"
    path.write_text("1\n")
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(path)).build()
    loop = SourceLoop(source)
    loop._splits = {}
    enumerator = loop.enumerator
    splits = enumerator.discover()
    path.unlink()
    reader = source.create_reader()
    with pytest.raises(ExternalSystemError, match="cannot read"):
        list(reader.read(splits[0], None, enumerator.plan_read(splits[0], None, 0)))


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [
        ("gz", gzip.compress),
        ("bz2", bz2.compress),
        ("xz", lzma.compress),
        ("zst", zstandard.ZstdCompressor().compress),
    ],
)
def test_compressed_files_are_read_and_resumed(tmp_path, monkeypatch, suffix, compress):
    monkeypatch.setattr(text, "READ_BYTES", 10)
    monkeypatch.setattr(file_source, "SPLIT_BYTES", 20)
    lines = [f"line {i}" for i in range(40)]
    (tmp_path / f"f.txt.{suffix}").write_bytes(compress("\n".join(lines).encode()))
    assert lines_of(tmp_path, max_records=3) == lines


@pytest.mark.parametrize("charset", ["UTF-8", "ISO-8859-1", "UTF-16", "UTF-16LE"])
def test_charsets(tmp_path, charset):
    lines = ["äöü", "", "ß"]
    (tmp_path / "f").write_bytes("\n".join(lines).encode(charset))
    assert lines_of(tmp_path, charset=charset) == lines


def test_an_unknown_charset_is_refused():
    with pytest.raises(ValidationError, match="unknown charset 'klingon'"):
        StreamFormat.text_line_format("klingon")


def test_invalid_bytes_become_replacement_characters(tmp_path):
    (tmp_path / "f").write_bytes(b"a\xffb\n")
    assert lines_of(tmp_path) == ["a\ufffdb"]


def test_large_files_are_split_unless_told_otherwise(tmp_path, monkeypatch):
    monkeypatch.setattr(file_source, "SPLIT_BYTES", 10)
    (tmp_path / "f").write_text("\n".join(str(i) for i in range(30)))
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    split = SourceLoop(builder.build(), parallelism=2)
    assert split.run_to_end() == [str(i) for i in range(30)] and len(split.collected) > 1
    builder.set_file_enumerator(FileEnumeratorProvider.default_non_splittable_file_enumerator())
    whole = SourceLoop(builder.build(), parallelism=2)
    assert whole.run_to_end() == split.values and len(whole.collected) == 1


def test_a_monitored_folder_yields_new_files_and_never_ends(tmp_path):
    clock = [1.0]
    source = (
        FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
        .monitor_continuously(Duration.of_seconds(5))
        .build()
    )

    def with_clock(loop):
        loop.enumerator._clock = lambda: clock[0]
        return loop

    loop = with_clock(SourceLoop(source))
    (tmp_path / "a").write_text("1\n")
    loop.run_epoch()
    (tmp_path / "b").write_text("2\n")
    loop.run_epoch()
    assert loop.values == ["1"]  # not yet time to look again
    assert loop.enumerator.next_wakeup_ms(1_000) == 6_000
    clock[0] = 6.0
    loop.run_epoch()
    assert loop.values == ["1", "2"] and not loop.ended
    loop.recover()
    with_clock(loop)
    (tmp_path / "c").write_text("3\n")
    clock[0] = 20.0
    loop.run_epoch()
    assert loop.values == ["1", "2", "3"]


contents = st.lists(
    st.binary(max_size=12) | st.sampled_from([b"\n", b"\r", b"\r\n", b"a\n", "ü\n".encode()]), max_size=30
).map(b"".join)


@settings(max_examples=150, deadline=None)
@given(
    files=st.lists(contents, max_size=3),
    read_bytes=st.integers(1, 20),
    split_bytes=st.integers(1, 40),
    batch_lines=st.integers(1, 5),
    max_records=st.one_of(st.none(), st.integers(1, 10)),
    crashes=st.lists(st.booleans(), max_size=20),
)
def test_every_line_is_read_once_whatever_the_cuts(
    tmp_path_factory, files, read_bytes, split_bytes, batch_lines, max_records, crashes
):
    folder = tmp_path_factory.mktemp("files")
    for index, data in enumerate(files):
        (folder / f"f{index}").write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "READ_BYTES", read_bytes)
        patch.setattr(text, "BATCH_LINES", batch_lines)
        patch.setattr(file_source, "SPLIT_BYTES", split_bytes)
        source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder)).build()
        loop = SourceLoop(source, max_records=max_records)
        for crash in crashes:
            loop.run_epoch(crash=crash)
            if crash:
                loop.recover()
        assert loop.run_to_end() == [line for data in files for line in java_lines(data)]


def test_a_reader_goes_on_in_an_open_file_without_opening_it_again(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "BATCH_LINES", 2)
    (tmp_path / "f").write_text("1\n2\n3\n4\n5\n")
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path)).build()
    (split,) = source.create_enumerator(None).discover()
    opened = []
    original = source.file_format.open
    monkeypatch.setattr(
        source.file_format, "open", lambda *args: opened.append(1) or original(*args), raising=False
    )
    reader, position, seen = source.create_reader(), None, []
    while True:
        batch = next(reader.read(split, position, None), None)
        if batch is None:
            break
        position = batch.position
        seen += batch.values
    assert seen == ["1", "2", "3", "4", "5"] and len(opened) == 1

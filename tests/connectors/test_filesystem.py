import pickle

import pytest
from epochs import SinkLoop, SourceLoop

from penstock.common import Encoder
from penstock.common.errors import MissingDependencyError
from penstock.connectors.file.filesystem import FileSystem, is_hidden
from penstock.connectors.file.format import StreamFormat
from penstock.connectors.file.options import BucketAssigner
from penstock.connectors.file.sink import FileSink
from penstock.connectors.file.source import FileSource


def test_files_on_a_remote_system_are_written_and_read():
    fsspec = pytest.importorskip("fsspec", reason="remote paths need fsspec")
    uri = "memory://bucket/out"
    sink = (
        FileSink.for_row_format(uri, Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .build()
    )
    loop = SinkLoop(sink)
    loop.run_epoch([["a", "b"]])
    loop.run_epoch([["c"]], crash="prepared")
    loop.run_epoch([["c"]], end_of_input=True)
    loop.recover()
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), uri).build()
    assert SourceLoop(source, max_records=1).run_to_end() == ["a", "b", "c"]
    names = [path.rpartition("/")[2] for path in fsspec.filesystem("memory").find("/bucket/out")]
    assert len([name for name in names if not name.startswith(".")]) == 1


def test_a_handle_travels_to_another_process(tmp_path):
    filesystem = FileSystem(f"file://{tmp_path}")
    assert filesystem.root == str(tmp_path)
    assert pickle.loads(pickle.dumps(filesystem)).root == str(tmp_path)


def test_relative_paths_are_local(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f").write_text("x\n")
    assert FileSystem("f").root == str(tmp_path / "f")


def test_a_scheme_that_nobody_knows_is_named():
    with pytest.raises(MissingDependencyError, match="no file system for 'gopher://x/y'"):
        FileSystem("gopher://x/y").root


def test_deleting_what_is_gone_is_fine(tmp_path):
    FileSystem(tmp_path).delete(str(tmp_path / "gone"))


def test_hidden_names():
    assert is_hidden("/a/.b") and is_hidden("/a/_b/") and not is_hidden("/_a/b")


def test_hdfs_without_hadoop_says_what_it_needs(monkeypatch):
    """Three ways to open files: of checkpoints, of programs, of tables."""
    from penstock.checkpoint.filesystem import filesystem_for
    from penstock.common.errors import MissingDependencyError
    from penstock.connectors.file.filesystem import _open
    from penstock.connectors.filesystem.files import FileStore

    for name in ("JAVA_HOME", "HADOOP_HOME", "ARROW_LIBHDFS_DIR", "CLASSPATH"):
        monkeypatch.setenv(name, "/nowhere")
    path = "hdfs://nowhere:9000/x"
    for opened in (
        lambda: filesystem_for(path),
        lambda: _open(path, "hdfs"),
        lambda: FileStore(path).exists(),
    ):
        with pytest.raises(MissingDependencyError, match="cannot reach hdfs://nowhere:9000/x") as error:
            opened()
        assert "hadoop classpath --glob" in str(error.value) and len(str(error.value)) < 700

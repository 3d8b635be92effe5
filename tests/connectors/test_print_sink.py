import pytest
from epochs import SinkLoop

from penstock.common import Row, Types
from penstock.connectors.print import PrintSink, line_prefix


@pytest.mark.parametrize(
    ("identifier", "parallelism", "prefix"),
    [("", 1, ""), ("", 4, "2> "), ("out", 1, "out> "), ("out", 4, "out:2> ")],
)
def test_prefixes_are_flinks(identifier, parallelism, prefix):
    assert line_prefix(identifier, 1, parallelism) == prefix


def test_lines_are_printed_when_their_epoch_is_committed_and_once(capsys):
    loop = SinkLoop(PrintSink("p"), parallelism=2, type_info=Types.STRING())
    loop.run_epoch([["a"], ["b"]], crash="prepared")
    assert capsys.readouterr().out == ""
    loop.run_epoch([["a"], ["b"]])
    loop._publish()
    assert capsys.readouterr().out == "p:1> a\np:2> b\n"


def test_values_are_shown_as_flink_shows_them(capsys):
    loop = SinkLoop(PrintSink(), type_info=Types.ROW([Types.INT(), Types.DOUBLE()]))
    loop.run_epoch([[Row(1, 2.0)]])
    assert capsys.readouterr().out == "+I[1,2.0]\n"


def test_the_standard_error_stream_can_be_used(capsys):
    SinkLoop(PrintSink(to_stderr=True), type_info=Types.STRING()).run_epoch([["x"]])
    assert capsys.readouterr().err == "x\n"

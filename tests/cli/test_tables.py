"""Tables of the command line: data is shown as it is, whole where there is no screen that it has to fit."""

from __future__ import annotations

import io

import pytest

from penstock.cli.tables import print_table


@pytest.mark.parametrize("ruled", [False, True])
def test_brackets_in_data_and_heads_are_no_markup(ruled: bool, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["etl [/prod] [bold]v2", "TableSourceScan(table=[[c, d, t]], fields=[a])", ":smile:"]
    print_table(["[b]"], [[name] for name in names], ruled=ruled)
    shown = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert shown[0] == "[b]" and shown[-3:] == names


@pytest.mark.parametrize("ruled", [False, True])
def test_lines_are_whole_where_the_output_is_no_terminal(
    ruled: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    key, value = "execution." + "k" * 300, "v " * 300
    print_table(["Key", "Value"], [[key, value.strip()], ["a", None]], ruled=ruled)
    line, last = capsys.readouterr().out.splitlines()[-2:]
    assert line.split(maxsplit=1) == [key, value.strip()] and last.strip() == "a"


def test_cells_are_folded_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    print_table(["Key"], [["k" * 60]])
    assert [line.strip() for line in screen.getvalue().splitlines()[1:]] == ["k" * 40, "k" * 20]

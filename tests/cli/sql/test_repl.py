"""The prompt, with keys sent through a pipe."""

from __future__ import annotations

from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from pygments import token

from penstock.cli.sql.highlighting import FlinkSqlLexer
from penstock.cli.sql.repl import Repl
from penstock.common.errors import ValidationError
from penstock.common.types import Row
from tests.cli.sql.stand_in import Session, numbers

CTRL_C, CTRL_D = "\x03", "\x04"


def type_in(session: Session, keys: str, history: InMemoryHistory | None = None) -> int:
    with create_pipe_input() as pipe:
        pipe.send_text(keys)
        repl = Repl(session.client, history or InMemoryHistory(), input=pipe, output=DummyOutput())
        return repl.run()


def test_a_statement_runs_when_its_semicolon_is_entered() -> None:
    session = Session({"SELECT": numbers(Row(1, "a"))})
    assert type_in(session, "SELECT id,\rname\rFROM t;\r" + CTRL_D) == 0
    assert session.environment.executed[-1:] == ["SELECT id,\nname\nFROM t"]
    assert "|  1 |    a |" in session.shown


def test_several_statements_on_a_line_run_one_after_the_other() -> None:
    session = Session()
    type_in(session, "USE a; USE b;\rEXIT\r")
    assert session.environment.executed == ["USE a", "USE b"]


def test_quit_and_help_need_no_semicolon() -> None:
    session = Session()
    assert type_in(session, "HELP\rquit\r") == 0
    assert any(line.startswith("EXPLAIN") for line in session.shown)


def test_the_session_goes_on_after_an_error() -> None:
    session = Session({"USE a": ValidationError("there is no database 'a'")})
    type_in(session, "USE a;\rUSE b;\rQUIT;\r")
    assert session.environment.executed == ["USE a", "USE b"]
    assert session.errors == ["[ERROR] there is no database 'a'"]


def test_ctrl_c_at_the_prompt_throws_the_line_away() -> None:
    session = Session()
    type_in(session, "USE wrong" + CTRL_C + "USE right;\r" + CTRL_D)
    assert session.environment.executed == ["USE right"]


def test_statements_are_remembered() -> None:
    history = InMemoryHistory()
    type_in(Session(), "USE a;\rQUIT\r", history)
    assert history.get_strings() == ["USE a;", "QUIT"]


def test_keywords_types_texts_and_comments_have_their_own_colours() -> None:
    found = {
        text: kind for kind, text in FlinkSqlLexer().get_tokens("SELECT CAST('a' AS BIGINT), `b`, abc -- c")
    }
    assert found["SELECT"] is token.Keyword
    assert found["BIGINT"] is token.Keyword.Type
    assert found["'a'"] is token.String.Single
    assert found["`b`"] is token.Name.Variable
    assert found["abc"] is token.Name
    assert found["-- c"] is token.Comment.Single

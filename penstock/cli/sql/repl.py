"""The prompt: reads statements, hands them to the client, keeps the session whatever happens to one of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from penstock import __version__
from penstock.cli.sql.client import Client, is_quit
from penstock.cli.sql.completion import Names, suggest
from penstock.cli.sql.script import is_complete, split_script
from penstock.common.errors import MissingDependencyError

try:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion, ThreadedCompleter
    from prompt_toolkit.document import Document
    from prompt_toolkit.filters import completion_is_selected
    from prompt_toolkit.formatted_text import AnyFormattedText
    from prompt_toolkit.history import FileHistory, History, InMemoryHistory
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from prompt_toolkit.lexers import PygmentsLexer
    from prompt_toolkit.patch_stdout import patch_stdout
    from prompt_toolkit.styles import DynamicStyle

    from penstock.cli.sql.highlighting import FlinkSqlLexer, prompt_style
except ImportError as error:
    raise MissingDependencyError(
        f"the prompt of penstock sql needs {error.name}",
        do="pip install 'penstock[sql-client]', or run statements with -e or -f",
    ) from error

__all__ = ["Repl"]

PROMPT = "penstock> "
_NO_SEMICOLON = ("HELP", "CLEAR", "QUIT", "EXIT")
HISTORY = os.path.join("~", ".penstock_sql_history")


class Repl:
    """A session at a terminal.

    Args:
        history: Where lines are remembered; `~/.penstock_sql_history` unless told otherwise.
        terminal: prompt_toolkit's `input` and `output`; the process's own unless told otherwise.
    """

    def __init__(self, client: Client, history: History | None = None, **terminal: Any) -> None:
        self._client = client
        self._names = Names(client.environment)
        completer = SessionCompleter(lambda: self._names)
        self._session: PromptSession[str] = PromptSession(
            history=history or _file_history(),
            lexer=PygmentsLexer(FlinkSqlLexer),
            style=DynamicStyle(lambda: prompt_style(self._client.options.color_schema)),
            completer=ThreadedCompleter(completer),
            auto_suggest=AutoSuggestFromHistory(),
            key_bindings=_key_bindings(),
            multiline=True,
            prompt_continuation=self._continuation,
            bottom_toolbar=self._toolbar,
            **terminal,
        )

    def run(self) -> int:
        """Until the user leaves. Gives the exit code."""
        self._client.output.line(f"Penstock {__version__} SQL client. End statements with ;")
        self._client.output.line(
            "HELP lists the commands, Tab completes, Ctrl-C cancels, QUIT or Ctrl-D leaves."
        )
        while True:
            try:
                with patch_stdout(raw=True):  # what jobs print goes above the line that is being typed
                    text = self._session.prompt([("class:prompt", PROMPT)])
            except KeyboardInterrupt:
                continue
            except EOFError:
                break
            if not self._run_all(text):
                break
        self._say_goodbye()
        return 0

    def _run_all(self, text: str) -> bool:
        """Runs what was typed; False when it says to leave."""
        for piece in split_script(text):
            if is_quit(piece):
                return False
            try:
                self._client.run_piece(piece, in_script=False)
            except KeyboardInterrupt:
                self._client.output.warning("The statement was cancelled.")
                break
            finally:
                self._names = Names(self._client.environment)
        return True

    def _say_goodbye(self) -> None:
        running = self._client.background_jobs
        if running:
            self._client.output.warning(f"INSERT jobs started here end with the session: {running}")

    def _continuation(self, width: int, line_number: int, wrap_count: int) -> AnyFormattedText:
        mark = f"{line_number + 1}> " if self._client.options.show_line_numbers and not wrap_count else "> "
        return [("class:continuation", mark.rjust(width))]

    def _toolbar(self) -> str:
        environment = self._client.environment
        mode = "streaming" if self._client.options.streaming else "batch"
        return f"{mode} · {environment.get_current_catalog()}.{environment.get_current_database()}"


class SessionCompleter(Completer):
    """Our suggestions as prompt_toolkit wants them."""

    def __init__(self, names: Callable[[], Names]) -> None:
        self._names = names

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        for found in suggest(document.text_before_cursor, self._names(), document.text):
            yield Completion(found.text, start_position=-found.replaces, display_meta=found.kind)


def _key_bindings() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("enter", filter=~completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        """Runs what is complete; otherwise begins a new line."""
        buffer = event.current_buffer
        text = buffer.text.strip()
        if not text or text.upper() in _NO_SEMICOLON or is_complete(text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    @bindings.add("enter", filter=completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        """Takes the chosen completion."""
        event.current_buffer.complete_state = None

    return bindings


def _file_history() -> History:
    path = os.path.expanduser(HISTORY)
    try:
        with open(path, "a", encoding="utf-8"):
            return FileHistory(path)
    except OSError:
        return InMemoryHistory()

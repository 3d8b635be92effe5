"""Colours for the text at the prompt: a pygments lexer of Flink SQL."""

from __future__ import annotations

from typing import Any

from prompt_toolkit.styles import BaseStyle, Style, merge_styles, style_from_pygments_cls
from pygments import token
from pygments.lexer import RegexLexer, words
from pygments.styles import get_style_by_name
from pygments.util import ClassNotFound

from penstock.cli.sql.keywords import KEYWORDS, TYPES

__all__ = ["FlinkSqlLexer", "prompt_style"]

_SCHEMAS = {
    "chester": "tango",
    "dark": "monokai",
    "dracula": "dracula",
    "light": "default",
    "obsidian": "fruity",
    "solarized": "solarized-dark",
    "vs2010": "vs",
}


class FlinkSqlLexer(RegexLexer):  # type: ignore[misc]
    """Comments, hints, texts, names in backquotes, numbers, types and keywords."""

    name = "Flink SQL"
    aliases = ["flinksql"]
    tokens: Any = {
        "root": [
            (r"\s+", token.Whitespace),
            (r"--[^\n]*", token.Comment.Single),
            (r"/\*\+.*?\*/", token.Comment.Special),
            (r"(?s)/\*.*?(\*/|$)", token.Comment.Multiline),
            (r"(?s)'(?:[^']|'')*('|$)", token.String.Single),
            (r"(?s)`(?:[^`]|``)*(`|$)", token.Name.Variable),
            (r"\d+(\.\d*)?([eE][+-]?\d+)?\b|\.\d+", token.Number),
            (words(sorted(TYPES), prefix=r"(?i)\b", suffix=r"\b"), token.Keyword.Type),
            (words(sorted(KEYWORDS - TYPES), prefix=r"(?i)\b", suffix=r"\b"), token.Keyword),
            (r"\w+(?=\s*\()", token.Name.Function),
            (r"\w+", token.Name),
            (r"[-+*/%<>=!|]+", token.Operator),
            (r".", token.Punctuation),
        ]
    }


_PLAIN = Style.from_dict(
    {
        "prompt": "bold ansiblue",
        "continuation": "ansibrightblack",
        "bottom-toolbar": "noreverse ansibrightblack",
        "bottom-toolbar.text": "noreverse ansibrightblack",
    }
)
_DEFAULT = Style.from_dict(
    {
        "pygments.keyword": "bold ansiblue",
        "pygments.keyword.type": "ansimagenta",
        "pygments.literal.string": "ansigreen",
        "pygments.literal.number": "ansicyan",
        "pygments.comment": "italic ansibrightblack",
        "pygments.name.function": "ansiyellow",
        "pygments.name.variable": "ansicyan",
    }
)


def prompt_style(color_schema: str) -> BaseStyle:
    """The style of `sql-client.display.color-schema`: one of Flink's names or any pygments style."""
    if color_schema == "default":
        return merge_styles([_PLAIN, _DEFAULT])
    try:
        chosen = get_style_by_name(_SCHEMAS.get(color_schema, color_schema))
    except ClassNotFound:
        return merge_styles([_PLAIN, _DEFAULT])
    return merge_styles([_PLAIN, style_from_pygments_cls(chosen)])

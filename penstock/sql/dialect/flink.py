"""Flink's SQL as a sqlglot dialect: tokens and queries.

sqlglot parses queries and expressions; what is overridden here makes it read Flink's spelling and keep what
the binder needs:

- Every call stays an `exp.Anonymous` with the name as written, so that the function registry alone decides
  what a name means. Keyword forms (`EXTRACT(YEAR FROM x)`) become plain calls: `functions/registry.py`
  lists them.
- Types are kept as text and read by `common/datatype_parser.py`.
- Only structural words are keywords for the tokenizer; all others are plain words, and `check_reserved`
  refuses reserved ones as names afterwards.

Statements other than queries are in `statement_parser.py`, which extends this parser.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp, parser, tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokens import Token, TokenType

from penstock.common.errors import SqlError
from penstock.sql.dialect.match_recognize import parse_match_recognize
from penstock.sql.dialect.nodes import (
    BinaryLiteral,
    Descriptor,
    FlinkCast,
    IntervalLiteral,
    NamedArgument,
    TableArgument,
    TableFunction,
    TypeArgument,
    TypedLiteral,
)

_OPERATORS = ("||", ">=", "<=", "<>", "!=", "=>", "/*+")
_WORD_LIST = """
    ALL AND ANY AS ASC BETWEEN CASE CROSS CUBE DESC DISTINCT ELSE END ESCAPE EXCEPT EXISTS FALSE
    FETCH FILTER FIRST FOR FROM FULL HAVING IN INNER INTERSECT INTERVAL INTO IS JOIN LATERAL LEFT
    LIKE LIMIT NATURAL NEXT NOT NULL OFFSET ON OR ORDINALITY OUTER OVER OVERLAPS PARTITION RANGE
    RECURSIVE RIGHT ROLLUP ROW ROWS QUALIFY SELECT SOME TABLE THEN TRUE UNION UNNEST USING VALUES
    WHEN WHERE WINDOW WITH
"""
_WORDS = tuple(_WORD_LIST.split())
_PHRASES = ("GROUP BY", "ORDER BY", "PARTITION BY", "GROUPING SETS", "SIMILAR TO")
_TRIM_SIDES = ("LEADING", "TRAILING", "BOTH")
_PLAIN_LITERALS = ("DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ")
_DISTANCE_UNITS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
_CONSTRUCTORS = ("ARRAY", "MAP", "MULTISET")


_CLAUSES = ("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "JOIN", "VALUES", "INTO", "WITH")


class FlinkTokenizer(tokens.Tokenizer):
    """Backquotes quote names, apostrophes texts; backslash means itself."""

    QUOTES = ["'"]
    IDENTIFIERS = ["`"]
    IDENTIFIER_ESCAPES = ["`"]
    STRING_ESCAPES = ["'"]
    HEX_STRINGS = [("x'", "'"), ("X'", "'")]
    UNICODE_STRINGS = [("U&'", "'"), ("u&'", "'")]
    TOKENS_PRECEDING_HINT = set(TokenType)
    COMMANDS: ClassVar[set[TokenType]] = set()
    KEYWORDS = {
        **{key: tokens.Tokenizer.KEYWORDS[key] for key in _OPERATORS},
        **{word: tokens.Tokenizer.KEYWORDS[word] for word in (*_WORDS, *_PHRASES)},
        "MATCH_RECOGNIZE": TokenType.MATCH_RECOGNIZE,
    }


class FlinkParser(parser.Parser):
    """Queries and expressions of Flink SQL."""

    FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
    NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
    NO_PAREN_FUNCTION_PARSERS = {"CASE": lambda self: self._parse_case()}
    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        "CAST": lambda self: self._flink_cast(False),
        "TRY_CAST": lambda self: self._flink_cast(True),
        "EXTRACT": lambda self: self._flink_extract(),
        "TRIM": lambda self: self._flink_trim(),
        "SUBSTRING": lambda self: self._flink_from_for("SUBSTRING"),
        "OVERLAY": lambda self: self._flink_from_for("OVERLAY"),
        "POSITION": lambda self: self._flink_position(),
        "FLOOR": lambda self: self._flink_rounding("FLOOR"),
        "CEIL": lambda self: self._flink_rounding("CEIL"),
        "CEILING": lambda self: self._flink_rounding("CEIL"),
        "TIMESTAMPADD": lambda self: self._flink_unit_first("TIMESTAMPADD"),
        "TIMESTAMPDIFF": lambda self: self._flink_unit_first("TIMESTAMPDIFF"),
        "JSON_EXISTS": lambda self: self._flink_json_exists(),
        "JSON_VALUE": lambda self: self._flink_json_value(),
        "JSON_QUERY": lambda self: self._flink_json_query(),
        "JSON_OBJECT": lambda self: self._flink_json_object(),
        "JSON_ARRAY": lambda self: self._flink_json_array(),
        "JSON_OBJECTAGG": lambda self: self._flink_json_objectagg(),
        "JSON_ARRAYAGG": lambda self: self._flink_json_arrayagg(),
    }
    ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {}
    STRING_ALIASES = False
    VALUES_FOLLOWED_BY_PAREN = True

    # -- expressions -----------------------------------------------------------------------------------

    def _word(self, ahead: int = 0) -> str:
        """The current (or a later) token's text in capitals, "" for quoted names, texts and the end."""
        index = self._index + ahead
        if index >= len(self._tokens):
            return ""
        token = self._tokens[index]
        return "" if token.token_type in (TokenType.IDENTIFIER, TokenType.STRING) else token.text.upper()

    def _next_is(self, token_type: TokenType) -> bool:
        return self._index + 1 < len(self._tokens) and self._tokens[self._index + 1].token_type == token_type

    def _parse_type(self, parse_interval: bool = True, fallback_to_identifier: bool = False) -> Any:
        word = self._word()
        if word == "INTERVAL" and parse_interval:
            return self._parse_interval()
        if word in _PLAIN_LITERALS and self._next_is(TokenType.STRING):
            self._advance()
            return self.expression(TypedLiteral(this=self._parse_string(), kind=word))
        if word in _CONSTRUCTORS and self._next_is(TokenType.L_BRACKET):
            token = self._curr
            self._advance(2)
            items = self._parse_csv(self._parse_disjunction)
            self._expect(TokenType.R_BRACKET, "]")
            call = self.expression(exp.Anonymous(this=word, expressions=items)).update_positions(token)
            return self._parse_column_ops(call)
        if self._match(TokenType.HEX_STRING):
            return self.expression(BinaryLiteral(this=self._prev.text))
        return self._parse_column()

    def _parse_primary(self) -> Any:
        """`.5` stays what was written: it has one digit, 0.5 has two."""
        if self._match_pair(TokenType.DOT, TokenType.NUMBER):
            return exp.Literal.number(f".{self._prev.text}")
        return super()._parse_primary()

    def _parse_is_rhs(self, distinct: bool = False) -> Any:
        if not distinct and self._word() in ("UNKNOWN", "JSON"):
            word = self._word()
            self._advance()
            if word == "JSON" and self._word() in ("VALUE", "ARRAY", "OBJECT", "SCALAR"):
                word += " " + self._word()
                self._advance()
            return exp.Var(this=word)
        return super()._parse_is_rhs(distinct)

    def _parse_interval(self, require_interval: bool = True, parse_function_unit: bool = True) -> Any:
        start = self._curr
        if not self._match(TokenType.INTERVAL):
            return None
        negative = bool(self._match(TokenType.DASH))
        if not negative:
            self._match(TokenType.PLUS)
        if not self._match(TokenType.STRING):
            self._fail("an interval needs its value as text, such as INTERVAL '5' MINUTE")
        value = self._prev.text
        unit, precision = self._interval_unit()
        to = None
        if self._match_text_seq("TO"):
            to, _ = self._interval_unit()
        node = IntervalLiteral(this=value, unit=unit, to=to, negative=negative, precision=precision)
        return self.expression(node).update_positions(start)

    def _interval_unit(self) -> tuple[str, str | None]:
        unit = self._word().removesuffix("S")
        if unit not in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"):
            self._fail("an interval needs a unit such as DAY, HOUR or SECOND")
        self._advance()
        precision = None
        if self._match(TokenType.L_PAREN):
            precision = self._curr.text
            self._advance()
            if self._match(TokenType.COMMA):
                self._advance()
            self._expect(TokenType.R_PAREN, ")")
        return unit, precision

    def _parse_paren(self) -> Any:
        """Also `(a - b) DAY TO SECOND`: the distance of two points in time, in a unit."""
        inside = super()._parse_paren()
        if (
            isinstance(inside, exp.Paren)
            and isinstance(inside.this, exp.Sub)
            and self._word() in _DISTANCE_UNITS
        ):
            unit, _ = self._interval_unit()
            if self._match_text_seq("TO"):
                unit += " TO " + self._interval_unit()[0]
            parts = (exp.Literal.string(unit), inside.this.this, inside.this.expression)
            return self._call("MINUS_DATE", *parts)
        return inside

    def _parse_case(self) -> Any:
        """CASE; a branch of the simple form may list values: WHEN 1, 2 THEN."""
        operand = None if self._word() == "WHEN" else self._parse_disjunction()
        branches = []
        while self._match(TokenType.WHEN):
            values = self._parse_csv(self._parse_disjunction)
            self._expect(TokenType.THEN, "THEN")
            result = self._parse_disjunction()
            branches += [exp.If(this=value, true=result.copy()) for value in values]
        default = self._parse_disjunction() if self._match(TokenType.ELSE) else None
        self._expect(TokenType.END, "END")
        return self.expression(exp.Case(this=operand, ifs=branches, default=default))

    def _type_text(self, *ends: str) -> str:
        """The text of a type that ends before the closing parenthesis or one of the words."""
        start, depth = self._curr, 0
        while self._curr:
            kind = self._curr.token_type
            if depth == 0 and (
                kind in (TokenType.R_PAREN, TokenType.COMMA, TokenType.SEMICOLON) or self._word() in ends
            ):
                break
            if kind in (TokenType.L_PAREN, TokenType.LT):
                depth += 1
            elif kind in (TokenType.R_PAREN, TokenType.GT):
                depth -= 1
            self._advance()
        if not start or self._curr is start:
            self._fail("a data type is missing here")
        return self._text_between(start, self._prev)

    def _text_between(self, first: Token, last: Token) -> str:
        return self.sql[first.start : last.end + 1]

    def _flink_cast(self, safe: bool) -> exp.Expr:
        this = self._parse_disjunction()
        if not self._match(TokenType.ALIAS):
            self._fail("CAST needs AS and a type")
        return self.expression(FlinkCast(this=this, to=self._type_text(), safe=safe))

    def _call(self, name: str, *args: Any) -> exp.Expr:
        return self.expression(exp.Anonymous(this=name, expressions=list(args)))

    def _flink_extract(self) -> exp.Expr:
        unit = self._word()
        self._advance()
        if not self._match(TokenType.FROM):
            self._fail("EXTRACT needs a unit and FROM")
        return self._call("EXTRACT", exp.Literal.string(unit), self._parse_disjunction())

    def _flink_trim(self) -> exp.Expr:
        side = self._word()
        if side in _TRIM_SIDES:
            self._advance()
        else:
            side = ""
        what = None if self._curr.token_type == TokenType.FROM else self._parse_disjunction()
        if self._match(TokenType.FROM):
            chars = what or exp.Literal.string(" ")
            return self._call("TRIM", exp.Literal.string(side or "BOTH"), chars, self._parse_disjunction())
        return self._call("TRIM", what)

    def _flink_from_for(self, name: str) -> exp.Expr:
        args = [self._parse_disjunction()]
        while self._match(TokenType.COMMA) or self._match_texts(("FROM", "FOR", "PLACING")):
            args.append(self._parse_disjunction())
        return self._call(name, *args)

    def _flink_position(self) -> exp.Expr:
        needle = self._parse_bitwise()
        if not self._match(TokenType.IN) and not self._match(TokenType.COMMA):
            self._fail("POSITION needs IN: POSITION(part IN whole)")
        args = [needle, self._parse_bitwise()]
        if self._match(TokenType.FROM):
            args.append(self._parse_bitwise())
        return self._call("POSITION", *args)

    def _flink_rounding(self, name: str) -> exp.Expr:
        args = [self._parse_disjunction()]
        if self._match_text_seq("TO"):
            args.append(exp.Literal.string(self._word()))
            self._advance()
        while self._match(TokenType.COMMA):
            args.append(self._parse_disjunction())
        return self._call(name, *args)

    def _flink_unit_first(self, name: str) -> exp.Expr:
        unit = self._word()
        self._advance()
        args: list[Any] = [exp.Literal.string(unit)]
        while self._match(TokenType.COMMA):
            args.append(self._parse_disjunction())
        return self._call(name, *args)

    # -- JSON functions --------------------------------------------------------------------------------

    def _flink_json_exists(self) -> exp.Expr:
        args = self._parse_csv(self._parse_disjunction)
        if self._match_texts(("TRUE", "FALSE", "UNKNOWN", "ERROR")):
            args.append(exp.Literal.string(self._prev.text.upper()))
            self._match_text_seq("ON", "ERROR")
        return self._call("JSON_EXISTS", *args)

    def _flink_json_value(self) -> exp.Expr:
        args = self._parse_csv(self._parse_disjunction)
        returning = TypeArgument(this="STRING")
        if self._match_text_seq("RETURNING"):
            returning = TypeArgument(this=self._type_text("NULL", "ERROR", "DEFAULT"))
        handling: dict[str, list[Any]] = {kind: ["NULL", exp.Null()] for kind in ("EMPTY", "ERROR")}
        while self._word() in ("NULL", "ERROR", "DEFAULT"):
            word = self._word()
            self._advance()
            default = self._parse_bitwise() if word == "DEFAULT" else exp.Null()
            self._match_text_seq("ON")
            handling[self._word()] = [word, default]
            self._advance()
        rest = [
            exp.Literal.string(part) if isinstance(part, str) else part
            for k in handling.values()
            for part in k
        ]
        return self._call("JSON_VALUE", *args, returning, *rest)

    def _flink_json_query(self) -> exp.Expr:
        args = self._parse_csv(self._parse_disjunction)
        returning = TypeArgument(this="STRING")
        if self._match_text_seq("RETURNING"):
            returning = TypeArgument(this=self._type_text("WITHOUT", "WITH", "NULL", "EMPTY", "ERROR"))
        wrapper = "WITHOUT"
        if self._match_text_seq("WITHOUT"):
            self._match_text_seq("ARRAY")
            self._match_text_seq("WRAPPER")
        elif self._match(TokenType.WITH):
            wrapper = "CONDITIONAL" if self._match_text_seq("CONDITIONAL") else "UNCONDITIONAL"
            self._match_text_seq("UNCONDITIONAL")
            self._match_text_seq("ARRAY")
            self._match_text_seq("WRAPPER")
        handling = {"EMPTY": "NULL", "ERROR": "NULL"}
        while self._word() in ("NULL", "ERROR", "EMPTY"):
            word = self._word()
            self._advance()
            if word == "EMPTY":
                word = f"EMPTY {self._word()}"
                self._advance()
            self._match_text_seq("ON")
            handling[self._word()] = word
            self._advance()
        texts = [exp.Literal.string(t) for t in (wrapper, handling["EMPTY"], handling["ERROR"])]
        return self._call("JSON_QUERY", *args, returning, *texts)

    def _json_nulls(self, default: str) -> exp.Expr:
        if self._match_texts(("NULL", "ABSENT")):
            default = self._prev.text.upper()
            self._match_text_seq("ON", "NULL")
        return exp.Literal.string(default)

    def _json_pair(self) -> list[Any]:
        if self._word() == "KEY" and self._tokens[self._index + 1].token_type != TokenType.COMMA:
            self._advance()
        key = self._parse_disjunction()
        if not self._match_text_seq("VALUE") and not self._match(TokenType.COLON):
            self._fail("a JSON object needs KEY and VALUE")
        return [key, self._parse_disjunction()]

    def _flink_json_object(self) -> exp.Expr:
        pairs: list[Any] = []
        while (
            self._curr
            and self._curr.token_type != TokenType.R_PAREN
            and self._word() not in ("NULL", "ABSENT")
        ):
            pairs += self._json_pair()
            if not self._match(TokenType.COMMA):
                break
        return self._call("JSON_OBJECT", self._json_nulls("NULL"), *pairs)

    def _flink_json_array(self) -> exp.Expr:
        items: list[Any] = []
        while self._curr and self._curr.token_type != TokenType.R_PAREN:
            if self._word() == "ABSENT" or (self._word() == "NULL" and self._word(1) == "ON"):
                break
            items.append(self._parse_disjunction())
            if not self._match(TokenType.COMMA):
                break
        return self._call("JSON_ARRAY", self._json_nulls("ABSENT"), *items)

    def _flink_json_objectagg(self) -> exp.Expr:
        pair = self._json_pair()
        return self._call("JSON_OBJECTAGG", *pair, self._json_nulls("NULL"))

    def _flink_json_arrayagg(self) -> exp.Expr:
        item = self._parse_disjunction()
        if self._match_text_seq("ORDER BY"):
            self._fail("JSON_ARRAYAGG takes no ORDER BY")
        return self._call("JSON_ARRAYAGG", item, self._json_nulls("ABSENT"))

    # -- FROM clause -----------------------------------------------------------------------------------

    def _parse_table_parts(self, *args: Any, **kwargs: Any) -> Any:
        table = super()._parse_table_parts(*args, **kwargs)
        if table is not None and self._curr and self._match(TokenType.HINT):
            table.meta["hint"] = " ".join(self._prev_comments or [])
        return table

    def _parse_table(self, *args: Any, **kwargs: Any) -> Any:
        if self._word() == "TABLE" and self._next_is(TokenType.L_PAREN):
            self._advance(2)
            return self._parse_match_after(self._table_function(wrapped=True))
        if self._curr.token_type in self.IDENTIFIER_TOKENS and self._next_is(TokenType.L_PAREN):
            return self._table_function(wrapped=False)
        table = super()._parse_table(*args, **kwargs)
        return self._parse_match_after(table)

    def _parse_match_after(self, table: Any) -> Any:
        if self._curr and self._curr.token_type == TokenType.MATCH_RECOGNIZE:
            self._advance()
            match = parse_match_recognize(self)
            match.set("input", table)
            return match
        return table

    def _parse_lateral(self) -> Any:
        if self._word() == "LATERAL" and self._word(1) == "TABLE":
            self._advance(3)
            function = self._table_function(wrapped=True)
            function.set("lateral", True)
            return function
        return super()._parse_lateral()

    def _table_function(self, wrapped: bool) -> exp.Expr:
        start = self._curr
        name = [self._curr.text]
        self._advance()
        while self._match(TokenType.DOT):
            name.append(self._curr.text)
            self._advance()
        self._expect(TokenType.L_PAREN, "(")
        arguments = []
        while self._curr and self._curr.token_type != TokenType.R_PAREN:
            arguments.append(self._table_function_argument())
            if not self._match(TokenType.COMMA):
                break
        self._expect(TokenType.R_PAREN, ")")
        if wrapped:
            self._expect(TokenType.R_PAREN, ")")
        node = TableFunction(this=".".join(name), expressions=arguments, alias=self._parse_table_alias())
        return self.expression(node).update_positions(start)

    def _table_function_argument(self) -> exp.Expr:
        if self._next_is(TokenType.FARROW):
            name = self._curr.text
            self._advance(2)
            return self.expression(NamedArgument(this=name, expression=self._table_function_argument()))
        word = self._word()
        if word == "DESCRIPTOR" and self._next_is(TokenType.L_PAREN):
            self._advance(2)
            columns = self._parse_csv(self._parse_id_var)
            self._expect(TokenType.R_PAREN, ")")
            return self.expression(Descriptor(expressions=columns))
        if word == "TABLE" or (
            self._curr.token_type == TokenType.L_PAREN
            and self._word(1) in ("SELECT", "WITH", "VALUES", "TABLE")
        ):
            return self._table_argument()
        return self._parse_disjunction()

    def _table_argument(self) -> exp.Expr:
        if self._match(TokenType.TABLE):
            if self._curr.token_type == TokenType.L_PAREN:
                this: Any = self._parse_select(nested=True)
            else:
                this = self._parse_table_parts()
        else:
            this = self._parse_select(nested=True)
        partition = self._parse_partition_columns()
        order = self._parse_order()
        return self.expression(TableArgument(this=this, partition_by=partition, order=order))

    def _parse_partition_columns(self) -> list[exp.Expr]:
        if not self._match(TokenType.PARTITION_BY):
            return []
        if self._match(TokenType.L_PAREN):
            columns = self._parse_csv(self._parse_column)
            self._expect(TokenType.R_PAREN, ")")
            return columns
        columns = [self._parse_column()]
        while (
            self._curr.token_type == TokenType.COMMA
            and self._word(1) != "DESCRIPTOR"
            and (
                self._index + 2 < len(self._tokens)
                and self._tokens[self._index + 2].token_type in (TokenType.COMMA, TokenType.DOT)
            )
        ):
            self._advance()
            columns.append(self._parse_column())
        return columns

    # -- errors ----------------------------------------------------------------------------------------

    def _expect(self, token_type: TokenType, text: str) -> None:
        if not self._match(token_type):
            self._fail(f"expected {text!r} here")

    def _fail(self, what: str, token: Token | None = None, do: str | None = None) -> None:
        token = token or self._curr or self._prev
        raise error_at(self.sql, what, token.start if token else 0, len(token.text) if token else 1, do=do)

    def raise_error(self, message: str, token: Any = None) -> None:
        token = token or self._curr or self._prev
        self._refuse_double_quotes(token)
        found = (
            f" near {token.text!r}" if token is not None and token.text else " at the end of the statement"
        )
        self._fail(f"SQL parse failed{found}: {message.strip().rstrip('.')}", token, self._mistyped_word())

    def _mistyped_word(self) -> str | None:
        """A hint if the word before was read as a name and looks like one that begins a clause: `SELECT a FORM t`."""
        word = self._prev.text.upper() if self._prev is not None else ""
        near = difflib.get_close_matches(word, _CLAUSES, n=1, cutoff=0.7)
        return f"did you mean {near[0]} instead of {self._prev.text}?" if near and near[0] != word else None

    def _refuse_double_quotes(self, token: Token | None) -> None:
        """They mean nothing in Flink SQL: what could not be read at or after one could not because of it."""
        marks = [t for t in self._tokens if t.text == '"' and t.token_type != TokenType.STRING]
        if not marks or token is None or marks[0].start > token.start:
            return
        start = marks[0].start
        end = self.sql.find('"', start + 1) + 1
        quoted = self.sql[start:end] if end else '"'
        inner = quoted.strip('"') or "x"
        raise error_at(
            self.sql,
            f"SQL parse failed near {quoted}: Flink SQL does not quote with double quotes",
            start,
            len(quoted),
            do=f"write `{inner}` for a name, '{inner}' for text",
        )


class Flink(Dialect):
    """The dialect's entry point for sqlglot."""

    DPIPE_IS_STRING_CONCAT = True
    SUPPORTS_LIMIT_ALL = True
    Tokenizer = FlinkTokenizer
    Parser = FlinkParser


def error_at(sql: str, what: str, offset: int, length: int = 1, do: str | None = None) -> SqlError:
    """A `SqlError` that points at a character of the text."""
    before = sql[:offset]
    line = before.count("\n") + 1
    column = offset - (before.rfind("\n") + 1) + 1
    return SqlError(what, sql=sql, line=line, column=column, length=length, do=do)


def parse_hints(text: str | None) -> list[tuple[str, list[tuple[str | None, str]]]]:
    """Reads the inside of a hint comment: [(NAME, [(key or None, value), ...]), ...].

    >>> parse_hints("OPTIONS('path' = '/x'), BROADCAST(t)")
    [('OPTIONS', [('path', '/x')]), ('BROADCAST', [(None, 't')])]
    """
    found = []
    for name, body in re.findall(r"(\w+)\s*(?:\(((?:[^()']|'(?:[^']|'')*')*)\))?", text or ""):
        pairs: list[tuple[str | None, str]] = []
        for key, value in re.findall(
            r"\s*(?:('(?:[^']|'')*'|[\w.`-]+)\s*=\s*)?('(?:[^']|'')*'|[\w.`-]+)", body or ""
        ):
            pairs.append((_unquote(key) if key else None, _unquote(value)))
        found.append((name.upper(), pairs))
    return found


def _unquote(text: str) -> str:
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    return text.strip("`")

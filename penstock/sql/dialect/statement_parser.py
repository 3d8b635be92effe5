"""Statements other than queries, read with the query parser's own helpers.

`parse_statements(text)` is the door: it splits a script at the semicolons outside quotes and statement sets
and gives one `Statement` each. A statement begins with a word; `_STARTS` says which method reads on.
"""

from __future__ import annotations

from typing import Any

import sqlglot.errors
from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from penstock.common.errors import SqlError
from penstock.sql.dialect import statements as st
from penstock.sql.dialect.ddl_parser import DdlParser
from penstock.sql.dialect.flink import Flink, FlinkTokenizer, error_at
from penstock.sql.dialect.reserved import RESERVED
from penstock.sql.no_paren_calls import NO_PAREN_CALLS

_DETAILS = ("ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "PLAN_ADVICE")


def parse_statements(sql: str) -> list[st.Statement]:
    """All statements of a script, in order."""
    tokens = _tokenize(sql)
    return [StatementParser(sql, piece).parse_whole() for piece in _split(tokens)]


def parse_statement(sql: str) -> st.Statement:
    """The one statement of a text; a semicolon at its end is allowed."""
    found = parse_statements(sql)
    if len(found) != 1:
        raise SqlError(
            f"expected one statement, found {len(found)}", sql=sql, do="execute the statements one by one"
        )
    return found[0]


def parse_expression(sql: str) -> exp.Expr:
    """A scalar expression such as a computed column's."""
    parser = StatementParser(sql, _tokenize(sql))
    return parser.parse_scalar()


def parse_query(sql: str) -> exp.Expr:
    """A query without anything around it, such as a view's."""
    statement = parse_statement(sql)
    if not isinstance(statement, st.QueryStatement):
        raise SqlError("expected a query", sql=sql, line=1, column=1)
    return statement.ast


def _tokenize(sql: str) -> list[Token]:
    try:
        return FlinkTokenizer(dialect=Flink()).tokenize(sql)
    except sqlglot.errors.TokenError as error:
        raise SqlError(f"SQL parse failed: {error}".splitlines()[0], sql=sql) from error


def _split(tokens: list[Token]) -> list[list[Token]]:
    pieces: list[list[Token]] = [[]]
    in_set = False
    for token in tokens:
        word = token.text.upper() if token.token_type != TokenType.STRING else ""
        if word == "BEGIN" and [t.text.upper() for t in pieces[-1][-2:]] == ["STATEMENT", "SET"]:
            in_set = True
        elif (
            word == "END" and in_set and (not pieces[-1] or pieces[-1][-1].token_type == TokenType.SEMICOLON)
        ):
            in_set = False
        if token.token_type == TokenType.SEMICOLON and not in_set:
            pieces.append([])
        else:
            pieces[-1].append(token)
    return [piece for piece in pieces if piece]


def _after_semicolon(tokens: list[Token]) -> bool:
    return not tokens or tokens[-1].token_type == TokenType.SEMICOLON


class StatementParser(DdlParser):
    """Reads one statement from its tokens."""

    def __init__(self, sql: str, tokens: list[Token]) -> None:
        super().__init__(dialect=Flink())
        self.reset()
        self.sql = sql
        self._tokens = tokens
        self._tokens_size = len(tokens)
        self._index = -1
        self._advance()

    def parse_whole(self) -> st.Statement:
        """The statement; refuses what is left over."""
        statement = self._statement()
        if self._has_more():
            self.raise_error("unexpected text after the end of the statement")
        return statement

    def parse_scalar(self) -> exp.Expr:
        result = self._parse_disjunction()
        if result is None or self._has_more():
            self.raise_error("not a scalar expression")
        check_reserved(result, self.sql)
        return result

    def _has_more(self) -> bool:
        return self._index < len(self._tokens)

    def _statement(self) -> st.Statement:
        word = self._word()
        handler = _STARTS.get(word)
        if handler is None:
            if self._curr.token_type == TokenType.L_PAREN or word in ("SELECT", "VALUES", "WITH", "TABLE"):
                return self._query_statement()
            self.raise_error("this is not the beginning of a statement")
        self._advance()
        statement: st.Statement = getattr(self, handler)()  # type: ignore[arg-type]
        return statement

    def _query_statement(self) -> st.Statement:
        if self._word() == "WITH":
            return self._with_statement()
        return st.QueryStatement(self._query(), sql=self.sql)

    def _with_statement(self) -> st.Statement:
        """WITH may stand before a query; before an INSERT it belongs to the query inside."""
        start = self._index
        with_ = self._parse_with()
        if self._word() in ("INSERT", "UPSERT"):
            self._advance()
            insert = self._insert()
            insert.ast.set("with_", with_)
            return insert
        self._retreat(start)
        return st.QueryStatement(self._query(), sql=self.sql)

    def _parse_statement(self) -> Any:
        """What follows a WITH clause, for sqlglot."""
        return self._parse_select()

    def _query(self) -> exp.Expr:
        query = self._parse_select(nested=True)
        query = self._parse_query_modifiers(self._parse_set_operations(query))
        if query is None:
            self.raise_error("expected a query")
        check_reserved(query, self.sql)
        return query

    # -- data ------------------------------------------------------------------------------------------

    def _insert(self) -> st.InsertStatement:
        overwrite = self._match_text_seq("OVERWRITE") is True
        if not overwrite and not self._match(TokenType.INTO):
            self.raise_error("expected INTO or OVERWRITE")
        if overwrite:
            self._match(TokenType.INTO)
        self._match(TokenType.TABLE)
        target = self._path()
        hint = " ".join(self._prev_comments or []) if self._match(TokenType.HINT) else None
        partition = self._partition_spec(parse_values=True) if self._word() == "PARTITION" else {}
        columns = self._insert_columns()
        ast = self._query()
        if self._match_text_seq("ON", "CONFLICT"):
            self._match_text_seq("DO")
            self._advance()
        return st.InsertStatement(target, ast, columns, partition, overwrite, hint, sql=self.sql)

    def _insert_columns(self) -> tuple[str, ...] | None:
        if self._curr.token_type != TokenType.L_PAREN or self._word(1) in ("SELECT", "VALUES", "WITH", "("):
            return None
        return tuple(self._names())

    def _update(self) -> st.Statement:
        path = self._path()
        self._need("SET")
        assignments = []
        while True:
            name = self._name()
            self._expect(TokenType.EQ, "=")
            assignments.append((name, self._parse_disjunction()))
            if not self._match(TokenType.COMMA):
                break
        where = self._parse_disjunction() if self._match(TokenType.WHERE) else None
        return st.UpdateStatement(path, tuple(assignments), where, sql=self.sql)

    def _delete(self) -> st.Statement:
        self._need("FROM")
        path = self._path()
        where = self._parse_disjunction() if self._match(TokenType.WHERE) else None
        return st.DeleteStatement(path, where, sql=self.sql)

    def _truncate(self) -> st.Statement:
        self._need("TABLE")
        return st.TruncateStatement(self._path(), sql=self.sql)

    # -- statement sets, EXPLAIN -----------------------------------------------------------------------

    def _begin(self) -> st.Statement:
        self._need("STATEMENT")
        self._need("SET")
        if self._has_more():
            self._match(TokenType.SEMICOLON)
        return st.BeginStatementSetStatement(sql=self.sql)

    def _end(self) -> st.Statement:
        return st.EndStatementSetStatement(sql=self.sql)

    def _execute(self) -> st.Statement:
        if self._match_text_seq("STATEMENT", "SET"):
            return self._statement_set()
        if self._match_text_seq("PLAN"):
            return st.ExecutePlanStatement(self._file(), sql=self.sql)
        return self._statement()

    def _statement_set(self) -> st.Statement:
        self._need("BEGIN")
        inserts = []
        while self._has_more() and self._word() != "END":
            self._need("INSERT")
            inserts.append(self._insert())
            while self._has_more() and self._match(TokenType.SEMICOLON):
                pass
        self._need("END")
        return st.StatementSetStatement(tuple(inserts), sql=self.sql)

    def _compile(self) -> st.Statement:
        execute = self._match_text_seq("AND", "EXECUTE") is True
        self._need("PLAN")
        file = self._file()
        if_not_exists = self._match_text_seq("IF", "NOT", "EXISTS") is True
        self._need("FOR")
        text = self.sql[self._curr.start :].strip()
        if self._match_text_seq("STATEMENT", "SET"):
            whole = self._statement_set()
            assert isinstance(whole, st.StatementSetStatement)
            inserts = whole.inserts
        else:
            self._need("INSERT")
            inserts = (self._insert(),)
        return st.CompilePlanStatement(file, inserts, text, if_not_exists, execute, sql=self.sql)

    def _file(self) -> str:
        if not self._match(TokenType.STRING):
            self.raise_error("expected a file between quotes")
        return str(self._prev.text)

    def _explain(self) -> st.Statement:
        details = []
        lineage = self._match_text_seq("LINEAGE") is True
        self._match_text_seq("PLAN", "FOR")
        while not lineage and self._word() in _DETAILS:
            details.append(self._word())
            self._advance()
            self._match(TokenType.COMMA)
        if self._match_text_seq("STATEMENT", "SET"):
            return st.ExplainStatement(self._statement_set(), tuple(details), lineage, sql=self.sql)
        return st.ExplainStatement(self._statement(), tuple(details), lineage, sql=self.sql)

    # -- session ---------------------------------------------------------------------------------------

    def _use(self) -> st.Statement:
        if self._match_text_seq("CATALOG"):
            return st.UseStatement("CATALOG", (self._name(),), sql=self.sql)
        if self._match_text_seq("MODULES"):
            names = [self._name()]
            while self._match(TokenType.COMMA):
                names.append(self._name())
            return st.UseStatement("MODULES", tuple(names), sql=self.sql)
        return st.UseStatement("DATABASE", self._path(), sql=self.sql)

    def _set(self) -> st.Statement:
        if not self._has_more():
            return st.SetStatement(sql=self.sql)
        key = self._key()
        self._expect(TokenType.EQ, "=")
        first = self._curr
        while self._has_more():
            self._advance()
        text = self._text_between(first, self._prev).strip()
        value = text[1:-1].replace("''", "'") if text.startswith("'") else text
        return st.SetStatement(key, value, sql=self.sql)

    def _reset(self) -> st.Statement:
        return st.ResetStatement(self._key() if self._has_more() else None, sql=self.sql)

    def _key(self) -> str:
        if self._match(TokenType.STRING):
            return self._prev.text
        first = self._curr
        while self._has_more() and self._curr.token_type != TokenType.EQ:
            self._advance()
        return self._text_between(first, self._prev).strip()

    def _show(self) -> st.Statement:
        kind = self._word()
        self._advance()
        if kind in ("CURRENT", "CREATE", "FULL", "USER", "MATERIALIZED"):
            kind += " " + self._word()
            self._advance()
            if kind == "CREATE MATERIALIZED":
                kind += " " + self._word()
                self._advance()
        if kind.startswith("CREATE ") or kind == "PARTITIONS":
            path = self._path()
            spec = self._partition_spec() if kind == "PARTITIONS" and self._word() == "PARTITION" else {}
            return st.ShowStatement(kind, path, partition=spec, sql=self.sql)
        path = self._path() if self._match_texts(("FROM", "IN")) else ()
        negated = bool(self._match(TokenType.NOT))
        like, ignore_case = None, False
        if self._match_texts(("LIKE", "ILIKE")):
            ignore_case = self._prev.text.upper() == "ILIKE"
            like = self._text()
        return st.ShowStatement(kind, path, like, ignore_case, negated, sql=self.sql)

    def _describe(self) -> st.Statement:
        kinds = ("CATALOG", "DATABASE", "FUNCTION", "MODEL", "CONNECTION", "JOB")
        kind = "TABLE"
        if self._word() in kinds and self._index + 1 < len(self._tokens) and self._word(1) != ".":
            kind = self._word()
            self._advance()
        extended = bool(self._match_text_seq("EXTENDED"))
        path = (self._text(),) if kind == "JOB" else self._path()
        return st.DescribeStatement(kind, path, extended, sql=self.sql)

    def _analyze(self) -> st.Statement:
        self._need("TABLE")
        path = self._path()
        if self._word() == "PARTITION":
            self._partition_spec()
        self._need("COMPUTE")
        self._need("STATISTICS")
        if not self._match_text_seq("FOR"):
            return st.AnalyzeTableStatement(path, sql=self.sql)
        if self._match_text_seq("ALL", "COLUMNS"):
            return st.AnalyzeTableStatement(path, all_columns=True, sql=self.sql)
        self._need("COLUMNS")
        names = [self._name()]
        while self._match(TokenType.COMMA):
            names.append(self._name())
        return st.AnalyzeTableStatement(path, tuple(names), sql=self.sql)

    def _load(self) -> st.Statement:
        self._need("MODULE")
        name = self._name()
        options = self._options() if self._match(TokenType.WITH) else {}
        return st.ModuleStatement(name, True, options, sql=self.sql)

    def _unload(self) -> st.Statement:
        self._need("MODULE")
        return st.ModuleStatement(self._name(), False, sql=self.sql)

    def _refuse_jar(self) -> st.Statement:
        return self._unsupported("JAR statements", "functions are Python here: there is no Java class path")

    def _stop(self) -> st.Statement:
        self._need("JOB")
        job_id = self._text()
        savepoint = drain = False
        while self._match(TokenType.WITH):
            if self._match_text_seq("SAVEPOINT"):
                savepoint = True
            elif savepoint and self._match_text_seq("DRAIN"):
                drain = True
            else:
                self.raise_error("expected SAVEPOINT, and DRAIN only behind WITH SAVEPOINT")
        return st.StopJobStatement(job_id, savepoint, drain, sql=self.sql)

    def _refuse_call(self) -> st.Statement:
        return self._unsupported("CALL", "no catalog here has procedures")


_STARTS = {
    "CREATE": "_create",
    "REPLACE": "_replace",
    "ALTER": "_alter",
    "DROP": "_drop",
    "INSERT": "_insert",
    "UPSERT": "_insert",
    "UPDATE": "_update",
    "DELETE": "_delete",
    "TRUNCATE": "_truncate",
    "BEGIN": "_begin",
    "END": "_end",
    "EXECUTE": "_execute",
    "EXPLAIN": "_explain",
    "USE": "_use",
    "SET": "_set",
    "RESET": "_reset",
    "SHOW": "_show",
    "DESCRIBE": "_describe",
    "DESC": "_describe",
    "ANALYZE": "_analyze",
    "LOAD": "_load",
    "UNLOAD": "_unload",
    "ADD": "_refuse_jar",
    "REMOVE": "_refuse_jar",
    "STOP": "_stop",
    "CALL": "_refuse_call",
    "COMPILE": "_compile",
}


def check_reserved(tree: exp.Expr, sql: str) -> None:
    """Refuses reserved words that are used as names without backquotes."""
    for identifier in tree.find_all(exp.Identifier):
        word = str(identifier.this).upper()
        if identifier.args.get("quoted") or word not in RESERVED:
            continue
        parent = identifier.parent
        if word in NO_PAREN_CALLS and isinstance(parent, exp.Column) and not parent.args.get("table"):
            continue
        offset = identifier.meta.get("start", 0)
        raise error_at(
            sql,
            f"SQL parse failed: {identifier.this!r} is a reserved word",
            offset,
            len(word),
            do=f"write it between backquotes: `{identifier.this}`",
        )

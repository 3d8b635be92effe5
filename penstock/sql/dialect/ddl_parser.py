"""CREATE, ALTER and DROP."""

from __future__ import annotations

from typing import Any

from sqlglot.tokens import TokenType

from penstock.catalog.schema import Schema, SchemaColumn, WatermarkDeclaration
from penstock.common.datatype_parser import parse_type
from penstock.common.errors import ValidationError
from penstock.sql.dialect import statements as st
from penstock.sql.dialect.flink import FlinkParser
from penstock.sql.dialect.reserved import RESERVED

_NO_MODELS = "models and their connections are not part of this project"
_TYPE_ENDS = ("COMMENT", "METADATA", "PRIMARY", "CONSTRAINT", "FIRST", "AFTER", "AS")


class DdlParser(FlinkParser):
    """Reads what defines things."""

    # -- small pieces ----------------------------------------------------------------------------------

    def _need(self, word: str) -> None:
        if not self._match_text_seq(word):
            self.raise_error(f"expected {word}")

    def _name(self) -> str:
        token = self._curr
        if not token or token.token_type in (TokenType.STRING, TokenType.NUMBER) or not token.text:
            self.raise_error("expected a name")
        quoted = token.token_type == TokenType.IDENTIFIER
        if not quoted and not (token.text[0].isalpha() or token.text[0] == "_"):
            self.raise_error("expected a name")
        if not quoted and token.text.upper() in RESERVED:
            self._fail(
                f"SQL parse failed: {token.text!r} is a reserved word",
                token,
                do=f"write it between backquotes: `{token.text}`",
            )
        self._advance()
        return token.text

    def _path(self) -> st.Path:
        parts = [self._name()]
        while self._match(TokenType.DOT):
            parts.append(self._name())
        if len(parts) > 3:
            self.raise_error("a name has at most three parts: catalog.database.object")
        return tuple(parts)

    def _text(self) -> str:
        if not self._match(TokenType.STRING):
            self.raise_error("expected a text between apostrophes")
        return self._prev.text

    def _names(self) -> list[str]:
        self._expect(TokenType.L_PAREN, "(")
        names = [self._name()]
        while self._match(TokenType.COMMA):
            names.append(self._name())
        self._expect(TokenType.R_PAREN, ")")
        return names

    def _options(self) -> st.Options:
        """('key' = 'value', ...)"""
        options: st.Options = {}
        self._expect(TokenType.L_PAREN, "(")
        while self._curr and self._curr.token_type != TokenType.R_PAREN:
            key = self._text()
            self._expect(TokenType.EQ, "=")
            options[key] = self._text()
            if not self._match(TokenType.COMMA):
                break
        self._expect(TokenType.R_PAREN, ")")
        return options

    def _keys(self) -> tuple[str, ...]:
        self._expect(TokenType.L_PAREN, "(")
        keys = [self._text()]
        while self._match(TokenType.COMMA):
            keys.append(self._text())
        self._expect(TokenType.R_PAREN, ")")
        return tuple(keys)

    def _comment(self) -> str | None:
        return self._text() if self._match_text_seq("COMMENT") else None

    def _if_not_exists(self) -> bool:
        return bool(self._match_text_seq("IF", "NOT", "EXISTS"))

    def _if_exists(self) -> bool:
        return bool(self._match_text_seq("IF", "EXISTS"))

    def _partition_spec(self, parse_values: bool = False) -> dict[str, Any]:
        self._need("PARTITION")
        self._expect(TokenType.L_PAREN, "(")
        spec: dict[str, Any] = {}
        while True:
            name = self._name()
            value = None
            if self._match(TokenType.EQ):
                value = self._parse_disjunction()
                value = value if parse_values else str(value.name)
            spec[name] = value
            if not self._match(TokenType.COMMA):
                break
        self._expect(TokenType.R_PAREN, ")")
        return spec

    def _expression_text(self) -> str:
        """The text of an expression; it is parsed too, so that mistakes show now."""
        first = self._curr
        parsed = self._parse_disjunction()
        if parsed is None:
            self.raise_error("expected an expression")
        from penstock.sql.dialect.statement_parser import check_reserved

        check_reserved(parsed, self.sql)
        return self._text_between(first, self._prev)

    def _rest_text(self) -> str:
        last = self._tokens[-1]
        return self.sql[self._curr.start : last.end + 1]

    def _unsupported(self, feature: str, because: str) -> st.Statement:
        while self._index < len(self._tokens):
            self._advance()
        return st.UnsupportedStatement(feature, because, sql=self.sql)

    # -- CREATE ----------------------------------------------------------------------------------------

    def _create(self) -> st.Statement:
        replace = bool(self._match_text_seq("OR", "REPLACE"))
        if self._match_text_seq("OR", "ALTER"):
            return self._unsupported("materialized tables", "no refresh service runs them")
        temporary = bool(self._match_text_seq("TEMPORARY"))
        system = bool(self._match_text_seq("SYSTEM"))
        kind = self._word()
        self._advance()
        if kind == "TABLE":
            return self._create_table(temporary, replace)
        if kind == "VIEW":
            return self._create_view(temporary, replace)
        if kind == "CATALOG":
            return self._create_catalog()
        if kind == "DATABASE":
            return self._create_database()
        if kind == "FUNCTION":
            return self._create_function(temporary, system)
        if kind in ("MODEL", "CONNECTION"):
            return self._unsupported(f"CREATE {kind}", _NO_MODELS)
        if kind == "MATERIALIZED":
            return self._unsupported("materialized tables", "no refresh service runs them")
        self._retreat(self._index - 1)
        self.raise_error("expected TABLE, VIEW, CATALOG, DATABASE or FUNCTION")
        raise AssertionError

    def _replace(self) -> st.Statement:
        self._need("TABLE")
        return self._create_table(False, True)

    def _create_table(self, temporary: bool, replace: bool) -> st.Statement:
        if_not_exists = self._if_not_exists()
        path = self._path()
        schema = Schema()
        order: tuple[str, ...] = ()
        if self._match(TokenType.L_PAREN):
            schema, order = self._table_elements()
        comment = self._comment()
        distribution = self._distribution() if self._match_text_seq("DISTRIBUTED") else None
        keys: list[str] = []
        if self._match_text_seq("PARTITIONED"):
            self._need("BY")
            keys = self._names()
        if distribution is None and self._match_text_seq("DISTRIBUTED"):
            distribution = self._distribution()
        options = self._options() if self._match(TokenType.WITH) else {}
        like: st.Path | None = None
        like_options: tuple[tuple[str, str], ...] = ()
        query = None
        if self._match(TokenType.LIKE):
            like, like_options = self._path(), self._like_options()
        elif self._match(TokenType.ALIAS):
            query = self._query()  # type: ignore[attr-defined]
        return st.CreateTableStatement(
            path,
            schema,
            options,
            temporary=temporary,
            if_not_exists=if_not_exists,
            or_replace=replace,
            comment=comment,
            partition_keys=tuple(keys),
            distribution=distribution,
            like=like,
            like_options=like_options,
            query=query,
            column_order=order,
            sql=self.sql,
        )

    def _distribution(self) -> str:
        """[BY [HASH|RANGE] (cols)] [INTO n BUCKETS], as Flink prints it."""
        parts = []
        if self._match_text_seq("BY"):
            kind = ""
            if self._word() in ("HASH", "RANGE"):
                kind = self._word()
                self._advance()
            parts.append(f"BY {kind}(" + ", ".join(f"`{name}`" for name in self._names()) + ")")
        if self._match_text_seq("INTO"):
            parts.append(f"INTO {self._curr.text} BUCKETS")
            self._advance()
            self._need("BUCKETS")
        return " ".join(parts)

    def _like_options(self) -> tuple[tuple[str, str], ...]:
        found = []
        if self._match(TokenType.L_PAREN):
            while not self._match(TokenType.R_PAREN):
                action = self._word()
                self._advance()
                what = self._word()
                self._advance()
                if action not in ("INCLUDING", "EXCLUDING", "OVERWRITING"):
                    self.raise_error("expected INCLUDING, EXCLUDING or OVERWRITING")
                found.append((action, what))
        return tuple(found)

    def _table_elements(self) -> tuple[Schema, tuple[str, ...]]:
        """Columns, watermark and key up to the closing parenthesis. A bare name list gives only an order."""
        columns: list[SchemaColumn] = []
        watermarks: list[WatermarkDeclaration] = []
        key: tuple[str, ...] = ()
        key_name: str | None = None
        order: list[str] = []
        while True:
            if self._match_text_seq("WATERMARK"):
                watermarks.append(self._watermark())
            elif self._word() in ("PRIMARY", "CONSTRAINT"):
                if key:
                    raise ValidationError("a table has one primary key, here are two")
                key_name, key = self._primary_key()
            else:
                name = self._name()
                if self._curr and self._curr.token_type in (TokenType.COMMA, TokenType.R_PAREN):
                    order.append(name)
                else:
                    column, is_key = self._column(name)
                    columns.append(column)
                    if is_key:
                        key, key_name = (name,), f"PK_{name}"
            if not self._match(TokenType.COMMA):
                break
        self._expect(TokenType.R_PAREN, ")")
        if len(watermarks) > 1:
            raise ValidationError("a table has one WATERMARK, here are several")
        return Schema(tuple(columns), tuple(watermarks), key, key_name), tuple(order)

    def _watermark(self) -> WatermarkDeclaration:
        self._need("FOR")
        column = ".".join(self._path())
        self._need("AS")
        return WatermarkDeclaration(column, self._expression_text())

    def _primary_key(self) -> tuple[str, tuple[str, ...]]:
        name = None
        if self._match_text_seq("CONSTRAINT"):
            name = self._name()
        self._need("PRIMARY")
        self._need("KEY")
        columns = tuple(self._names())
        self._enforced()
        return name or "PK_" + "_".join(columns), columns

    def _enforced(self) -> None:
        if self._match_text_seq("NOT", "ENFORCED"):
            return
        token = self._prev
        self._match_text_seq("ENFORCED")
        self._fail(
            "a primary key in ENFORCED mode is not possible: the table's data is not owned here",
            token,
            do="write PRIMARY KEY (...) NOT ENFORCED",
        )

    def _column(self, name: str) -> tuple[SchemaColumn, bool]:
        if self._match(TokenType.ALIAS):
            text = self._expression_text()
            return SchemaColumn(name, expression=text, comment=self._comment()), False
        data_type = parse_type(self._type_text(*_TYPE_ENDS), in_sql=True)
        is_key = False
        key, virtual, own_key = None, False, True
        if self._match_text_seq("METADATA"):
            own_key = bool(self._match_text_seq("FROM"))
            key = self._text() if own_key else name
            virtual = bool(self._match_text_seq("VIRTUAL"))
        if self._word() in ("PRIMARY", "CONSTRAINT"):
            if self._match_text_seq("CONSTRAINT"):
                self._name()
            self._need("PRIMARY")
            self._need("KEY")
            self._enforced()
            is_key = True
        comment = self._comment()
        column = SchemaColumn(
            name, data_type, metadata_key=key, is_virtual=virtual, has_own_key=own_key, comment=comment
        )
        return column, is_key

    def _create_view(self, temporary: bool, replace: bool) -> st.Statement:
        if_not_exists = self._if_not_exists()
        path = self._path()
        columns: tuple[str, ...] = ()
        if self._curr and self._curr.token_type == TokenType.L_PAREN:
            columns = tuple(self._names())
        comment = self._comment()
        self._need("AS")
        text = self._rest_text()
        ast = self._query()  # type: ignore[attr-defined]
        return st.CreateViewStatement(
            path, ast, text, columns, temporary, if_not_exists, replace, comment, sql=self.sql
        )

    def _create_catalog(self) -> st.Statement:
        if_not_exists = self._if_not_exists()
        name = self._name()
        comment = self._comment()
        options = self._options() if self._match(TokenType.WITH) else {}
        return st.CreateCatalogStatement(name, options, if_not_exists, comment, sql=self.sql)

    def _create_database(self) -> st.Statement:
        if_not_exists = self._if_not_exists()
        path = self._path()
        comment = self._comment()
        options = self._options() if self._match(TokenType.WITH) else {}
        return st.CreateDatabaseStatement(path, options, if_not_exists, comment, sql=self.sql)

    def _create_function(self, temporary: bool, system: bool, alter: bool = False) -> st.Statement:
        lenient = self._if_exists() if alter else self._if_not_exists()
        path = self._path()
        self._need("AS")
        class_name = self._text()
        language = "JAVA"
        if self._match_text_seq("LANGUAGE"):
            language = self._word()
            self._advance()
        resources = []
        if self._match(TokenType.USING):
            while self._match_texts(("JAR", "ARTIFACT", "FILE")):
                resources.append(self._text())
                self._match(TokenType.COMMA)
        if self._match(TokenType.WITH):
            self._options()
        return st.CreateFunctionStatement(
            path, class_name, language, temporary, system, lenient, alter, tuple(resources), sql=self.sql
        )

    # -- DROP ------------------------------------------------------------------------------------------

    def _drop(self) -> st.Statement:
        temporary = bool(self._match_text_seq("TEMPORARY"))
        system = bool(self._match_text_seq("SYSTEM"))
        kind = self._word()
        self._advance()
        if kind == "MATERIALIZED":
            return self._unsupported("materialized tables", "no refresh service runs them")
        if kind in ("MODEL", "CONNECTION"):
            return self._unsupported(f"DROP {kind}", _NO_MODELS)
        if kind not in ("TABLE", "VIEW", "DATABASE", "CATALOG", "FUNCTION"):
            self.raise_error("expected TABLE, VIEW, CATALOG, DATABASE or FUNCTION")
        if_exists = self._if_exists()
        path = self._path()
        cascade = False
        if kind == "DATABASE" and self._match_texts(("RESTRICT", "CASCADE")):
            cascade = self._prev.text.upper() == "CASCADE"
        return st.DropStatement(kind, path, if_exists, temporary, system, cascade, sql=self.sql)

    # -- ALTER -----------------------------------------------------------------------------------------

    def _alter(self) -> st.Statement:
        temporary = bool(self._match_text_seq("TEMPORARY"))
        system = bool(self._match_text_seq("SYSTEM"))
        kind = self._word()
        self._advance()
        if kind == "FUNCTION":
            return self._create_function(temporary, system, alter=True)
        if kind == "MATERIALIZED":
            return self._unsupported("materialized tables", "no refresh service runs them")
        if kind in ("MODEL", "CONNECTION"):
            return self._unsupported(f"ALTER {kind}", _NO_MODELS)
        if kind not in ("TABLE", "VIEW", "DATABASE", "CATALOG"):
            self.raise_error("expected TABLE, VIEW, CATALOG, DATABASE or FUNCTION")
        if_exists = self._if_exists()
        path = self._path()
        if kind == "VIEW" and self._match(TokenType.ALIAS):
            text = self._rest_text()
            ast = self._query()  # type: ignore[attr-defined]
            return st.CreateViewStatement(path, ast, text, replace=True, sql=self.sql)
        return st.AlterStatement(kind, path, self._alter_action(), if_exists, sql=self.sql)

    def _alter_action(self) -> Any:
        if self._match_text_seq("COMMENT"):
            return self._text()
        if self._match_text_seq("RENAME"):
            if self._match_text_seq("TO"):
                return st.RenameTo(self._path())
            old = self._name()
            self._need("TO")
            return st.RenameColumn(old, self._name())
        if self._match_text_seq("SET"):
            return st.SetOptions(self._options())
        if self._match_text_seq("RESET"):
            return st.ResetOptions(self._keys())
        if self._match_text_seq("ADD"):
            lenient = self._if_not_exists()
            if self._word() == "PARTITION":
                return self._alter_partitions(False, lenient)
            return self._add_columns(modify=False)
        if self._match_text_seq("MODIFY"):
            return self._add_columns(modify=True)
        if self._match_text_seq("DROP"):
            lenient = self._if_exists()
            if self._word() == "PARTITION":
                return self._alter_partitions(True, lenient)
            return self._drop_parts()
        self.raise_error("expected RENAME, SET, RESET, ADD, MODIFY or DROP")
        raise AssertionError

    def _alter_partitions(self, drop: bool, lenient: bool) -> st.AlterPartitions:
        found = []
        while self._word() == "PARTITION":
            found.append(self._partition_spec())
            if self._match(TokenType.WITH):
                self._options()
            self._match(TokenType.COMMA)
        return st.AlterPartitions(tuple(found), drop, lenient)

    def _add_columns(self, modify: bool) -> st.AddColumns:
        if self._match_text_seq("DISTRIBUTION"):
            return st.AddColumns(distribution=self._distribution(), modify=modify)
        wrapped = self._match(TokenType.L_PAREN)
        columns: list[tuple[SchemaColumn, str | None]] = []
        watermark: WatermarkDeclaration | None = None
        key: tuple[str, ...] = ()
        key_name: str | None = None
        while True:
            if self._match_text_seq("WATERMARK"):
                watermark = self._watermark()
            elif self._word() in ("PRIMARY", "CONSTRAINT"):
                key_name, key = self._primary_key()
            else:
                column, is_key = self._column(self._name())
                columns.append((column, self._place()))
                if is_key:
                    key, key_name = (column.name,), f"PK_{column.name}"
            if not (wrapped and self._match(TokenType.COMMA)):
                break
        if wrapped:
            self._expect(TokenType.R_PAREN, ")")
        return st.AddColumns(tuple(columns), watermark, key, key_name, modify=modify)

    def _place(self) -> str | None:
        if self._match_text_seq("FIRST"):
            return "FIRST"
        return self._name() if self._match_text_seq("AFTER") else None

    def _drop_parts(self) -> st.DropParts:
        if self._match_text_seq("PRIMARY", "KEY"):
            return st.DropParts(primary_key=True)
        if self._match_text_seq("CONSTRAINT"):
            return st.DropParts(constraint=self._name())
        if self._match_text_seq("WATERMARK"):
            return st.DropParts(watermark=True)
        if self._match_text_seq("DISTRIBUTION"):
            return st.DropParts(distribution=True)
        if self._curr.token_type == TokenType.L_PAREN:
            return st.DropParts(tuple(self._names()))
        return st.DropParts((self._name(),))

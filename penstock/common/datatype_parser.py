"""Reads Flink's type texts: `parse_type("ROW<a INT, b ARRAY<STRING>> NOT NULL")`.

The grammar is Flink's LogicalTypeParser's, synonyms included (INTEGER, NUMERIC, STRING, BYTES, TIMESTAMP_LTZ,
DOUBLE PRECISION, `T ARRAY`, `T MULTISET`). It is a recursive descent over a small token list; the SQL dialect
collects a column's type tokens and hands their text to it, so there is one grammar of types.
"""

from __future__ import annotations

import re

from penstock.common.datatypes import DataType, DataTypes, NullType, RowField, RowType, VariantType
from penstock.common.errors import ValidationError
from penstock.common.function_types import BitmapType

_TOKEN = re.compile(r"\s*(`(?:[^`]|``)*`|'(?:[^']|'')*'|[A-Za-z_][\w$]*|\d+|[<>(),])")


def parse_type(text: str, *, in_sql: bool = False) -> DataType:
    """The type a text names.

    Args:
        in_sql: Whether the text stands in a SQL statement, where VARCHAR and VARBINARY without a length are as long
            as can be, as in Flink; in a type text of a program they have the length 1.

    Raises:
        ValidationError: If the text is not a type, with the piece that could not be read.
    """
    parser = _TypeParser(text, in_sql)
    result = parser.read_type()
    parser.expect_end()
    return result


class _TypeParser:
    def __init__(self, text: str, in_sql: bool) -> None:
        self._text = text
        self._in_sql = in_sql
        self._tokens = self._split(text)
        self._at = 0

    def _split(self, text: str) -> list[str]:
        tokens, position = [], 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if match is None:
                raise self._error(text[position:].strip())
            tokens.append(match.group(1))
            position = match.end()
        return tokens

    def _error(self, piece: str) -> ValidationError:
        return ValidationError(
            f"{self._text!r} is not a data type: cannot read {piece!r}",
            do="use a type such as INT, DECIMAL(10, 2), ARRAY<STRING> or ROW<a INT, b STRING>",
        )

    def _peek(self, ahead: int = 0) -> str:
        index = self._at + ahead
        return self._tokens[index].upper() if index < len(self._tokens) else ""

    def _take(self, *words: str) -> bool:
        """Consumes the words if they come next, all of them or none."""
        if all(self._peek(i) == word for i, word in enumerate(words)):
            self._at += len(words)
            return True
        return False

    def _need(self, word: str) -> None:
        if not self._take(word):
            raise self._error(self._peek() or "the end")

    def _number(self) -> int:
        token = self._peek()
        if not token.isdigit():
            raise self._error(token or "the end")
        self._at += 1
        return int(token)

    def _name(self) -> str:
        token = self._tokens[self._at] if self._at < len(self._tokens) else ""
        if not token or token[0] in "<>(),'" or token[0].isdigit():
            raise self._error(token or "the end")
        self._at += 1
        return token[1:-1].replace("``", "`") if token[0] == "`" else token

    def expect_end(self) -> None:
        if self._at < len(self._tokens):
            raise self._error(self._tokens[self._at])

    def read_type(self) -> DataType:
        result = self._nullability(self._read_base())
        while True:
            if self._take("ARRAY"):
                result = self._nullability(DataTypes.ARRAY(result))
            elif self._take("MULTISET"):
                result = self._nullability(DataTypes.MULTISET(result))
            else:
                return result

    def _nullability(self, data_type: DataType) -> DataType:
        if self._take("NOT", "NULL"):
            return data_type.not_null()
        self._take("NULL")
        return data_type

    def _read_base(self) -> DataType:
        word = self._peek()
        self._at += 1
        if word in _SIMPLE:
            if word == "DOUBLE":
                self._take("PRECISION")
            return _SIMPLE[word]()
        if word in _LENGTHS:
            return self._with_length(word)
        if word in ("DECIMAL", "DEC", "NUMERIC"):
            return self._decimal()
        if word in ("TIME", "TIMESTAMP", "TIMESTAMP_LTZ"):
            return self._temporal(word)
        if word == "INTERVAL":
            return self._interval()
        if word in ("ARRAY", "MULTISET", "MAP", "ROW"):
            return self._nested(word)
        raise self._error(word or "the end")

    def _with_length(self, word: str) -> DataType:
        if word in ("CHAR", "CHARACTER", "BINARY") and self._take("VARYING"):
            word = "VARBINARY" if word == "BINARY" else "VARCHAR"
        length = _LONGEST if self._in_sql and word.startswith("VAR") else 1
        if self._take("("):
            length = self._number()
            self._need(")")
        return getattr(DataTypes, "CHAR" if word == "CHARACTER" else word)(length)

    def _decimal(self) -> DataType:
        precision, scale = 10, 0
        if self._take("("):
            precision = self._number()
            if self._take(","):
                scale = self._number()
            self._need(")")
        return DataTypes.DECIMAL(precision, scale)

    def _temporal(self, word: str) -> DataType:
        precision = 0 if word == "TIME" else 6
        if self._take("("):
            precision = self._number()
            self._need(")")
        if word == "TIME":
            self._take("WITHOUT", "TIME", "ZONE")
            return DataTypes.TIME(precision)
        if word == "TIMESTAMP_LTZ" or self._take("WITH", "LOCAL", "TIME", "ZONE"):
            return DataTypes.TIMESTAMP_LTZ(precision)
        if self._take("WITH", "TIME", "ZONE"):
            raise self._error("WITH TIME ZONE")
        self._take("WITHOUT", "TIME", "ZONE")
        return DataTypes.TIMESTAMP(precision)

    def _interval(self) -> DataType:
        units = [self._interval_unit()]
        if self._take("TO"):
            units.append(self._interval_unit())
        makers = []
        for unit, precision in units:
            maker = getattr(DataTypes, unit)
            makers.append(maker() if precision is None else maker(precision))
        return DataTypes.INTERVAL(*makers)

    def _interval_unit(self) -> tuple[str, int | None]:
        unit = self._peek()
        if unit not in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"):
            raise self._error(unit or "the end")
        self._at += 1
        if self._take("("):
            precision = self._number()
            self._need(")")
            return unit, precision
        return unit, None

    def _nested(self, word: str) -> DataType:
        if word == "ROW":
            return self._row()
        self._need("<")
        first = self.read_type()
        if word == "MAP":
            self._need(",")
            second = self.read_type()
            self._need(">")
            return DataTypes.MAP(first, second)
        self._need(">")
        return DataTypes.ARRAY(first) if word == "ARRAY" else DataTypes.MULTISET(first)

    def _row(self) -> RowType:
        closing = ">" if self._take("<") else ")"
        if closing == ")":
            self._need("(")
        fields: list[RowField] = []
        while not self._take(closing):
            if fields:
                self._need(",")
            name = self._name()
            data_type = self.read_type()
            comment = None
            if self._peek().startswith("'"):
                comment = self._tokens[self._at][1:-1].replace("''", "'")
                self._at += 1
            fields.append(RowField(name, data_type, comment))
        return DataTypes.ROW(fields)


_SIMPLE = {
    "BOOLEAN": DataTypes.BOOLEAN,
    "TINYINT": DataTypes.TINYINT,
    "SMALLINT": DataTypes.SMALLINT,
    "INT": DataTypes.INT,
    "INTEGER": DataTypes.INT,
    "BIGINT": DataTypes.BIGINT,
    "FLOAT": DataTypes.FLOAT,
    "DOUBLE": DataTypes.DOUBLE,
    "DATE": DataTypes.DATE,
    "STRING": DataTypes.STRING,
    "BYTES": DataTypes.BYTES,
    "NULL": NullType,
    "VARIANT": VariantType,
    "BITMAP": BitmapType,
}

_LONGEST = (1 << 31) - 1
_LENGTHS = {"CHAR", "CHARACTER", "VARCHAR", "BINARY", "VARBINARY"}

"""A table of values on which engines like to disagree, and SQL expressions over it as typed expressions.

For every type there are two columns; each value of the first one meets each value of the second one in some row.
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa

from penstock.catalog.catalog_manager import CatalogManager
from penstock.common.datatypes import DataType
from penstock.formats.arrow_rows import RowsToArrow
from penstock.sql.dialect.statement_parser import parse_statement
from penstock.sql.plan.algebra import Project, walk_plan
from penstock.sql.plan.rex import Rex
from penstock.sql.session import SqlSession

MIN_LONG, MAX_LONG = -(2**63), 2**63 - 1
MIN_INT, MAX_INT = -(2**31), 2**31 - 1


def D(text: str) -> Decimal:
    return Decimal(text)


def _moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


_MOMENTS = [
    "1970-01-01 00:00:00",
    "1969-12-31 23:59:59.999",
    "2024-02-29 12:34:56.789",
    "2024-12-31 23:59:59.001",
    "1900-02-28 00:00:00.5",
    "0001-01-01 00:00:00",
    "9999-12-31 23:59:59.999",
    "2000-01-31 10:00:00",
    "2023-01-01 00:00:00",
    "1582-10-10 01:02:03",
    "2021-01-03 09:59:59.99",
    "1969-12-01 00:00:00.001",
]
_TEXTS = [
    "",
    " ",
    "abc",
    "ABC",
    "abc ",
    "  abc  ",
    "straße",
    "ÀÉîõ",
    "日本語",
    "a😀b",
    "İstanbul",
    "ΑΣ ΟΔΟΣ.",
    "ﬁn",
    "a,b,,c",
    "key=value&k2=v2",
    "https://h/a/b?channel_id=7&x=1",
    "x\ny",
    "100%",
    "a_b",
    "tab\there",
    "\x00z",
    "é",
    "ǅungla",
    "12",
    "aXbXc",
]
_NUMBERS = [
    "0",
    "1",
    "-1",
    "+7",
    "12.9",
    "-12.9",
    ".5",
    "5.",
    ".",
    "",
    " 42 ",
    "1e3",
    "abc",
    "2147483647",
    "2147483648",
    "-2147483649",
    "9223372036854775807",
    "9223372036854775808",
    "1.005",
    "12 3",
    "\t1",
    "1\n",
    "NaN",
    "Infinity",
    "-Infinity",
    "inf",
    "0x10",
    "0x1p3",
    "1d",
    "1.5f",
    "127",
    "128",
    "1e400",
    "00012",
    "true",
    "T",
    "no",
    "TRUE\n",
    "1e-400",
    "0e50",
    "99999999999999999999999999999999999999",
    "1E+3",
    "--1",
    "+",
    "1e",
    "٣",
]
_TIMES = [
    "2024-02-29",
    "2024-2-9",
    "2024-02-30",
    "2024-02-30 1:02:03.123456",
    "2024-02-29 12:34:56",
    "2024-02-29 12:34:56.1234567",
    "2024-02-29T12:34:56",
    "2024",
    "2024-13-01",
    "24:00:00",
    "2024-01-01 24:00:00",
    "2024-01-01 23:59:59.",
    "0000-01-01",
    "9999-12-31 23:59:59.999999",
    "2024-01-31 10:00:60",
    " 2024-01-01 ",
    "",
    "2024-01-01 10:00",
    "2024-01-01 x",
    "2024-04-31\n",
    "2023-02-29 00:00:00",
    "1",
    "12345-01-01",
    "2024-1-1 1:1:1",
    "1969-12-31 23:59:59.9",
    "2024-00-01",
    "2024-01-00",
    "nonsense",
    "2024-01-31\x85",
]

VALUES: dict[str, tuple[str, list[Any], list[Any]]] = {
    "t": ("TINYINT", [0, 1, -1, 127, -128, 5, -7], [0, -1, 127, -128, 3]),
    "s": ("SMALLINT", [0, 1, -1, 32767, -32768, 300], [1, -1, 32767, -32768, 12]),
    "i": ("INT", [0, 1, -1, MAX_INT, MIN_INT, 7, -7, 100, 46341], [1, -1, 2, -3, MAX_INT, MIN_INT, 0, 10]),
    "l": (
        "BIGINT",
        [0, 1, -1, MAX_LONG, MIN_LONG, MAX_INT, 2**53 + 1, -(2**40), 123, 3037000500],
        [1, -1, MAX_LONG, MIN_LONG, 0, 3, 2**31, -5],
    ),
    "f": (
        "FLOAT",
        [0.0, -0.0, 1.5, -2.25, math.nan, math.inf, -math.inf, 3.4028234663852886e38, 1.401298464324817e-45],
        [0.0, -0.0, math.nan, 0.5, -math.inf, 16777216.0],
    ),
    "d": (
        "DOUBLE",
        [0.0, -0.0, 0.1, -1.5, math.nan, math.inf, -math.inf, 1e308, 5e-324, 2.5, -0.5, 1e10, 9.3e18, -1e20],
        [0.0, -0.0, math.nan, math.inf, 0.3, -2.5, 1e308, 3.0],
    ),
    "p": (
        "DECIMAL(10, 2)",
        [
            D("0.00"),
            D("0.01"),
            D("-0.01"),
            D("99999999.99"),
            D("-99999999.99"),
            D("2.50"),
            D("-2.50"),
            D("12.35"),
        ],
        [D("1.00"), D("-0.05"), D("99999999.99"), D("3.33"), D("-7.77"), D("0.50")],
    ),
    "q": (
        "DECIMAL(38, 18)",
        [
            D("0"),
            D("0.000000000000000001"),
            D("-1.5"),
            D("99999999999999999999.999999999999999999"),
            D("12345.678"),
        ],
        [D("1"), D("-0.333333333333333333"), D("99999999999999999999.999999999999999999"), D("7")],
    ),
    "z": (
        "DECIMAL(5, 5)",
        [D("0.00000"), D("0.99999"), D("-0.50000"), D("0.00001")],
        [D("0.10000"), D("-0.99999")],
    ),
    "w": (
        "DECIMAL(19, 0)",
        [D("0"), D("9999999999999999999"), D("-9999999999999999999"), D("15")],
        [D("1"), D("-25")],
    ),
    "b": ("BOOLEAN", [True, False], [True, False]),
    "x": ("STRING", _TEXTS, ["", "b", "abc", "a", ",", "ß", "Σ", "😀", "X", " "]),
    "c": ("CHAR(5)", ["abc  ", "ab", "", "日本語  ", "abcde"], ["abc", "abcde", "  abc"]),
    "v": ("VARCHAR(6)", ["abcdef", "", "äöü", "ab "], ["ab", "äöü", "z"]),
    "n": ("STRING", _NUMBERS, ["1", "2.5"]),
    "h": ("STRING", _TIMES, ["2024-02-29 12:34:56"]),
    "y": (
        "DATE",
        [
            dt.date(1970, 1, 1),
            dt.date(1969, 12, 31),
            dt.date(2024, 2, 29),
            dt.date(1, 1, 1),
            dt.date(9999, 12, 31),
            dt.date(1900, 3, 1),
            dt.date(2024, 12, 30),
            dt.date(2021, 1, 3),
            dt.date(2000, 1, 31),
            dt.date(1582, 10, 10),
        ],
        [
            dt.date(2024, 2, 28),
            dt.date(1969, 1, 1),
            dt.date(2000, 2, 29),
            dt.date(2024, 12, 31),
            dt.date(1, 12, 31),
        ],
    ),
    "m": ("TIMESTAMP(3)", [_moment(t) for t in _MOMENTS], [_moment(t) for t in _MOMENTS[:8]]),
    "u": (
        "TIMESTAMP(6)",
        [_moment(t).replace(microsecond=999_999) for t in _MOMENTS],
        [_moment(t).replace(microsecond=123) for t in _MOMENTS[:6]],
    ),
    "k": (
        "TIMESTAMP_LTZ(3)",
        [_moment(t + "+00:00") for t in _MOMENTS],
        [_moment(t + "+00:00") for t in _MOMENTS[:8]],
    ),
    "e": ("VARBINARY(10)", [b"", b"abc", b"\x00\xff", b"\x80"], [b"abc", b"b"]),
    "ai": ("ARRAY<INT>", [[1, 2, 3], [], [None], [MIN_INT]], [[3, None]]),
    "ax": ("ARRAY<STRING>", [["a", "b"], [""], [None, "z"], []], [["q"]]),
    "mx": ("MAP<STRING, INT>", [{"a": 1, "b": None}, {}, {"": 7}], [{"b": 2}]),
    "o": (
        "ROW<a INT, b STRING, r ROW<c BIGINT>>",
        [(1, "x", (5,)), (None, None, None), (2, "", (None,))],
        [(3, "y", (1,))],
    ),
}
ROWS = 420


def _column(values: list[Any], step: int) -> list[Any]:
    known = [*values, None]
    return [known[(row // step) % len(known)] for row in range(ROWS)]


def column_names() -> list[str]:
    return [f"{name}{number}" for name in VALUES for number in (1, 2)]


@lru_cache(maxsize=1)
def session() -> SqlSession:
    session = SqlSession(CatalogManager(), {})
    columns = ", ".join(f"{name} {VALUES[name[:-1]][0]}" for name in column_names())
    session.execute(f"CREATE TABLE t ({columns}) WITH ('connector' = 'datagen')")
    return session


def typed(*sqls: str) -> list[Rex]:
    """Expressions over the columns of the table."""
    statement = parse_statement(f"SELECT {', '.join(sqls)} FROM t")
    plan = session().bind(statement.ast, statement.sql)  # type: ignore[attr-defined]
    project = next(node for node in walk_plan(plan) if isinstance(node, Project))
    return list(project.exprs)


@lru_cache(maxsize=1)
def types() -> list[DataType]:
    return [rex.type for rex in typed(*column_names())]


@lru_cache(maxsize=1)
def table() -> pa.Table:
    """The values, in columns c0, c1, …"""
    from penstock.common.datatypes import DataTypes

    row_type = DataTypes.ROW([DataTypes.FIELD(f"c{i}", t) for i, t in enumerate(types())])
    convert = RowsToArrow(row_type)
    lists = []
    for first, second in ((v[1], v[2]) for v in VALUES.values()):
        lists += [_column(first, 1), _column(second, len(first) + 1)]
    return pa.table([convert.column(i, values) for i, values in enumerate(lists)], schema=convert.schema)

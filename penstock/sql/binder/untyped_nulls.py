"""Where a bare NULL cannot stand: functions that need to know the type of every argument.

Flink's older functions ask for types before anything could give NULL one; the newer ones (REGEXP_COUNT, SPLIT,
JSON_QUOTE, ...) and those that compare or choose (=, IN, COALESCE, CASE) take it. What Flink 2.3 was seen to refuse
is here, and the members of the same families.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.common.datatypes import NullType
from penstock.sql.plan.rex import Const, Rex

_FAMILIES = (
    "+ - * / % AND OR NOT || IF",
    "CONCAT CONCAT_WS UPPER LOWER INITCAP REVERSE REPEAT REPLACE TRANSLATE SUBSTRING SUBSTR LEFT RIGHT LPAD RPAD",
    "TRIM LTRIM RTRIM POSITION LOCATE INSTR OVERLAY CHAR_LENGTH CHARACTER_LENGTH ASCII CHR ENCODE DECODE HEX BIN",
    "TO_BASE64 FROM_BASE64 MD5 SHA1 SHA2 SHA224 SHA256 SHA384 SHA512 SPLIT_INDEX STR_TO_MAP PARSE_URL",
    "REGEXP REGEXP_EXTRACT REGEXP_REPLACE IS_ALPHA IS_DECIMAL IS_DIGIT",
    "ABS SIGN SQRT EXP LN LOG LOG2 LOG10 POWER MOD CEIL FLOOR ROUND TRUNCATE DEGREES RADIANS",
    "SIN COS TAN COT SINH COSH TANH ASIN ACOS ATAN ATAN2",
    "TO_DATE TO_TIMESTAMP TO_TIMESTAMP_LTZ DATE_FORMAT EXTRACT YEAR QUARTER MONTH WEEK HOUR MINUTE SECOND",
    "DAYOFYEAR DAYOFMONTH DAYOFWEEK TIMESTAMPADD TIMESTAMPDIFF FROM_UNIXTIME UNIX_TIMESTAMP CONVERT_TZ",
    "CARDINALITY ELEMENT ARRAY_DISTINCT ARRAY_MAX ARRAY_MIN MAP_KEYS MAP_VALUES",
    "COUNT SUM AVG MIN MAX STDDEV STDDEV_POP STDDEV_SAMP VARIANCE VAR_POP VAR_SAMP FIRST_VALUE LAST_VALUE",
    "COLLECT LISTAGG ARRAY_AGG APPROX_COUNT_DISTINCT PERCENTILE LAG LEAD",
)
_TYPED = frozenset({name for family in _FAMILIES for name in family.split()}) | {
    "IS TRUE",
    "IS FALSE",
    "IS JSON",
    *(f"{word}{test}" for word in ("", "NOT ") for test in ("LIKE", "SIMILAR TO")),
}
_FIRST_TYPED = frozenset({"JSON_VALUE", "JSON_QUERY", "JSON_EXISTS"})


def refuses_null(name: str, args: Sequence[Rex]) -> bool:
    """Whether an argument of the call is a NULL that would have to be cast."""
    if name in _FIRST_TYPED:
        args = args[:1]
    elif name not in _TYPED:
        return False
    return any(isinstance(arg, Const) and isinstance(arg.type, NullType) for arg in args)

"""Functions of the Table API by the names of the SQL registry.

Most differ only in spelling: `charLength` is CHAR_LENGTH. Here are the others.
"""

from __future__ import annotations

import re

_OPERATORS = {
    "plus": "+",
    "minus": "-",
    "times": "*",
    "divide": "/",
    "mod": "%",
    "minusPrefix": "-",
    "equals": "=",
    "notEquals": "<>",
    "lessThan": "<",
    "lessThanOrEqual": "<=",
    "greaterThan": ">",
    "greaterThanOrEqual": ">=",
    "isNull": "IS NULL",
    "isNotNull": "IS NOT NULL",
    "isTrue": "IS TRUE",
    "isFalse": "IS FALSE",
    "isNotTrue": "IS NOT TRUE",
    "isNotFalse": "IS NOT FALSE",
    "notBetween": "NOT BETWEEN",
    "similar": "SIMILAR TO",
    "in": "IN",
    "at": "ITEM",
    "IS_JSON": "IS JSON",
    "temporalOverlaps": "OVERLAPS",
    "timestampDiff": "TIMESTAMPDIFF",
}

_SPELLINGS = {
    "initCap": "INITCAP",
    "localTime": "LOCALTIME",
    "localTimestamp": "LOCALTIMESTAMP",
    "listAgg": "LISTAGG",
}

_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")


def registry_name(function: str) -> str:
    """
    >>> registry_name("plus"), registry_name("charLength"), registry_name("REGEXP_COUNT")
    ('+', 'CHAR_LENGTH', 'REGEXP_COUNT')
    """
    known = _OPERATORS.get(function) or _SPELLINGS.get(function)
    return known or _WORDS.sub("_", function).upper()

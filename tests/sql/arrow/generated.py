"""Nested SQL expressions at random: of every type some leaves, and functions that put them together."""

from __future__ import annotations

import re
from random import Random

LEAVES = {
    "int": """
        i1
        i2
        t1
        s1
        CAST(t2 AS INT)
        7
        -1
        0
        CAST(NULL AS INT)
    """,
    "long": """
        l1
        l2
        5000000000
        -3
        CAST(i1 AS BIGINT)
    """,
    "decimal": """
        p1
        p2
        z1
        2.5
        -0.01
        CAST(i1 AS DECIMAL(10, 0))
    """,
    "double": """
        d1
        d2
        f1
        CAST(0.5 AS DOUBLE)
        1e3
    """,
    "text": """
        x1
        x2
        c1
        v1
        'abc'
        ''
        'é'
        CAST(NULL AS STRING)
    """,
    "bool": """
        b1
        b2
        TRUE
        x1 IS NULL
    """,
    "moment": """
        m1
        m2
        u1
        TIMESTAMP '2024-02-29 12:00:00.5'
    """,
    "date": """
        y1
        y2
        DATE '2000-02-29'
    """,
}
"""Leaves of each type."""

TEMPLATES = {
    "int": """
        ({int} + {int})
        ({int} * {int})
        (- {int})
        ({int} / NULLIF({int}, 0))
        ({int} % NULLIF({int}, 0))
        CHAR_LENGTH({text})
        POSITION({text} IN {text})
        CAST({long} AS INT)
        ABS({int})
        CAST({double} AS INT)
        TIMESTAMPDIFF(HOUR, {moment}, {moment})
        TIMESTAMPDIFF(MONTH, {date}, {date})
        CASE WHEN {bool} THEN {int} ELSE {int} END
        COALESCE({int}, {int})
        GREATEST({int}, {int})
    """,
    "long": """
        ({long} - {int})
        ({long} * {long})
        EXTRACT(DAY FROM {moment})
        EXTRACT(WEEK FROM {date})
        HOUR({moment})
        CAST({decimal} AS BIGINT)
        ({long} % NULLIF({long}, 0))
        CASE {text} WHEN {text} THEN {long} END
        LEAST({long}, {int})
        NULLIF({long}, {int})
    """,
    "decimal": """
        ({decimal} + {decimal})
        ({decimal} - {int})
        ({decimal} * 1.5)
        CAST({decimal} AS DECIMAL(12, 3))
        CAST({long} AS DECIMAL(19, 0))
        CASE WHEN {bool} THEN {decimal} ELSE {decimal} END
        FLOOR({decimal})
        CAST({decimal} / NULLIF({decimal}, 0) AS DECIMAL(20, 4))
        ROUND({decimal}, 1)
        ABS({decimal})
    """,
    "double": """
        ({double} + {double})
        ({double} * {double})
        ({double} / {double})
        CAST({int} AS DOUBLE)
        CEIL({double})
        CAST({decimal} AS DOUBLE)
        SQRT({double})
        GREATEST({double}, {double})
        IF({bool}, {double}, {double})
    """,
    "text": """
        ({text} || {text})
        UPPER({text})
        LOWER({text})
        SUBSTRING({text}, 2, 3)
        SUBSTRING({text}, {int})
        TRIM({text})
        REPLACE({text}, 'b', {text})
        CAST({long} AS STRING)
        CAST({bool} AS STRING)
        CAST({moment} AS STRING)
        DATE_FORMAT({moment}, 'yyyy-MM-dd HH:mm')
        SPLIT_INDEX({text}, ',', 1)
        COALESCE({text}, {text})
        CASE WHEN {bool} THEN {text} ELSE {text} END
        CAST({text} AS CHAR(4))
        REGEXP_EXTRACT({text}, '([a-z]+)(.)', 2)
        CAST({decimal} AS STRING)
        CAST({date} AS STRING)
    """,
    "bool": """
        ({bool} AND {bool})
        ({bool} OR {bool})
        (NOT {bool})
        ({int} < {long})
        ({double} >= {double})
        ({double} = {int})
        ({decimal} <> {decimal})
        ({text} = {text})
        ({text} > {text})
        ({text} LIKE '%b_%')
        ({moment} BETWEEN {moment} AND {moment})
        ({int} IN (1, 7, {int}))
        ({bool} IS NOT TRUE)
        ({int} IS DISTINCT FROM {long})
        ({date} <= {date})
        (TRY_CAST({text} AS INT) IS NULL)
        ({text} IS NOT NULL)
    """,
    "moment": """
        ({moment} + INTERVAL '1' DAY)
        ({moment} - INTERVAL '1' MONTH)
        CAST({date} AS TIMESTAMP(3))
        FLOOR({moment} TO HOUR)
        CEIL({moment} TO MONTH)
        CAST({moment} AS TIMESTAMP(0))
        TO_TIMESTAMP({text})
        CASE WHEN {bool} THEN {moment} ELSE {moment} END
        TIMESTAMPADD(HOUR, 5, {moment})
    """,
    "date": """
        CAST({moment} AS DATE)
        ({date} + INTERVAL '1' DAY)
        ({date} - INTERVAL '1' MONTH)
        FLOOR({date} TO WEEK)
        COALESCE({date}, {date})
    """,
}
"""Functions of each type; {int} is any expression of type int."""


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


def expression(random: Random, depth: int, kind: str | None = None) -> str:
    """SQL of at most that many levels."""
    kind = kind or random.choice(sorted(LEAVES))
    if depth == 0 or random.random() < 0.15:
        return random.choice(_lines(LEAVES[kind]))
    template = random.choice(_lines(TEMPLATES[kind]))
    return re.sub(r"\{(\w+)\}", lambda place: expression(random, depth - 1, place[1]), template)


def expressions(seed: int, count: int, depth: int = 3) -> list[str]:
    random = Random(seed)
    return [expression(random, depth) for _ in range(count)]

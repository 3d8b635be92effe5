"""Three numbers that stand for a query's final table, however large it is: each engine computes them itself.

A row becomes a number that depends on all its compared columns; the numbers of all rows are counted, added up, and
added up again as squares modulo a prime. The aggregates take back what the query takes back, so the last values say
what the final table is, and nobody has to write and read millions of changes to compare two of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from nexmark.scripts import Comparison

_PRIME = 1_000_003
_COLUMN = re.compile(r"(`?\w+`?)\s+(\w+)(\([\d, ]+\))?(?:\s*,|\s*$)")
_TABLE = re.compile(r"CREATE TEMPORARY TABLE target \((.*?)\)\s*(?:PARTITIONED BY.*?)?WITH", re.DOTALL)
SINK = "CREATE TEMPORARY TABLE fingerprint (n BIGINT, total BIGINT, mixed BIGINT) WITH ({sink})"


def fingerprinted(statements: Sequence[str], comparison: Comparison, sink: str) -> list[str]:
    """The statements of a query, with a fingerprint of its result in place of the result."""
    *before, insert = statements
    table = next(s for s in before if _TABLE.match(s))
    found = _TABLE.match(table)
    assert found is not None
    columns = [(m[1].strip("`"), m[2].upper()) for m in _COLUMN.finditer(" ".join(found[1].split()))]
    select = re.sub(r"^INSERT INTO target\s", "", insert)
    names = ", ".join(f"`{name}`" for name, _ in columns)
    compared = [c for c in columns if comparison.columns is None or c[0] in comparison.columns]
    row = " + ".join(f"{i * 7 + 3} * {_number(name, kind)}" for i, (name, kind) in enumerate(compared))
    return [
        *(s for s in before if s is not table),
        SINK.format(sink=sink),
        f"CREATE TEMPORARY VIEW answers ({names}) AS {select}",
        f"CREATE TEMPORARY VIEW numbers AS SELECT {row} AS r FROM answers",
        f"INSERT INTO fingerprint SELECT COUNT(*), SUM(r), SUM(MOD(r * r, {_PRIME})) FROM numbers",
    ]


def _number(name: str, kind: str) -> str:
    """A column as a BIGINT below the prime, other than 0 where it is not NULL."""
    column = f"`{name}`"
    if kind == "STRING":
        number = (
            f"CAST(CHAR_LENGTH({column}) * 131 + ASCII({column}) + 131 * ASCII(REVERSE({column})) AS BIGINT)"
        )
    elif kind == "TIMESTAMP":
        parts = f"EXTRACT(HOUR FROM {column}) * 3600 + EXTRACT(MINUTE FROM {column}) * 60"
        number = f"({parts} + EXTRACT(SECOND FROM {column})) * 1000 + EXTRACT(MILLISECOND FROM {column})"
    elif kind == "DECIMAL":
        number = f"CAST({column} * 1000 AS BIGINT)"
    else:
        number = f"CAST({column} AS BIGINT)"
    return f"COALESCE(1 + MOD({number}, {_PRIME}), 0)"

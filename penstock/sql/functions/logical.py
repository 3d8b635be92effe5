"""AND, OR, NOT and the IS TRUE family: three-valued logic is the same in Spark."""

from __future__ import annotations

from penstock.common.datatypes import DataTypes
from penstock.sql.functions.rules import BOOLEAN, never, of, rest, scalar

scalar(
    "AND",
    (BOOLEAN, BOOLEAN, rest(BOOLEAN)),
    of(DataTypes.BOOLEAN),
    lambda *a: f"({' AND '.join(a)})",
    how="spark",
)
scalar(
    "OR",
    (BOOLEAN, BOOLEAN, rest(BOOLEAN)),
    of(DataTypes.BOOLEAN),
    lambda *a: f"({' OR '.join(a)})",
    how="spark",
)
scalar("NOT", (BOOLEAN,), of(DataTypes.BOOLEAN), "(NOT {0})")

for _name in ("TRUE", "FALSE"):
    scalar(f"IS {_name}", (BOOLEAN,), never(DataTypes.BOOLEAN), f"({{0}} IS {_name})")
    scalar(f"IS NOT {_name}", (BOOLEAN,), never(DataTypes.BOOLEAN), f"({{0}} IS NOT {_name})")
scalar("IS UNKNOWN", (BOOLEAN,), never(DataTypes.BOOLEAN), "({0} IS NULL)")
scalar("IS NOT UNKNOWN", (BOOLEAN,), never(DataTypes.BOOLEAN), "({0} IS NOT NULL)")

"""SQL expressions on Arrow columns, for tasks that have rows at hand and no Catalyst.

`compile_columns` turns typed expressions into `ArrowExpression`s, `LinearSteps` runs projections and filters
on tables. What an expression means is said by its Spark SQL text (`functions/`); here is a second way to the
same values, and only where it is the same for every input: NULL, NaN, overflow, dates before 1970, text
beyond ASCII. Whatever has no such form is refused as a whole when it is compiled, and Catalyst evaluates it.

    compiler.py     the registry of builders, and what a builder is given
    nodes.py        what builders make: trees that are pickled and evaluated batch by batch
    values.py       columns as numpy arrays and as Python values
    compare.py …    one file per family of functions
"""

from __future__ import annotations

from penstock.sql.arrow import (  # noqa: F401  (each module registers its builders)
    arithmetic,
    casts,
    codes,
    compare,
    conditional,
    constants,
    distances,
    enforcing,
    json_functions,
    logic,
    nested,
    number_functions,
    patterns,
    temporal,
    text,
    time_text,
    udf_calls,
)
from penstock.sql.arrow.compiler import Builder, Compiler, NoArrowForm, register, supported
from penstock.sql.arrow.expression import ArrowExpression, can_evaluate, compile_columns, why_not
from penstock.sql.arrow.nodes import Batch, Node, apply
from penstock.sql.arrow.steps import LinearSteps

__all__ = [
    "ArrowExpression",
    "Batch",
    "Builder",
    "Compiler",
    "LinearSteps",
    "NoArrowForm",
    "Node",
    "apply",
    "can_evaluate",
    "compile_columns",
    "register",
    "supported",
    "why_not",
]

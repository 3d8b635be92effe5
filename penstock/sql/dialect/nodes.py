"""The syntax nodes that sqlglot has no fitting class for."""

from __future__ import annotations

from sqlglot import exp


class FlinkCast(exp.Expression, exp.Condition):  # type: ignore[misc]
    """CAST or TRY_CAST; `to` is the text of the type."""

    arg_types = {"this": True, "to": True, "safe": False}


class TypeArgument(exp.Expression, exp.Condition):  # type: ignore[misc]
    """A type where a function expects an argument: RETURNING T, CAST's target."""

    arg_types = {"this": True}


class TypedLiteral(exp.Expression, exp.Condition):  # type: ignore[misc]
    """DATE '…', TIME '…', TIMESTAMP '…', TIMESTAMP_LTZ '…'; `kind` is the word."""

    arg_types = {"this": True, "kind": True}


class IntervalLiteral(exp.Expression, exp.Condition):  # type: ignore[misc]
    """INTERVAL [-] 'text' unit [(precision)] [TO unit]."""

    arg_types = {"this": True, "unit": True, "to": False, "negative": False, "precision": False}


class BinaryLiteral(exp.Expression, exp.Condition):  # type: ignore[misc]
    """X'0aff'."""

    arg_types = {"this": True}


class TableFunction(exp.Expression):
    """TABLE(f(...)) in FROM; `args` are expressions, `TableArgument`s, `Descriptor`s or `NamedArgument`s."""

    arg_types = {"this": True, "expressions": False, "alias": False, "lateral": False}


class TableArgument(exp.Expression):
    """TABLE t [PARTITION BY …] [ORDER BY …], or a query in its place."""

    arg_types = {"this": True, "partition_by": False, "order": False}


class Descriptor(exp.Expression):
    """DESCRIPTOR(a, b): column names."""

    arg_types = {"expressions": True}


class NamedArgument(exp.Expression, exp.Condition):  # type: ignore[misc]
    """name => value."""

    arg_types = {"this": True, "expression": True}

"""Flink's built-in SQL functions, written as Spark SQL text; `registry` says how they are described."""

from __future__ import annotations

from penstock.sql.functions.registry import FUNCTIONS, NO_LITERAL, Arg, ArgType, FunctionDef, find

__all__ = ["FUNCTIONS", "NO_LITERAL", "Arg", "ArgType", "FunctionDef", "find"]

"""Implicit casts: where Flink converts without being asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.common.datatypes import CharType, DataType, NullType, VarCharType
from penstock.sql.plan.algebra import Field, Plan, Project, Values
from penstock.sql.plan.rex import Call, Const, InputRef, Rex, TypeRef


def same_shape(left: DataType, right: DataType) -> bool:
    """Whether a value of one type is already a value of the other, nullability aside."""
    if left.nullable() == right.nullable():
        return True
    if isinstance(left, (CharType, VarCharType)) and isinstance(right, VarCharType):
        return right.length >= left.length
    return False


def cast_rex(rex: Rex, target: DataType) -> Rex:
    """The expression as a value of the target type."""
    if same_shape(rex.type, target):
        return rex
    if isinstance(rex.type, NullType) and isinstance(rex, Const):
        return Call(target.nullable(), "CAST", (rex, TypeRef(target.nullable())))
    result = target.with_nullability(rex.type.is_nullable or target.is_nullable)
    return Call(result, "CAST", (rex, TypeRef(target)))


def cast_columns(plan: Plan, types: Sequence[DataType]) -> Plan:
    """The plan with its columns cast where they differ; names stay."""
    if all(f.type.nullable() == t.nullable() for f, t in zip(plan.fields, types, strict=True)):
        return plan
    if isinstance(plan, Values):
        rows = tuple(tuple(cast_rex(v, t) for v, t in zip(row, types, strict=True)) for row in plan.rows)
        fields = tuple(replace(f, type=t) for f, t in zip(plan.fields, types, strict=True))
        return Values(fields, rows)
    refs = [InputRef(f.type, i, f.time) for i, f in enumerate(plan.fields)]
    exprs = tuple(cast_rex(r, t) for r, t in zip(refs, types, strict=True))
    fields = tuple(
        Field(f.name, t, f.time if isinstance(e, InputRef) else "")
        for f, t, e in zip(plan.fields, types, exprs, strict=True)
    )
    return Project(fields, plan, exprs)

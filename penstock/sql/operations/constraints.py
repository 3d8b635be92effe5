"""Constraints of a sink's columns, put around the rows of an INSERT: NOT NULL and the lengths of types.

    table.exec.sink.not-null-enforcer       ERROR (default) fails the job on a NULL, DROP leaves the row out
    table.exec.sink.type-length-enforcer    IGNORE (default), TRIM_PAD makes values fit, ERROR fails the job

Lengths are looked at even where the types agree: a file may hold longer values than its table declares.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.common.datatypes import DataTypes
from penstock.common.errors import ValidationError
from penstock.sql.functions.enforcing import CHECK_LENGTH, FIT, NOT_NULL, has_length
from penstock.sql.plan.algebra import Field, Filter, Plan, Project
from penstock.sql.plan.rex import Call, Const, InputRef, Rex, TypeRef

_NULLS = "table.exec.sink.not-null-enforcer"
_LENGTHS = "table.exec.sink.type-length-enforcer"


def _choice(config: Mapping[str, str], key: str, choices: tuple[str, ...]) -> str:
    """The configured value; the first choice is the default."""
    value = str(config.get(key, choices[0])).upper().replace("-", "_")
    if value not in choices:
        raise ValidationError(f"'{key}' cannot be '{value}'", do="use " + " or ".join(choices))
    return value


def enforce(config: Mapping[str, str], plan: Plan, types: tuple[Field, ...]) -> Plan:
    """The rows of `plan` as columns of the sink's `types` may take them."""
    nulls = _choice(config, _NULLS, ("ERROR", "DROP"))
    lengths = _choice(config, _LENGTHS, ("IGNORE", "TRIM_PAD", "ERROR"))
    maybe_null = [
        i
        for i, (have, want) in enumerate(zip(plan.fields, types, strict=True))
        if have.type.is_nullable and not want.type.is_nullable
    ]
    if nulls == "DROP" and maybe_null:
        plan = Filter(plan.fields, plan, _all_present(plan, maybe_null))
    exprs = [InputRef(f.type, i, f.time) for i, f in enumerate(plan.fields)]
    made: list[Rex] = list(exprs)
    for i, want in enumerate(types):
        if lengths != "IGNORE" and has_length(want.type):
            made[i] = _fitted(made[i], want, lengths)
        if nulls == "ERROR" and i in maybe_null:
            made[i] = Call(made[i].type, NOT_NULL, (made[i], _name(want)))
    if made == exprs:
        return plan
    return Project(plan.fields, plan, tuple(made))


def _fitted(value: Rex, want: Field, how: str) -> Rex:
    target = TypeRef(want.type)
    if how == "TRIM_PAD":
        return Call(value.type, FIT, (value, target))
    return Call(value.type, CHECK_LENGTH, (value, target, _name(want)))


def _name(column: Field) -> Const:
    return Const(DataTypes.STRING(False), column.name)


def _all_present(plan: Plan, columns: list[int]) -> Rex:
    boolean = DataTypes.BOOLEAN(False)
    tests = [Call(boolean, "IS NOT NULL", (InputRef(plan.fields[i].type, i),)) for i in columns]
    return tests[0] if len(tests) == 1 else Call(boolean, "AND", tuple(tests))

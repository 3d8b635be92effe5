"""Digests of text and bytes as lower-case hexadecimal."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.common.datatypes import DataType, DataTypes
from penstock.common.errors import ValidationError
from penstock.sql.functions.registry import Arg, ArgType
from penstock.sql.functions.rules import ANY, INTEGER, OCTETS, never, nullable, of, scalar
from penstock.sql.functions.text import fail_text, let

_LENGTHS = (224, 256, 384, 512)

scalar("MD5", (OCTETS,), of(DataTypes.CHAR, 32), "md5({0})")
scalar("SHA1", (OCTETS,), of(DataTypes.CHAR, 40), "sha1({0})")
for _bits in _LENGTHS:
    scalar(f"SHA{_bits}", (OCTETS,), of(DataTypes.CHAR, _bits // 4), f"sha2({{0}}, {_bits})")


def _sha2_type(args: Sequence[ArgType]) -> DataType:
    length = args[1].literal
    if isinstance(length, int) and length not in _LENGTHS:
        raise ValidationError(f"SHA2: there is no digest of {length} bits", do="use 224, 256, 384 or 512")
    return DataTypes.VARCHAR(128, nullable(args))


def _sha2(args: Sequence[Arg], result: DataType) -> str:
    if isinstance(args[1].literal, int):
        return f"sha2({args[0].sql}, {args[1].literal})"
    cases = " ".join(f"WHEN {{1}} = {bits} THEN sha2({{0}}, {bits})" for bits in _LENGTHS)
    wrong = fail_text("SHA2: the length must be 224, 256, 384 or 512")
    return let(
        lambda s, n: f"CASE WHEN {n} IS NULL THEN NULL {cases.format(s, n)} ELSE {wrong} END",
        args[0].sql,
        args[1].sql,
    )


# Not SQL's: which of so many buckets a value belongs to, for groups that are split.
scalar("$BUCKET", (ANY, INTEGER), never(DataTypes.INT), "pmod(hash({0}), {1})")

scalar("SHA2", (OCTETS, INTEGER), _sha2_type, render=_sha2)

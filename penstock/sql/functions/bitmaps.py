"""BITMAP: sets of 32-bit integers, kept in Roaring's portable byte format (see `roaring.py`)."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.common.datatypes import ArrayType, DataType, DataTypes, IntType
from penstock.common.function_types import BitmapType
from penstock.sql.functions.registry import ArgType
from penstock.sql.functions.rules import ARRAY, BINARY, Family, like, nullable, of, refuse, scalar
from penstock.sql.functions.text import udf

BITMAP = Family("BITMAP", (BitmapType,))


def _build_type(args: Sequence[ArgType]) -> DataType:
    array = args[0].type
    if isinstance(array, ArrayType) and not isinstance(array.element_type, IntType):
        raise refuse("BITMAP_BUILD", args, "BITMAP_BUILD(<ARRAY<INT>>)")
    return BitmapType(nullable(args))


scalar("BITMAP_BUILD", (ARRAY,), _build_type, lambda a: udf("bitmap_build", a), how="udf")
for _name in ("AND", "OR", "XOR", "ANDNOT"):
    scalar(
        f"BITMAP_{_name}",
        (BITMAP, BITMAP),
        like(0),
        lambda a, b, op=_name: udf("bitmap_combine", a, b, f"'{op}'"),  # type: ignore[misc]
        how="udf",
    )
scalar(
    "BITMAP_CARDINALITY", (BITMAP,), of(DataTypes.BIGINT), lambda a: udf("bitmap_cardinality", a), how="udf"
)
scalar(
    "BITMAP_TO_ARRAY",
    (BITMAP,),
    of(DataTypes.ARRAY, DataTypes.INT()),
    lambda a: udf("bitmap_to_array", a),
    how="udf",
)
scalar("BITMAP_TO_STRING", (BITMAP,), of(DataTypes.STRING), lambda a: udf("bitmap_to_string", a), how="udf")
scalar("BITMAP_TO_BYTES", (BITMAP,), of(DataTypes.BYTES), "({0})")
scalar(
    "BITMAP_FROM_BYTES",
    (BINARY,),
    lambda args: BitmapType(nullable(args)),
    lambda a: udf("bitmap_check", a),
    how="udf",
)

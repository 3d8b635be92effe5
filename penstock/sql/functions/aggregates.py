"""Aggregate functions as Spark aggregates, for bounded queries and OVER windows.

Whole numbers keep their type: SUM wraps around, AVG, STDDEV and VARIANCE cut towards zero. A decimal SUM has
38 digits, a decimal AVG at least six behind the point. NULLs are skipped by all but COUNT(*) and ARRAY_AGG.

An aggregate may be several Spark aggregates in one expression (AVG is a sum and a count), and each of
them needs the DISTINCT, FILTER or OVER of the call. `Calls` writes one such inner aggregate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from penstock.common.datatypes import (
    ArrayType,
    DataType,
    DataTypes,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    MapType,
    MultisetType,
    NullType,
    RowType,
)
from penstock.common.function_types import BitmapType
from penstock.sql.functions.bitmaps import BITMAP
from penstock.sql.functions.json import checked_json_value, json_argument
from penstock.sql.functions.registry import Arg, ArgType, FunctionDef, register
from penstock.sql.functions.rules import (
    ANY,
    BINARY,
    CHARACTER,
    DATETIME,
    INTEGER,
    INTERVAL,
    NUMERIC,
    Result,
    Signature,
    check,
    never,
    opt,
    refuse,
    rest,
)
from penstock.sql.functions.text import cast, fail_text, let, string, udf


@dataclass(frozen=True)
class Calls:
    """Writes inner aggregates with what was written behind the outer one."""

    distinct: bool = False
    condition: str | None = None
    window: str | None = None
    order_by: str | None = None

    @property
    def is_over(self) -> bool:
        return self.window is not None

    @property
    def suffix(self) -> str:
        if self.window is not None:
            return f" OVER ({self.window})"
        return f" FILTER (WHERE {self.condition})" if self.condition else ""

    def __call__(self, function: str, *args: str, distinct: bool | None = None) -> str:
        mark = "DISTINCT " if (self.distinct if distinct is None else distinct) else ""
        return f"{function}({mark}{', '.join(args)}){self.suffix}"


Write = Callable[[Sequence[Arg], DataType, Calls], str]


def aggregate(
    name: str, signature: Signature | list[Signature], result: Result, write: Write, *aliases: str
) -> None:
    """Registers an aggregate; `write` gives its text over inner aggregates."""
    alternatives = signature if isinstance(signature, list) else [signature]

    def infer(args: Sequence[ArgType]) -> DataType:
        check(name, alternatives, args)
        return result(args)

    def plain(
        args: Sequence[Arg], result: DataType, distinct: bool, filter_sql: str | None, order_by: str | None
    ) -> str:
        return write(args, result, Calls(distinct, filter_sql, order_by=order_by))

    def over(args: Sequence[Arg], result: DataType, window: str) -> str:
        return write(args, result, Calls(window=window))

    register(FunctionDef(name, "aggregate", infer, spark_aggregate=plain, spark_over=over), *aliases)


# --- counting and adding --------------------------------------------------------------------------------


def _count_type(args: Sequence[ArgType]) -> DataType:
    if len(args) > 1:
        raise refuse("COUNT", args, "COUNT(*)", "COUNT([DISTINCT] value)", why="it takes one value")
    return DataTypes.BIGINT(False)


aggregate(
    "COUNT",
    (rest(ANY),),
    _count_type,
    lambda args, result, call: call("count", *([_counted(a, call) for a in args] or ["*"])),
)


def _counted(arg: Arg, call: Calls) -> str:
    """What is counted; as different values 0.0 and -0.0 are two for Flink, but not for Spark."""
    if call.distinct and isinstance(arg.type, (FloatType, DoubleType)):
        return f"CAST({arg.sql} AS STRING)"
    return arg.sql


aggregate(
    "APPROX_COUNT_DISTINCT",
    [(CHARACTER,), (NUMERIC,), (DATETIME,)],
    never(DataTypes.BIGINT),
    lambda args, result, call: call("approx_count_distinct", args[0].sql, distinct=False),
)


def _sum_type(args: Sequence[ArgType]) -> DataType:
    source = args[0].type
    return DecimalType(38, source.scale) if isinstance(source, DecimalType) else source.nullable()


def _mean_type(args: Sequence[ArgType]) -> DataType:
    source = args[0].type
    return DecimalType(38, max(6, source.scale)) if isinstance(source, DecimalType) else source.nullable()


SAFE_DIGITS = 28
"""A sum of so many digits at most cannot leave 38 digits with fewer than ten billion rows."""

PRODUCT_TOO_LONG = "penstock: a product left 18 digits"
SUM_OVERFLOWED = "penstock: a sum left 38 digits"
"""What a query raises that has to be planned again with another way to add (`spark/decimal_sums.py`)."""


def _sum(args: Sequence[Arg], result: DataType, call: Calls) -> str:
    source = args[0].type
    if (
        isinstance(source, DecimalType)
        and isinstance(result, DecimalType)
        and source.precision > SAFE_DIGITS
        and args[0].unscaled is None
    ):
        return _wide_sum(args[0], result, call)
    return cast(_total(args[0], call), result)


def _total(arg: Arg, call: Calls) -> str:
    """The sum of an argument, exact if its type is. Two halves of 32 bits leave room for 2^31 rows.

    Most sums are whole numbers of 64 bits again and only lack their point: 10 million of them cost 3 s of CPU less.
    """
    whole = arg.unscaled
    if whole is None:
        return call("sum", arg.sql)
    assert isinstance(arg.type, DecimalType)
    if call.condition:
        # Inside, because Spark may compute a value that it then leaves out, and one too long fails.
        call, whole = Calls(), f"CASE WHEN {call.condition} THEN {whole} END"
    high, low = call("sum", f"shiftright({whole}, 32)"), call("sum", f"({whole}) & 4294967295L")
    point = f"{Decimal(1).scaleb(-arg.type.scale):f}BD"
    target = f"DECIMAL(38, {arg.type.scale})"
    short = f"CAST(try_add(try_multiply({high}, 4294967296L), {low}) AS DECIMAL(20, 0))"
    long = f"(CAST({high} AS DECIMAL(20, 0)) * 4294967296BD + CAST({low} AS DECIMAL(20, 0)))"
    return f"coalesce(CAST({short} * {point} AS {target}), CAST({long} * {point} AS {target}))"


def _wide_sum(arg: Arg, result: DecimalType, call: Calls) -> str:
    """Flink adds one by one: past 38 digits the sum is NULL, and the next value starts a new one.

    Where the absolute values stay below the limit, so does the sum in any order, and Spark's own is right.
    """
    target = f"DECIMAL({result.precision}, {result.scale})"
    if call.distinct or arg.one_by_one:
        values = call("collect_list", f"CAST({arg.sql} AS {target})")
        step = f"(a, v) -> CASE WHEN a IS NULL THEN v ELSE CAST(a + v AS {target}) END"
        return f"aggregate({values}, CAST(NULL AS {target}), {step})"
    reach = call("sum", f"abs(CAST({arg.sql} AS DOUBLE))")
    fits = f"coalesce({reach} < {0.999 * 10.0 ** (result.precision - result.scale)!r}D, TRUE)"
    overflowed = f"CAST(raise_error({string(SUM_OVERFLOWED)}) AS {target})"
    return f"if({fits}, {cast(call('sum', arg.sql), result)}, {overflowed})"


def _avg(args: Sequence[Arg], result: DataType, call: Calls) -> str:
    x = args[0].sql
    if isinstance(result, (FloatType, DoubleType)):
        return cast(call("avg", x), result)
    total, count = _total(args[0], call), call("count", x)
    if isinstance(result, IntegralType):
        return cast(f"({total} div {count})", result)
    return cast(f"(CAST({total} AS DECIMAL(38, {result.scale})) / {count})", result)  # type: ignore[attr-defined]


aggregate("SUM", (NUMERIC,), _sum_type, _sum)
aggregate("AVG", (NUMERIC,), _mean_type, _avg)


def _spread(function: str) -> Write:
    def write(args: Sequence[Arg], result: DataType, call: Calls) -> str:
        if call.is_over and isinstance(result, IntegralType):
            return cast(_whole_spread(function, f"CAST({args[0].sql} AS BIGINT)", call), result)
        return cast(call(function, f"CAST({args[0].sql} AS DOUBLE)"), result)

    return write


def _whole_spread(function: str, value: str, call: Calls) -> str:
    """Over a window Flink computes (sum of squares - square of sum / n) / n in whole numbers, each step cut."""
    count, total = call("count", value), call("sum", value)
    squares = call("sum", f"{value} * {value}")
    divisor = f"nullif({count} - 1, 0)" if function.endswith("_samp") else count
    variance = f"({squares} - {total} * {total} div {count}) div {divisor}"
    return f"sqrt({variance})" if function.startswith("stddev") else variance


aggregate("STDDEV_POP", (NUMERIC,), _mean_type, _spread("stddev_pop"))
aggregate("STDDEV_SAMP", (NUMERIC,), _mean_type, _spread("stddev_samp"), "STDDEV")
aggregate("VAR_POP", (NUMERIC,), _mean_type, _spread("var_pop"))
aggregate("VAR_SAMP", (NUMERIC,), _mean_type, _spread("var_samp"), "VARIANCE")

# --- choosing -------------------------------------------------------------------------------------------


_UNORDERED = (ArrayType, MapType, MultisetType, RowType, *INTERVAL.classes)


def _ordered(name: str) -> Result:
    def result(args: Sequence[ArgType]) -> DataType:
        if BINARY.has(args[0].type) or isinstance(args[0].type, _UNORDERED):
            raise refuse(name, args, f"{name}(<COMPARABLE>)", why="these values have no order")
        return args[0].type.nullable()

    return result


def _chosen(function: str, *more: str) -> Write:
    return lambda args, result, call: call(function, args[0].sql, *more, distinct=False)


def _extreme(function: str) -> Write:
    """NaN is neither greater nor smaller than anything: it is the answer if it comes first, and then for good."""

    def write(args: Sequence[Arg], result: DataType, call: Calls) -> str:
        x = args[0].sql
        if not isinstance(result, (FloatType, DoubleType)):
            return call(function, x, distinct=False)
        first = call("first_value", x, "TRUE", distinct=False)
        best = call(function, f"CASE WHEN NOT isnan({x}) THEN {x} END", distinct=False)
        return f"if(isnan({first}), {first}, {best})"

    return write


for _name in ("MAX", "MIN"):
    aggregate(_name, (ANY,), _ordered(_name), _extreme(_name.lower()))
for _name in ("FIRST_VALUE", "LAST_VALUE"):
    aggregate(_name, (ANY,), lambda args: args[0].type.nullable(), _chosen(_name.lower(), "TRUE"))


def _single_value(args: Sequence[Arg], result: DataType, call: Calls) -> str:
    message = fail_text("SingleValueAggFunction received more than one element.")
    rows, value = call("count", "*", distinct=False), call("first_value", args[0].sql, distinct=False)
    return f"if({rows} > 1, {message}, {value})"


aggregate("SINGLE_VALUE", (ANY,), lambda args: args[0].type.nullable(), _single_value)

# --- collecting -----------------------------------------------------------------------------------------


def _collect(args: Sequence[Arg], result: DataType, call: Calls) -> str:
    counted = "size(filter({0}, y -> y = e))"
    return let(
        lambda l: (
            f"map_from_arrays(array_distinct({l}), transform(array_distinct({l}), e -> {counted.format(l)}))"
        ),
        call("collect_list", args[0].sql),
    )


def _listagg(args: Sequence[Arg], result: DataType, call: Calls) -> str:
    separator = args[1].sql if len(args) > 1 else "','"
    if call.suffix.startswith(" OVER"):
        return let(
            lambda l: f"if(size({l}) = 0, NULL, array_join({l}, {separator}))",
            call("collect_list", args[0].sql),
        )
    mark = "DISTINCT " if call.distinct else ""
    order = f" WITHIN GROUP (ORDER BY {call.order_by})" if call.order_by else ""
    return f"listagg({mark}{args[0].sql}, {separator}){order}{call.suffix}"


def _array_agg(args: Sequence[Arg], result: DataType, call: Calls) -> str:
    if len(args) > 1 and args[1].literal == "IGNORE NULLS":
        listed = call("collect_list", args[0].sql)
    else:
        rows = call("collect_list", f"named_struct('x', {args[0].sql})")
        listed = f"transform({rows}, e -> e.x)"
    return let(lambda l: f"if(size({l}) = 0, NULL, {l})", listed)


aggregate("COLLECT", (ANY,), lambda args: MultisetType(args[0].type, nullable=False), _collect)
aggregate("LISTAGG", (CHARACTER, opt(CHARACTER)), lambda args: DataTypes.STRING(), _listagg)
aggregate("ARRAY_AGG", (ANY, opt(ANY)), lambda args: ArrayType(args[0].type), _array_agg)


def _on_null(args: Sequence[Arg], at: int, default: str) -> str:
    given = args[at].literal if len(args) > at else default
    return string(str(given))


def _json_arrayagg(args: Sequence[Arg], result: DataType, call: Calls) -> str:
    value, raw = json_argument(args[0])
    rows = call("collect_list", f"named_struct('x', {value})")
    return udf("json_array_of", rows, _on_null(args, 1, "ABSENT"), raw)


def _json_objectagg(args: Sequence[Arg], result: DataType, call: Calls) -> str:
    value, raw = json_argument(args[1])
    rows = call("collect_list", f"named_struct('k', {args[0].sql}, 'x', {value})")
    return udf("json_object_of", rows, _on_null(args, 2, "NULL"), raw)


def _json_result(index: int) -> Result:
    def result(args: Sequence[ArgType]) -> DataType:
        checked_json_value("JSON_ARRAYAGG" if index == 0 else "JSON_OBJECTAGG", args[index])
        return DataTypes.VARCHAR(2000, False)

    return result


aggregate("JSON_ARRAYAGG", (ANY, opt(ANY)), _json_result(0), _json_arrayagg)
aggregate("JSON_OBJECTAGG", (CHARACTER, ANY, opt(ANY)), _json_result(1), _json_objectagg)

# --- percentiles and bitmaps ----------------------------------------------------------------------------


def _percentile_type(args: Sequence[ArgType]) -> DataType:
    if isinstance(args[1].type, ArrayType):
        return ArrayType(DataTypes.DOUBLE())
    if not isinstance(args[1].type, (IntegralType, DecimalType, DoubleType, FloatType, NullType)):
        raise refuse("PERCENTILE", args, "PERCENTILE(<NUMERIC>, <NUMERIC or ARRAY>[, <INTEGER>])")
    return DataTypes.DOUBLE()


def _percentile(args: Sequence[Arg], result: DataType, call: Calls) -> str:
    share = "ARRAY<DOUBLE>" if isinstance(args[1].type, ArrayType) else "DOUBLE"
    frequency = [f"CAST({a.sql} AS BIGINT)" for a in args[2:]]
    return call("percentile", f"CAST({args[0].sql} AS DOUBLE)", f"CAST({args[1].sql} AS {share})", *frequency)


aggregate("PERCENTILE", (NUMERIC, ANY, opt(INTEGER)), _percentile_type, _percentile)


def _bitmap_of(operator: str, cardinality: bool) -> Write:
    def write(args: Sequence[Arg], result: DataType, call: Calls) -> str:
        made = udf("bitmap_of_all", call("collect_list", args[0].sql), f"'{operator}'")
        if operator == "BUILD":
            made = udf("bitmap_of_numbers", call("collect_list", args[0].sql))
        return udf("bitmap_cardinality", made) if cardinality else made

    return write


for _operator, _family in (("BUILD", INTEGER), ("AND", BITMAP), ("OR", BITMAP), ("XOR", BITMAP)):
    aggregate(f"BITMAP_{_operator}_AGG", (_family,), lambda args: BitmapType(), _bitmap_of(_operator, False))
    aggregate(
        f"BITMAP_{_operator}_CARDINALITY_AGG",
        (_family,),
        lambda args: DataTypes.BIGINT(),
        _bitmap_of(_operator, True),
    )

# --- grouping sets --------------------------------------------------------------------------------------


def _grouping(args: Sequence[Arg], result: DataType, call: Calls) -> str:
    bits = [f"(CAST(grouping({a.sql}) AS BIGINT) << {len(args) - 1 - i})" for i, a in enumerate(args)]
    return bits[0] if len(bits) == 1 else f"({' | '.join(bits)})"


aggregate("GROUPING", (ANY, rest(ANY)), never(DataTypes.BIGINT), _grouping, "GROUPING_ID")
aggregate("GROUP_ID", (), never(DataTypes.BIGINT), lambda args, result, call: "0L")

__all__ = ["Calls", "aggregate"]

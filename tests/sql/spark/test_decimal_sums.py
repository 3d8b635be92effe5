"""Sums of decimals are exact however they are added: as whole numbers, as Spark's decimals, one by one."""

from __future__ import annotations

import random
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any
from unittest.mock import Mock

import pytest

from penstock.common.datatypes import DataTypes
from penstock.common.errors import JobExecutionError
from penstock.sql.functions.aggregates import PRODUCT_TOO_LONG, SUM_OVERFLOWED
from penstock.sql.plan.algebra import Aggregate, Field, Project, Values
from penstock.sql.plan.rex import AggCall, Call, Const, InputRef, Rex, SubqueryRex
from penstock.sql.spark.batch import BatchExecutor
from penstock.sql.spark.decimal_sums import Summand, Sums, decimal_sums, way_after
from penstock.sql.spark.unscaled import has_unscaled_form, unscaled_text
from penstock.table import EnvironmentSettings, TableEnvironment

MONEY, RATE = DataTypes.DECIMAL(12, 2), DataTypes.DECIMAL(4, 3)
PRICE, PART, COUNT = InputRef(MONEY, 0), InputRef(RATE, 1), InputRef(DataTypes.INT(), 2)
ONE = Const(DataTypes.INT(), 1)


def text(rex: Rex) -> str:
    if isinstance(rex, InputRef):
        return f"c{rex.index}"
    assert isinstance(rex, Call) and rex.name == ">"
    return "c0 > 0"


def whole(rex: Rex) -> str | None:
    return unscaled_text(rex, text) if has_unscaled_form(rex) else None


def decimal(precision: int, scale: int, name: str, *args: Rex) -> Call:
    return Call(DataTypes.DECIMAL(precision, scale), name, args)


def test_columns_lose_their_point_and_other_scales_are_brought_to_one() -> None:
    assert whole(PRICE) == "unscaled_value(CAST(c0 AS DECIMAL(12, 2)))"
    difference = whole(decimal(14, 3, "-", PRICE, PART))
    assert difference == (
        "((unscaled_value(CAST(c0 AS DECIMAL(12, 2))) * 10L) - unscaled_value(CAST(c1 AS DECIMAL(4, 3))))"
    )
    assert whole(decimal(15, 3, "*", COUNT, PART)) == (
        "(CAST(c2 AS BIGINT) * unscaled_value(CAST(c1 AS DECIMAL(4, 3))))"
    )


def test_only_a_product_that_may_not_fit_is_checked() -> None:
    narrow = whole(decimal(17, 5, "*", PRICE, PART))
    assert narrow is not None and PRODUCT_TOO_LONG not in narrow
    wide = whole(decimal(25, 4, "*", PRICE, PRICE))
    assert wide is not None and wide.startswith("coalesce(try_multiply(") and PRODUCT_TOO_LONG in wide


@pytest.mark.parametrize(
    "rex",
    [
        InputRef(DataTypes.DECIMAL(20, 2), 0),
        InputRef(DataTypes.DECIMAL(18, 8), 0),
        InputRef(DataTypes.BIGINT(), 0),
        InputRef(DataTypes.DOUBLE(), 0),
        decimal(38, 6, "*", decimal(34, 6, "*", PRICE, PART), decimal(34, 6, "*", PRICE, PART)),
        decimal(20, 2, "+", InputRef(DataTypes.DECIMAL(18, 2), 0), ONE),
        decimal(38, 12, "/", PRICE, PART),
        Call(MONEY, "ROUND", (PRICE, Const(DataTypes.INT(), 1))),
        Call(MONEY, "CASE", (Call(DataTypes.BOOLEAN(), "RAND", ()), PRICE, ONE)),
    ],
)
def test_what_may_not_fit_or_is_rounded_or_differs_every_time_stays_a_decimal(rex: Rex) -> None:
    assert whole(rex) is None


def test_branches_have_the_scale_of_the_result() -> None:
    condition = Call(DataTypes.BOOLEAN(), ">", (PRICE, ONE))
    null = Const(DataTypes.NULL(), None)
    assert whole(decimal(12, 2, "CASE", condition, PRICE, ONE)) == (
        "CASE WHEN c0 > 0 THEN unscaled_value(CAST(c0 AS DECIMAL(12, 2))) ELSE ((1L) * 100L) END"
    )
    assert "ELSE (CAST(NULL AS BIGINT) * 100L) END" in str(
        whole(decimal(12, 2, "CASE", condition, PRICE, null))
    )


def test_constants_do_not_depend_on_the_precision_of_the_program() -> None:
    with localcontext() as context:
        context.prec = 2
        factor = Const(DataTypes.DECIMAL(6, 3), Decimal("-123.456"))
        assert "(-123456L)" in str(whole(decimal(19, 5, "*", PRICE, factor)))


def test_branches_within_branches_stay_short_or_stay_decimals() -> None:
    condition = Call(DataTypes.BOOLEAN(), ">", (PRICE, ONE))
    rex: Rex = PRICE
    for _ in range(12):
        rex = decimal(38, 2, "CASE", condition, decimal(38, 2, "*", rex, COUNT), ONE)
    assert whole(rex) is None


# --- the rule -------------------------------------------------------------------------------------------


def summed(*calls: AggCall) -> Aggregate:
    kinds = (MONEY, RATE, DataTypes.INT(), DataTypes.DECIMAL(38, 2))
    fields = tuple(Field(f"f{i}", kind) for i, kind in enumerate(kinds))
    return Aggregate((), Values(fields, ()), (), calls)


def call(name: str, value: Rex, **more: Any) -> AggCall:
    return AggCall(DataTypes.DECIMAL(38, 2), name, (value,), **more)


WIDE = InputRef(DataTypes.DECIMAL(38, 2), 3)


def test_the_rule_marks_the_sums_that_fit_a_long() -> None:
    plan = summed(
        call("SUM", PRICE),
        call("AVG", PRICE),
        call("MAX", PRICE),
        call("SUM", PRICE, distinct=True),
        call("SUM", COUNT),
        call("SUM", WIDE),
        call("SUM", PRICE, function="a user's own"),
    )
    marked = decimal_sums(plan, Sums.LONGS)
    assert isinstance(marked, Aggregate)
    longs = Summand(MONEY, PRICE, Sums.LONGS)
    assert [c.args[0] for c in marked.calls] == [longs, longs, PRICE, PRICE, COUNT, WIDE, PRICE]


def test_one_by_one_the_rule_marks_only_wide_sums() -> None:
    plan = summed(call("SUM", PRICE), call("SUM", WIDE), call("AVG", WIDE))
    marked = decimal_sums(plan, Sums.ONE_BY_ONE)
    assert isinstance(marked, Aggregate)
    assert [c.args[0] for c in marked.calls] == [PRICE, Summand(WIDE.type, WIDE, Sums.ONE_BY_ONE), WIDE]


def test_a_plan_without_such_sums_stays_itself() -> None:
    plan = summed(call("MAX", PRICE))
    assert decimal_sums(plan, Sums.LONGS) is plan
    plan = summed(call("SUM", PRICE))
    assert decimal_sums(plan, Sums.DECIMALS) is plan


def test_sums_in_subqueries_are_marked_too() -> None:
    inner = SubqueryRex(MONEY, "scalar", summed(call("SUM", PRICE)))
    outer = Project((Field("x", MONEY),), Values((), ((),)), (inner,))
    marked = decimal_sums(outer, Sums.LONGS)
    assert isinstance(marked, Project) and isinstance(marked.exprs[0], SubqueryRex)
    assert marked.exprs[0].plan == decimal_sums(inner.plan, Sums.LONGS) != inner.plan


def test_a_condition_leads_to_a_slower_way_only() -> None:
    assert way_after(PRODUCT_TOO_LONG, Sums.LONGS) is Sums.DECIMALS
    assert way_after(SUM_OVERFLOWED, Sums.LONGS) is Sums.ONE_BY_ONE
    assert way_after(SUM_OVERFLOWED, Sums.DECIMALS) is Sums.ONE_BY_ONE
    assert way_after(PRODUCT_TOO_LONG, Sums.DECIMALS) is None
    assert way_after(f"an error about: {SUM_OVERFLOWED}", Sums.LONGS) is None
    assert way_after(None, Sums.LONGS) is None


# --- on Spark -------------------------------------------------------------------------------------------


def literal(value: Any, kind: str) -> str:
    return f"CAST(NULL AS {kind})" if value is None else f"CAST('{value}' AS {kind})"


def table(rows: list[tuple[Any, ...]], kinds: tuple[str, ...], names: str) -> str:
    lines = [f"({', '.join(literal(v, kind) for v, kind in zip(row, kinds, strict=True))})" for row in rows]
    return f"(VALUES {', '.join(lines)}) AS t ({names})"


def answer(sql: str) -> list[tuple[Any, ...]]:
    env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    with env.execute_sql(sql).collect() as found:
        return [tuple(row) for row in found]


@pytest.mark.spark
def test_sums_and_averages_are_those_of_exact_numbers() -> None:
    dice = random.Random(7)

    def maybe(value: Any) -> Any:
        return None if dice.random() < 0.2 else value

    rows = [
        (
            dice.choice("ab"),
            maybe(Decimal(dice.randrange(-(10**12), 10**12)).scaleb(-2)),
            maybe(Decimal(dice.randrange(0, 1000)).scaleb(-3)),
            maybe(dice.randrange(-50, 50)),
        )
        for _ in range(40)
    ]
    source = table(rows, ("CHAR(1)", "DECIMAL(12, 2)", "DECIMAL(4, 3)", "INT"), "k, price, rate, n")
    found = answer(f"""
        SELECT k, SUM(price), SUM(price * (1 - rate)), SUM(price - rate), SUM(n * price), AVG(price),
            SUM(price) FILTER (WHERE n > 0), SUM(CASE WHEN n > 0 THEN price * rate ELSE 0 END),
            SUM(CASE WHEN n > 0 THEN price END), SUM(DISTINCT price), COUNT(price)
        FROM {source} GROUP BY k ORDER BY k""")

    def total(values: list[Decimal | None]) -> Decimal:
        return sum((value for value in values if value is not None), Decimal(0))

    for key, *actual in found:
        mine = [row for row in rows if row[0] == key]
        prices = [price for _, price, _, _ in mine if price is not None]
        both = [(p, r) for _, p, r, _ in mine if p is not None and r is not None]
        expected = [
            total(prices),
            total([p * (1 - r) for p, r in both]),
            total([p - r for p, r in both]),
            total([n * p for _, p, _, n in mine if n is not None and p is not None]),
            (total(prices) / len(prices)).quantize(Decimal("0.000001"), ROUND_HALF_UP),
            total([p for _, p, _, n in mine if n is not None and n > 0]),
            total(
                [p * r for _, p, r, n in mine if n is not None and n > 0 and p is not None and r is not None]
            ),
            total([p for _, p, _, n in mine if n is not None and n > 0]),
            total(list(set(prices))),
            len(prices),
        ]
        assert actual == expected
        assert actual[1].as_tuple().exponent == -5


@pytest.mark.spark
def test_products_that_leave_a_long_are_added_as_decimals() -> None:
    rows = [("9999999999.99", "9999999999.99"), ("-0.01", "9999999999.99"), (None, "1.00")]
    source = table(rows, ("DECIMAL(12, 2)", "DECIMAL(12, 2)"), "a, b")
    exact = [Decimal(a) * Decimal(b) for a, b in rows if a is not None]
    assert answer(f"SELECT SUM(a * b), SUM(a * b * 0) FROM {source}") == [(sum(exact), Decimal(0))]


@pytest.mark.spark
def test_a_product_that_a_filter_leaves_out_does_not_make_the_query_run_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = []
    run = BatchExecutor.data_frame

    def counted(self: BatchExecutor, plan: Any, way: Sums = Sums.LONGS) -> Any:
        runs.append(way)
        return run(self, plan, way)

    monkeypatch.setattr(BatchExecutor, "data_frame", counted)
    rows = [("9999999999.99", "9999999999.99"), ("2.00", "3.00")]
    source = table(rows, ("DECIMAL(12, 2)", "DECIMAL(12, 2)"), "a, b")
    assert answer(f"SELECT SUM(a * b) FILTER (WHERE b < 5) FROM {source}") == [(Decimal("6.0000"),)]
    assert runs == [Sums.LONGS]
    assert answer(f"SELECT SUM(a * b) FROM {source} WHERE b > 5") == [(Decimal("9999999999.99") ** 2,)]
    assert runs == [Sums.LONGS, Sums.LONGS, Sums.DECIMALS]


@pytest.mark.spark
@pytest.mark.parametrize("scale", range(7))
def test_sums_beyond_a_long_are_exact(scale: int) -> None:
    dice = random.Random(scale)
    numbers = [Decimal(dice.randrange(-(10**17), 10**18)).scaleb(-scale) for _ in range(30)]
    source = table([(n,) for n in numbers], (f"DECIMAL(18, {scale})",), "a")
    ((found,),) = answer(f"SELECT SUM(a) FROM {source}")
    assert found == sum(numbers)
    assert found.scaleb(scale) > 2**63
    assert found.as_tuple().exponent == -scale


@pytest.mark.spark
def test_a_sum_of_nothing_is_null() -> None:
    source = table([(None, None)], ("DECIMAL(12, 2)", "DECIMAL(12, 2)"), "a, b")
    assert answer(f"SELECT SUM(a), SUM(a * b), AVG(a) FROM {source}") == [(None, None, None)]
    assert answer(f"SELECT SUM(a), AVG(a * b) FROM {source} WHERE a > 0") == [(None, None)]


@pytest.mark.spark
def test_a_sum_that_leaves_38_digits_is_null_and_starts_anew_as_in_flink() -> None:
    most = "9" * 38
    source = table([(most,), (most,), ("7",)], ("DECIMAL(38, 0)",), "a")
    assert answer(f"SELECT SUM(a), COUNT(*) FROM {source}") == [(Decimal(7), 3)]
    assert answer(f"SELECT (SELECT SUM(a) FROM {source})") == [(Decimal(7),)]


@pytest.mark.spark
def test_an_error_that_only_speaks_of_long_products_does_not_make_the_query_run_again() -> None:
    failing = Mock(side_effect=RuntimeError(PRODUCT_TOO_LONG))
    executor = BatchExecutor({})
    plan = summed(call("SUM", PRICE))
    with pytest.raises(JobExecutionError):
        executor._run(plan, failing)
    assert failing.call_count == 1

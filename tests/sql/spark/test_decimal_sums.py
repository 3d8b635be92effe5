"""Sums of decimals are exact however they are added: as whole numbers, as Spark's decimals, one by one."""

from __future__ import annotations

import random
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import pytest

from penstock.common.datatypes import DataTypes
from penstock.sql.functions.aggregates import PRODUCT_TOO_LONG
from penstock.sql.plan.rex import Call, Const, InputRef, Rex
from penstock.sql.spark.batch import BatchExecutor
from penstock.sql.spark.unscaled import unscaled_text
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
    return unscaled_text(rex, text)


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

    def counted(self: BatchExecutor, plan: Any) -> Any:
        runs.append(plan)
        return run(self, plan)

    monkeypatch.setattr(BatchExecutor, "data_frame", counted)
    rows = [("9999999999.99", "9999999999.99"), ("2.00", "3.00")]
    source = table(rows, ("DECIMAL(12, 2)", "DECIMAL(12, 2)"), "a, b")
    assert answer(f"SELECT SUM(a * b) FILTER (WHERE b < 5) FROM {source}") == [(Decimal("6.0000"),)]
    assert len(runs) == 1
    assert answer(f"SELECT SUM(a * b) FROM {source} WHERE b > 5") == [(Decimal("9999999999.99") ** 2,)]
    assert len(runs) == 3


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

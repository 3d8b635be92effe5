"""Numbers of any length in state, read into columns that have a length."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from penstock.common import Types
from penstock.common.errors import StateError, ValidationError
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.state import MapStateDescriptor, ValueStateDescriptor
from penstock.state_processor import SavepointReader
from penstock.state_processor.columns import Batches, Decimals, columns_of
from penstock.table import EnvironmentSettings, TableEnvironment
from tests.connectors.scripted import in_this_process
from tests.state_processor.conftest import numbers, savepoint_of

FITS = [
    Decimal("1.50"),
    Decimal("-0.000000000000000001"),
    Decimal("1E+3"),
    Decimal("2.0000000000000000000000"),
]
LONG, FINE = Decimal("12345678901234567890123.5"), Decimal("0.1234567890123456789012")


# --- columns ------------------------------------------------------------------------------------------------


def read(type_info: Any, value: Any, decimals: Decimals = Decimals.DECIMAL) -> Any:
    batches = Batches(columns_of("value", type_info, decimals), "operator 'o', state 's'")
    (batch,) = batches.of([[value]])
    return batch.column(0)[0].as_py()


@pytest.mark.parametrize("value", FITS)
def test_a_decimal_that_fits_is_the_same_number(value: Decimal) -> None:
    assert read(Types.BIG_DEC(), value) == value


@pytest.mark.parametrize("value", [LONG, FINE, Decimal("NaN"), Decimal("1E+1000")])
def test_a_decimal_that_does_not_fit_is_named_and_never_rounded(value: Decimal) -> None:
    with pytest.raises(StateError) as caught:
        read(Types.BIG_DEC(), value)
    assert caught.value.what == f"{value} does not fit into DECIMAL(38, 18)"
    assert caught.value.where == "operator 'o', state 's', column 'value'"
    assert "decimals='string'" in str(caught.value) and "'penstock.state.decimals'" in str(caught.value)
    assert read(Types.BIG_DEC(), value, Decimals.STRING) == f"{value:f}"


def test_integers_of_more_than_38_digits_are_refused_or_texts() -> None:
    assert read(Types.BIG_INT(), 10**38 - 1) == 10**38 - 1
    with pytest.raises(StateError, match=r"does not fit into DECIMAL\(38, 0\)"):
        read(Types.BIG_INT(), 10**38)
    assert read(Types.BIG_INT(), -(10**40), Decimals.STRING) == "-1" + "0" * 40


def test_decimals_inside_other_values_are_texts_too() -> None:
    type_info = Types.TUPLE([Types.LIST(Types.BIG_DEC()), Types.MAP(Types.BIG_INT(), Types.BIG_DEC())])
    value = ([LONG, None], {7: FINE})
    assert read(type_info, value, Decimals.STRING) == {"f0": [str(LONG), None], "f1": [("7", str(FINE))]}
    with pytest.raises(StateError, match=str(LONG)):
        read(type_info, value)


def test_a_way_to_read_decimals_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValidationError, match="cannot be read as 'float'"):
        Decimals.of("float")


# --- savepoints ---------------------------------------------------------------------------------------------


class Amounts(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.small = runtime_context.get_state(ValueStateDescriptor("small", Types.BIG_DEC()))
        self.m = runtime_context.get_map_state(MapStateDescriptor("m", Types.STRING(), Types.BIG_DEC()))

    def process_element(self, value: int, ctx: Any) -> Any:
        self.small.update(Decimal("0.5"))
        self.m.put("long", LONG)
        self.m.put("fine", FINE)
        yield value


@pytest.fixture(scope="module")
def accounts(tmp_path_factory: Any) -> str:
    stream = numbers(StreamExecutionEnvironment.get_execution_environment())
    keyed = stream.key_by(lambda n: 7, key_type=Types.LONG()).process(Amounts(), Types.LONG())
    folder: pathlib.Path = tmp_path_factory.mktemp("accounts")
    return savepoint_of(keyed.set_parallelism(1).uid("accounts"), folder, 20, {})


def names_everything(text: str) -> bool:
    where = "operator 'accounts', state 'm', key 7, column 'value'"
    return f"{FINE} does not fit into DECIMAL(38, 18)" in text and where in text


@pytest.mark.spark
def test_a_frame_has_decimals_or_all_digits(spark: Any, accounts: str) -> None:
    reader = SavepointReader.read(spark, accounts)
    small = reader.read_keyed_state("accounts", "small")
    assert dict(small.dtypes)["value"] == "decimal(38,18)"
    assert [row.value for row in small.collect()] == [Decimal("0.5")]
    with pytest.raises(Exception, match="does not fit") as caught:
        reader.read_keyed_state("accounts", "m").collect()
    assert names_everything(str(caught.value))
    exact = SavepointReader.read(spark, accounts, decimals="string").read_keyed_state("accounts", "m")
    assert dict(exact.dtypes)["value"] == "string"
    assert {r.map_key: Decimal(r.value) for r in exact.collect()} == {"long": LONG, "fine": FINE}


@pytest.fixture
def ask(accounts: str) -> Callable[..., list[Any]]:
    def asked(state: str, columns: str, **settings: str) -> list[Any]:
        env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        for key, value in settings.items():
            env.execute_sql(f"SET '{key}' = '{value}'")
        query = f"SELECT {columns} FROM penstock_state('{accounts}', 'accounts', '{state}')"
        with in_this_process():
            return sorted(tuple(row) for row in env.execute_sql(query).collect())

    return asked


def test_a_query_has_decimals_or_all_digits(ask: Callable[..., list[Any]]) -> None:
    assert ask("small", "`value` + 1") == [(Decimal("1.5"),)]
    with pytest.raises(StateError) as caught:
        ask("m", "map_key, `value`")
    assert names_everything(str(caught.value))
    exact = ask("m", "map_key, `value`", **{"penstock.state.decimals": "string"})
    assert exact == [("fine", str(FINE)), ("long", str(LONG))]

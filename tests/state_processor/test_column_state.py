"""State that SQL operators keep in columns: as DataFrames, in SQL and on the command line."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from penstock.checkpoint.column_state import ColumnStateView
from penstock.checkpoint.contents import open_contents
from penstock.cli.main import app
from penstock.common import Types
from penstock.common.errors import CheckpointError, ValidationError
from penstock.sql.state_relation import state_relation
from penstock.state.schema import StateSchema
from penstock.state_processor import SavepointReader
from penstock.table import EnvironmentSettings, TableEnvironment
from penstock.testing import PAUSE
from tests.connectors.scripted import in_this_process, play
from tests.runtime.in_process import StopAt

ORDERS = [(1, 10, 5), (2, 20, 6), (2, 20, 6), PAUSE, (3, 10, 7), PAUSE, PAUSE, PAUSE, PAUSE]
CUSTOMERS = [(10, "a"), (20, "b"), (30, "c")]
WITH = "WITH ('connector' = 'scripted', 'script' = '{}')"
TOTALS = """
    SELECT c.name, SUM(o.amount), AVG(o.amount), COUNT(*), COUNT(DISTINCT o.id)
    FROM orders o JOIN customers c ON o.customer = c.id GROUP BY c.name"""
TOTAL = "name STRING, total INT, mean INT, n BIGINT, ids BIGINT"
LARGEST = """
    SELECT * FROM (
        SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY amount DESC) AS n FROM orders
    ) WHERE n <= 2"""


def savepoint_of(
    query: str, columns: str, folder: Any, orders: Any = ORDERS, timed: Any = (), **settings: str
) -> str:
    """Runs a query without Spark until it has read what there is, and stops it with a savepoint."""
    play("orders", [orders])
    play("timed", [timed])
    play("customers", [CUSTOMERS])
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in {"parallelism.default": "2", **settings}.items():
        env.get_config().set(key, value)
    env.execute_sql(f"CREATE TABLE orders (id INT, customer INT, amount INT) {WITH.format('orders')}")
    env.execute_sql(f"CREATE TABLE customers (id INT, name STRING) {WITH.format('customers')}")
    time = "ts TIMESTAMP(3), WATERMARK FOR ts AS ts"
    env.execute_sql(f"CREATE TABLE timed (k STRING, v INT, {time}) {WITH.format('timed')}")
    env.execute_sql(f"CREATE TABLE nowhere ({columns}) WITH ('connector' = 'blackhole')")
    stop = StopAt((timed or orders).count(PAUSE) - 1)
    with in_this_process(stop):
        job = env.execute_sql(f"INSERT INTO nowhere {query}").get_running_job()
        assert job is not None
        return stop.stop(job, folder)


@pytest.fixture(scope="module")
def totals(tmp_path_factory: Any) -> str:
    return savepoint_of(TOTALS, TOTAL, tmp_path_factory.mktemp("totals"))


@pytest.fixture(scope="module")
def largest(tmp_path_factory: Any) -> str:
    columns = "id INT, customer INT, amount INT, n BIGINT"
    return savepoint_of(LARGEST, columns, tmp_path_factory.mktemp("largest"))


@pytest.fixture
def before_names(tmp_path: Any, monkeypatch: Any) -> Iterator[str]:
    """A savepoint from before names of columns were kept with the state."""
    with monkeypatch.context() as patch:
        patch.setattr(StateSchema, "encode", _as_before)
        path = savepoint_of(TOTALS, TOTAL, tmp_path)
    yield path


def _as_before(schema: StateSchema) -> bytes:
    return msgspec.json.encode(msgspec.structs.replace(schema, columns=(), newest_by=None))


def uid_of(path: str, kind: str) -> str:
    (uid,) = (uid for uid, op in open_contents(path).operators.items() if op.checkpoint.name.startswith(kind))
    return uid


def rows_of(path: str, kind: str, state: str) -> tuple[list[str], list[Any]]:
    view = ColumnStateView(open_contents(path).operator(uid_of(path, kind)), state)
    tables = [table for share in view.shares if (table := view.table(share)) is not None]
    rows = [tuple(row.values()) for table in tables for row in table.to_pylist()]
    return tables[0].column_names, sorted(rows)


# --- what is there ------------------------------------------------------------------------------------------


def test_rows_of_a_join_have_the_names_of_the_query(totals: str) -> None:
    names, rows = rows_of(totals, "Join", "left")
    assert names == ["id", "customer", "amount"]
    assert rows == [(1, 10, 5), (2, 20, 6), (2, 20, 6), (3, 10, 7)]
    assert rows_of(totals, "Join", "right") == (["id", "name"], [(10, "a"), (20, "b"), (30, "c")])


def test_leading_rows_have_the_number_of_their_arrival(largest: str) -> None:
    names, rows = rows_of(largest, "Rank", "leaders")
    assert names == ["id", "customer", "amount", "arrival"]
    assert [row[:3] for row in rows] == [(1, 10, 5), (2, 20, 6), (2, 20, 6), (3, 10, 7)]


def test_groups_are_their_keys_and_partial_results_once_each(totals: str) -> None:
    names, rows = rows_of(totals, "Aggregate", "groups")
    assert names == [
        "name",
        "sum_amount",
        "sum_amount0",
        "count_amount",
        "count",
        "rows",
        "count_distinct_id",
    ]
    assert rows == [("a", 12, 12, 2, 2, 2, 2), ("b", 12, 12, 2, 2, 2, 1)]


def test_values_that_were_counted_are_there(totals: str) -> None:
    (seen,) = (
        schema.name
        for schema in open_contents(totals).operator(uid_of(totals, "Aggregate")).schemas().values()
        if schema.name.endswith("-seen")
    )
    assert rows_of(totals, "Aggregate", seen) == (
        ["name", "id", "calls"],
        [("a", 1, 1), ("a", 3, 1), ("b", 2, 1)],
    )


WINDOWED = "SELECT k, SUM(v) FROM TABLE({}) GROUP BY k, window_start, window_end"
BY_TIME = {
    "pieces": WINDOWED.format("TUMBLE(TABLE timed, DESCRIPTOR(ts), INTERVAL '1' HOUR)"),
    "sessions": WINDOWED.format("SESSION(TABLE timed PARTITION BY k, DESCRIPTOR(ts), INTERVAL '1' HOUR)"),
    "results": "SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY ts) FROM timed",
    "left": """SELECT a.k, b.v FROM timed a JOIN timed b
        ON a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL '1' HOUR AND b.ts""",
}
COLUMNS = {
    "pieces": ["k", "end", "first", "sum_v", "rows", "batch"],
    "sessions": ["k", "sum_v", "rows", "start", "end", "epoch", "batch"],
    "results": ["k", "sum_v", "rows"],
    "left": ["k", "ts"],
}


@pytest.mark.parametrize("state", BY_TIME)
def test_operators_over_time_have_names_too(state: str, tmp_path: Any) -> None:
    moments = [dt.datetime(2026, 1, 1, 8, minute) for minute in (0, 1, 2)]
    timed = [("a", 1, moments[0]), ("a", 2, moments[1]), PAUSE, ("b", 3, moments[2]), *[PAUSE] * 4]
    path = savepoint_of(BY_TIME[state], "k STRING, v INT", tmp_path, timed=timed)
    (uid,) = (u for u, op in open_contents(path).operators.items() if state.encode() in op.schemas())
    view = ColumnStateView(open_contents(path).operator(uid), state)
    assert view.schema is not None and view.schema.names == COLUMNS[state]
    tables = [table for share in view.shares if (table := view.table(share)) is not None]
    assert {key for table in tables for key in table.column("k").to_pylist()} == {"a", "b"}


def test_a_savepoint_without_names_has_numbered_columns(before_names: str) -> None:
    names, rows = rows_of(before_names, "Join", "left")
    assert names == ["c0", "c1", "c2"] and len(rows) == 4
    names, rows = rows_of(before_names, "Aggregate", "groups")
    assert names == ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "batch"]
    newest = {row[0]: row[1] for row in sorted(rows, key=lambda row: row[-1])}
    assert newest == {"a": 12, "b": 12}


def test_a_job_goes_on_from_a_savepoint_without_names(before_names: str, tmp_path: Any) -> None:
    more = [*ORDERS, (4, 10, 100), *[PAUSE] * 5]
    path = savepoint_of(TOTALS, TOTAL, tmp_path, more, **{"execution.state-recovery.path": before_names})
    names, rows = rows_of(path, "Aggregate", "groups")
    assert names[:2] == ["name", "sum_amount"]
    assert [row[:2] for row in rows] == [("a", 112), ("b", 12)]
    assert rows_of(path, "Join", "left")[0] == ["id", "customer", "amount"]


# --- who shows it -------------------------------------------------------------------------------------------


def test_sql_shows_the_same(totals: str) -> None:
    rows = state_relation({}, [totals, uid_of(totals, "Join"), "right"])
    assert [field.name for field in rows.fields] == ["id", "name"]
    with pytest.raises(ValidationError, match="'right' is kept in columns"):
        state_relation({}, [totals, uid_of(totals, "Join"), "right", 10])


def test_the_command_line_shows_the_same(totals: str) -> None:
    shown = CliRunner().invoke(
        app, ["state", "show", totals, uid_of(totals, "Aggregate"), "groups", "--json"]
    )
    rows = {row["name"]: row["sum_amount"] for row in json.loads(shown.stdout)}
    assert rows == {"a": 12, "b": 12}


@pytest.mark.spark
def test_a_frame_has_typed_columns(spark: Any, totals: str, largest: str) -> None:
    reader = SavepointReader.read(spark, totals)
    left = reader.read_keyed_state(uid_of(totals, "Join"), "left")
    assert left.schema.simpleString() == "struct<id:int,customer:int,amount:int>"
    assert sorted(map(tuple, left.collect())) == [(1, 10, 5), (2, 20, 6), (2, 20, 6), (3, 10, 7)]
    groups = reader.read_keyed_state(uid_of(totals, "Aggregate"), "groups")
    assert dict(groups.dtypes) == {
        "name": "string",
        "sum_amount": "bigint",
        "sum_amount0": "bigint",
        "count_amount": "bigint",
        "count": "bigint",
        "rows": "bigint",
        "count_distinct_id": "bigint",
    }
    assert {row.name: row.sum_amount for row in groups.collect()} == {"a": 12, "b": 12}
    leaders = SavepointReader.read(spark, largest).read_keyed_state(uid_of(largest, "Rank"), "leaders")
    assert leaders.groupBy("customer").count().count() == 2


@pytest.mark.spark
def test_types_cannot_be_given_for_columns(spark: Any, totals: str) -> None:
    reader = SavepointReader.read(spark, totals)
    with pytest.raises(ValidationError, match="'left' is kept in columns"):
        reader.read_keyed_state(uid_of(totals, "Join"), "left", Types.LONG())
    with pytest.raises(CheckpointError, match="has no keyed state 'middle'"):
        reader.read_keyed_state(uid_of(totals, "Join"), "middle")

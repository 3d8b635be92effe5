"""A statement set is one job: sources and equal sub-queries are read once, sinks commit together."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from penstock.table import EnvironmentSettings, TableEnvironment

CSV = "'connector' = 'filesystem', 'format' = 'csv'"
COUNTED = "SELECT item, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' SECOND)) \
GROUP BY item, window_start, window_end"
INSERTS = (
    f"INSERT INTO many SELECT item, n FROM ({COUNTED}) WHERE n > 1",
    f"INSERT INTO few SELECT UPPER(item), n FROM ({COUNTED}) WHERE n = 1",
    "INSERT INTO prices SELECT item, price FROM bids",
)


@pytest.fixture
def env(tmp_path: pathlib.Path) -> TableEnvironment:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "bids.csv").write_text(
        "a,1,2024-01-01 00:00:01\nb,5,2024-01-01 00:00:02\na,3,2024-01-01 00:00:03\n"
    )
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.execute_sql(
        "CREATE TABLE bids (item STRING, price INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) "
        f"WITH ({CSV}, 'path' = '{(tmp_path / 'in').as_uri()}')"
    )
    for sink in ("many", "few", "prices"):
        path = (tmp_path / sink).as_uri()
        env.execute_sql(f"CREATE TABLE {sink} (item STRING, n BIGINT) WITH ({CSV}, 'path' = '{path}')")
    return env


def written(tmp_path: pathlib.Path, sink: str) -> list[str]:
    files = [f for f in (tmp_path / sink).glob("*") if f.is_file() and not f.name.startswith((".", "_"))]
    return sorted(line for f in files for line in f.read_text().splitlines())


@pytest.mark.spark
@pytest.mark.parametrize("parallelism", ["1", "2"])
def test_inserts_of_a_set_share_what_they_have_in_common(
    env: TableEnvironment, tmp_path: pathlib.Path, parallelism: str
) -> None:
    env.get_config().set("parallelism.default", parallelism)
    statements = env.create_statement_set()
    for insert in INSERTS:
        statements.add_insert_sql(insert)
    result = statements.execute()
    result.wait()
    assert written(tmp_path, "many") == ["a,2"]
    assert written(tmp_path, "few") == ["B,1"]
    assert written(tmp_path, "prices") == ["a,1", "a,3", "b,5"]
    [job] = result._result.details["jobs"]
    names = [node.name for node in job.coordinator.job.graph.nodes]
    assert sum(name.startswith("TableSourceScan") for name in names) == 1
    assert sum("Window" in name and "Aggregate" in name for name in names) == 1
    read = [t.records_in for uid, t in job.statistics.operators.items() if "windowaggregate" in uid]
    assert read == [2], "the two items, put together before the exchange, once for both inserts"


def test_what_differs_each_time_is_not_shared(env: TableEnvironment) -> None:
    from penstock.sql.plan.rules.share_plans import share_plans

    session = env._session
    from penstock.sql.dialect.statement_parser import parse_query

    def plans(sql: str) -> Any:
        return share_plans([session.bind(parse_query(sql), sql) for _ in range(2)])

    same, other = plans("SELECT item, price + 1 FROM bids")
    assert same is other
    first, second = plans("SELECT item, RAND() FROM bids")
    assert first is not second and first.input is second.input

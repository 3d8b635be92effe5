"""Whole jobs that write to databases, without Spark: rows come once, whatever fails; the program of the docs runs."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from penstock import common, datastream
from penstock.common import Configuration, Row, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import jdbc
from penstock.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from tests.connectors.jdbc.jdbc_tables import SqliteFile
from tests.connectors.pages import program
from tests.runtime.in_process import Chaos, run_in_process
from tests.servers.postgres import PostgresServer

ROWS = 2000
SETTINGS = {
    "parallelism.default": "2",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "1000",
    "restart-strategy.fixed-delay.delay": "1 ms",
    "execution.epoch.max-records": "100",
}


@pytest.mark.parametrize("seed", range(2))
def test_every_row_is_written_once_whatever_fails(
    postgres: PostgresServer, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chaos = Chaos(seed, 0.2)
    run_in_process(monkeypatch, chaos)
    table = f"chaos_{seed}"
    postgres.execute(f"CREATE TABLE {table} (id INT, v VARCHAR(20))")
    configuration = Configuration()
    for key, value in {**SETTINGS, "execution.checkpointing.dir": str(tmp_path)}.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    types = Types.ROW([Types.INT(), Types.STRING()])
    connection = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(f"{postgres.base_url}/shop")
    connection.with_user_name(postgres.user).with_password(postgres.password)
    stream = env.from_collection([Row(i, f"v{i}") for i in range(ROWS)], types).rebalance()
    insert = f"INSERT INTO {table} VALUES (?, ?)"
    stream.map(lambda row: row, types).sink_to(JdbcSink.exactly_once_sink(insert, types, connection.build()))
    env.execute(table)
    assert postgres.execute(f"SELECT * FROM {table} ORDER BY id") == [(i, f"v{i}") for i in range(ROWS)]
    assert chaos.failures > 0


def test_the_program_of_the_docs_upserts(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_in_process(monkeypatch, None)
    file = SqliteFile(tmp_path / "shop.db")
    file.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT)")
    names: dict[str, Any] = {"url": file.url, **vars(common), **vars(datastream), **vars(jdbc)}
    exec(program("jdbc"), names)
    assert file.execute("SELECT id, item FROM orders ORDER BY id") == [(1, "nib"), (2, "ink")]

"""`JdbcSink` of programs, and exactly-once sinks: against SQLite, PostgreSQL and MariaDB, without Spark."""

from __future__ import annotations

import datetime as dt
import pathlib
import pickle
import uuid
from decimal import Decimal
from typing import Any

import pytest

from penstock.checkpoint.storage import CheckpointStorage
from penstock.common import Row, Types
from penstock.common.errors import ExternalSystemError, TypeMismatchError, ValidationError
from penstock.common.time import Instant
from penstock.connectors import kept_output
from penstock.connectors.jdbc import epochs as epochs_module
from penstock.connectors.jdbc.statement import translated
from penstock.connectors.table import SinkRequest
from penstock.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExactlyOnceOptions,
    JdbcExecutionOptions,
    JdbcSink,
)
from tests.connectors.epochs import SinkLoop, travelled
from tests.connectors.jdbc.jdbc_tables import CONTEXT, JdbcTestTable, SqliteFile
from tests.servers.postgres import PostgresServer

PAIR = Types.ROW([Types.INT(), Types.STRING()])


class Database:
    """A server or a file, and the options to get there."""

    def __init__(self, execute: Any, url: str, user: str | None = None, password: str | None = None) -> None:
        self.execute = execute
        self.url, self.user, self.password = url, user, password

    @property
    def options(self) -> JdbcConnectionOptions:
        builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(self.url)
        if self.user is not None:
            builder.with_user_name(self.user).with_password(self.password)
        return builder.build()


@pytest.fixture(params=["sqlite", "postgres", "mariadb"])
def database(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Database:
    if request.param == "sqlite":
        file = SqliteFile(tmp_path / "shop.db")
        return Database(file.execute, file.url)
    server = request.getfixturevalue(request.param)
    return Database(server.execute, f"{server.base_url}/shop", server.user, server.password)


@pytest.fixture
def name() -> str:
    return f"t_{uuid.uuid4().hex[:12]}"


def sink(database: Database, sql: str, type_info: Any = PAIR, batch_size: int = 5000) -> JdbcSink:
    execution = JdbcExecutionOptions.builder().with_batch_size(batch_size).with_max_retries(1).build()
    return JdbcSink.sink(sql, type_info, database.options, execution)


def once(database: Database, sql: str, **more: Any) -> JdbcSink:
    return JdbcSink.exactly_once_sink(sql, PAIR, database.options, None, more.get("options"))


# --- the statement


def test_parameters_are_the_question_marks_outside_of_texts_names_and_comments() -> None:
    sql = """INSERT INTO "a?" VALUES (?, 'it''s ?', `b?`) /* ? */ -- ?
    ON CONFLICT (j ?? 'x') DO $f$ ? $f$ WHERE n % 2 = ?"""
    text, count = translated(sql, "%s")
    assert count == 2 and text.count("%s") == 2 and "j ? 'x'" in text and "n %% 2 = %s" in text
    assert translated(sql, "?")[0] == sql.replace("??", "?")


def test_a_statement_that_does_not_fit_its_rows_is_refused_when_it_is_built(tmp_path: pathlib.Path) -> None:
    file = Database(None, f"jdbc:sqlite:{tmp_path / 'x.db'}")
    with pytest.raises(ValidationError, match="has 1 parameters and the rows have 2 fields"):
        sink(file, "INSERT INTO t VALUES (?)")
    with pytest.raises(TypeMismatchError, match="needs the type of its rows"):
        sink(file, "INSERT INTO t VALUES (?)", Types.STRING())
    with pytest.raises(ValidationError, match="there is no database"):
        JdbcSink.sink("x", PAIR, JdbcConnectionOptions.JdbcConnectionOptionsBuilder().build())
    with pytest.raises(ValidationError, match="no dialect"):
        sink(Database(None, "jdbc:derby:x"), "INSERT INTO t VALUES (?, ?)")


# --- at least once


def test_rows_of_all_subtasks_are_there_when_the_epoch_ends(database: Database, name: str) -> None:
    database.execute(f"CREATE TABLE {name} (id INT, v VARCHAR(20))")
    loop = SinkLoop(sink(database, f"INSERT INTO {name} VALUES (?, ?)", batch_size=2), parallelism=2)
    loop.run_epoch([[Row(1, "a"), (2, None), Row(3, "it's % ?")], [Row(4, "d")]])
    loop.run_epoch([[Row(5, "e")], []])
    assert sorted(database.execute(f"SELECT id, v FROM {name}")) == [
        (1, "a"), (2, None), (3, "it's % ?"), (4, "d"), (5, "e"),
    ]  # fmt: skip


def test_a_task_that_fails_leaves_nothing_and_says_which_statement(database: Database, name: str) -> None:
    database.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, v VARCHAR(20))")
    loop = SinkLoop(sink(database, f"INSERT INTO {name} VALUES (?, ?)", batch_size=1))
    with pytest.raises(ExternalSystemError, match="cannot execute the statement: ") as error:
        loop.run_epoch([[(1, "a"), (1, "b")]])
    assert f"JdbcSink 'INSERT INTO {name} VALUES (?, ?)' of jdbc:" in str(error.value)
    assert database.execute(f"SELECT * FROM {name}") == []


def test_an_upsert_that_is_written_again_changes_nothing(postgres: PostgresServer, name: str) -> None:
    postgres.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, v VARCHAR(20))")
    database = Database(postgres.execute, f"{postgres.base_url}/shop", postgres.user, postgres.password)
    upsert = f"INSERT INTO {name} VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v"
    loop = SinkLoop(sink(database, upsert))
    for crash in ("prepared", None):  # the rows of a prepared epoch are in the database
        loop.run_epoch([[(1, "a"), (2, "b"), (1, "c")]], crash=crash)
    assert sorted(postgres.execute(f"SELECT * FROM {name}")) == [(1, "c"), (2, "b")]


def test_values_of_streams_fit_the_columns(postgres: PostgresServer, name: str) -> None:
    postgres.execute(
        f"CREATE TABLE {name} (i BIGINT, f REAL, d NUMERIC, b BOOLEAN, dy DATE, tm TIME, ts TIMESTAMP, "
        "z TIMESTAMPTZ, bin BYTEA, xs INT[])"
    )
    types = Types.ROW(
        [
            Types.LONG(), Types.FLOAT(), Types.BIG_DEC(), Types.BOOLEAN(), Types.SQL_DATE(), Types.SQL_TIME(),
            Types.SQL_TIMESTAMP(), Types.INSTANT(), Types.PRIMITIVE_ARRAY(Types.BYTE()),
            Types.OBJECT_ARRAY(Types.INT()),
        ]
    )  # fmt: skip
    moment = dt.datetime(2024, 2, 29, 1, 2, 3, 4000)
    row = Row(
        1 << 40, 0.5, Decimal("1.25"), True, moment.date(), moment.time(), moment, Instant.of_epoch_milli(1),
        [-1, 0, 127], [1, None],
    )  # fmt: skip
    marks = ", ".join("?" * 10)
    database = Database(postgres.execute, f"{postgres.base_url}/shop", postgres.user, postgres.password)
    loop = SinkLoop(sink(database, f"INSERT INTO {name} VALUES ({marks})", types))
    loop.run_epoch([[row, Row(*[None] * 10)]])
    first, empty = postgres.execute(f"SELECT * FROM {name} ORDER BY i")
    assert first[:7] == tuple(row)[:7] and bytes(first[8]) == b"\xff\x00\x7f" and first[9] == [1, None]
    assert first[7] == dt.datetime(1970, 1, 1, 0, 0, 0, 1000, tzinfo=dt.timezone.utc)
    assert empty == (None,) * 10


# --- exactly once


def test_rows_appear_once_wherever_a_job_dies(database: Database, name: str) -> None:
    database.execute(f"CREATE TABLE {name} (id INT, v VARCHAR(20))")
    loop = SinkLoop(once(database, f"INSERT INTO {name} VALUES (?, ?)"), parallelism=2)
    number = 0

    def rows() -> list[list[Any]]:
        nonlocal number
        number += 2
        return [[(number, "a")], [(number + 1, "b")]]

    expected = []
    for crash in (None, "writing", "prepared", "publishing", None, "prepared", "publishing"):
        given = rows()
        loop.run_epoch(given, crash=crash)
        if crash == "publishing":
            loop.recover()
        if crash in (None, "publishing"):
            expected += [row for part in given for row in part]
        assert sorted(database.execute(f"SELECT id, v FROM {name}")) == expected
        loop.recover()  # after a commit, too: the mark says that it was written
    loop.run_epoch([[], []])
    assert sorted(database.execute(f"SELECT id, v FROM {name}")) == expected


def test_an_epoch_is_written_whole_or_not_at_all(database: Database, name: str) -> None:
    database.execute(
        f"CREATE TABLE {name} (id INT PRIMARY KEY, v VARCHAR(20))", f"INSERT INTO {name} VALUES (3, 'x')"
    )
    loop = SinkLoop(once(database, f"INSERT INTO {name} VALUES (?, ?)"), parallelism=2)
    with pytest.raises(ExternalSystemError, match="epoch 1 cannot be written: "):
        loop.run_epoch([[(1, "a")], [(2, "b"), (3, "c")]])
    assert database.execute(f"SELECT id FROM {name}") == [(3,)]
    database.execute(f"DELETE FROM {name}")
    loop.recover()
    assert sorted(database.execute(f"SELECT id FROM {name}")) == [(1,), (2,), (3,)]


def test_a_job_that_starts_anew_is_not_taken_for_the_one_before(database: Database, name: str) -> None:
    database.execute(f"CREATE TABLE {name} (id INT, v VARCHAR(20))")
    for value in ("first", "second"):
        SinkLoop(once(database, f"INSERT INTO {name} VALUES (?, ?)"), job_id="same").run_epoch([[(1, value)]])
    assert sorted(database.execute(f"SELECT v FROM {name}")) == [("first",), ("second",)]


def test_a_driver_that_was_replaced_cannot_write(database: Database, name: str) -> None:
    database.execute(f"CREATE TABLE {name} (id INT, v VARCHAR(20))")
    old = SinkLoop(once(database, f"INSERT INTO {name} VALUES (?, ?)"))
    old.run_epoch([[(1, "a")]])
    new = SinkLoop(old.sink)
    new.__dict__.update(
        pickle.loads(pickle.dumps({k: v for k, v in vars(old).items() if "committer" not in k}))
    )
    new.recover()
    new.run_epoch([[(2, "b")]])
    with pytest.raises(ExternalSystemError, match="another driver has gone on") as error:
        old.run_epoch([[(2, "zombie")]])
    assert not error.value.retryable
    assert database.execute(f"SELECT v FROM {name} ORDER BY id") == [("a",), ("b",)]


@pytest.mark.parametrize(
    ("decision", "expected"), [("skip", ["a", "b", "d"]), ("publish", ["a", "b", "c", "d"])]
)
def test_an_epoch_of_a_job_that_was_set_back_is_not_guessed_at(
    tmp_path: pathlib.Path, decision: str, expected: list[str]
) -> None:
    file = SqliteFile(tmp_path / "shop.db")
    database = Database(file.execute, file.url)
    file.execute("CREATE TABLE t (id INT, v TEXT)")
    loop = SinkLoop(once(database, "INSERT INTO t VALUES (?, ?)"))
    loop.run_epoch([[(1, "a")]])
    older = loop._coordinator_state
    loop.run_epoch([[(2, "b")]])

    def set_back(options: Any = None) -> SinkLoop:
        again = SinkLoop(once(database, "INSERT INTO t VALUES (?, ?)", options=options))
        again.epoch, again._coordinator_state = 1, older
        return again

    with pytest.raises(ExternalSystemError, match="nobody knows whether epoch 2 was written") as error:
        set_back().run_epoch([[(3, "c")]])
    assert not error.value.retryable
    decided = set_back(JdbcExactlyOnceOptions.builder().with_unknown_outcome(decision).build())
    decided.run_epoch([[(3, "c")]])
    decided.run_epoch([[(4, "d")]])
    assert [v for (v,) in file.execute("SELECT v FROM t ORDER BY id")] == expected


def test_many_rows_lie_in_files_of_the_checkpoint_and_keep_their_order(
    postgres: PostgresServer, name: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(epochs_module, "BLOCK_BYTES", 20_000)
    monkeypatch.setattr(kept_output, "INLINE_BYTES", 5_000)
    postgres.execute(f"CREATE TABLE {name} (n SERIAL, id INT, v VARCHAR(20))")
    database = Database(postgres.execute, f"{postgres.base_url}/shop", postgres.user, postgres.password)
    execution = JdbcExecutionOptions.builder().with_batch_size(100).build()
    insert = f"INSERT INTO {name} (id, v) VALUES (?, ?)"
    target = JdbcSink.exactly_once_sink(insert, PAIR, database.options, execution)
    loop = SinkLoop(target, storage=CheckpointStorage(str(tmp_path), "job"))
    loop.run_epoch([[(i, f"v{i}") for i in range(5000)]], crash="publishing")
    assert len(list(tmp_path.rglob("1-*"))) > 3 and len(loop._last_committables) < 8_000
    loop.recover()
    assert postgres.execute(f"SELECT id FROM {name} ORDER BY n") == [(i,) for i in range(5000)]


def test_a_connection_that_is_lost_while_an_epoch_is_written_costs_nothing(
    postgres: PostgresServer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(epochs_module, "_PAUSE_S", 0.01)
    postgres.execute(f"CREATE TABLE {name} (id INT, v VARCHAR(20))")
    database = Database(postgres.execute, f"{postgres.base_url}/shop", postgres.user, postgres.password)
    loop = SinkLoop(once(database, f"INSERT INTO {name} VALUES (?, ?)"))

    def cut() -> None:
        postgres.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = 'shop' AND pid <> pg_backend_pid()"
        )

    for i in range(3):
        loop.run_epoch([[(i, "x")]], between=cut)
    assert postgres.execute(f"SELECT id FROM {name} ORDER BY id") == [(0,), (1,), (2,)]


def test_without_the_right_to_make_the_table_of_marks_it_is_said_what_to_do(
    postgres: PostgresServer, name: str
) -> None:
    postgres.execute(
        f"CREATE SCHEMA {name}", f"CREATE TABLE {name}.t (id INT, v VARCHAR(20))",
        f"CREATE ROLE {name} LOGIN PASSWORD 'x'", f"GRANT USAGE ON SCHEMA {name} TO {name}",
        f"GRANT ALL ON {name}.t TO {name}",
    )  # fmt: skip
    database = Database(None, f"{postgres.base_url}/shop?currentSchema={name}", name, "x")
    with pytest.raises(
        ExternalSystemError, match="penstock_commits cannot be made: permission denied"
    ) as error:
        SinkLoop(once(database, "INSERT INTO t VALUES (?, ?)")).run_epoch([[(1, "a")]])
    assert "CREATE TABLE penstock_commits" in str(error.value)


def test_a_table_of_sql_can_be_exactly_once_too(database: Database, name: str) -> None:
    database.execute(f"CREATE TABLE {name} (id INT, v VARCHAR(20))")
    login = {} if database.user is None else {"username": database.user, "password": database.password}
    table = JdbcTestTable(
        "id INT, v STRING",
        {"url": database.url, "table-name": name, "sink.delivery-guarantee": "exactly-once", **login},
    )
    target = table.connector.sink(table.table, SinkRequest())
    writer = travelled(target).create_writer(CONTEXT)
    writer.write_arrow(table.changes([(1, "a"), (2, None)]))
    loop = SinkLoop(target)
    epoch, _ = loop._coordinate(list(writer.prepare_commit(False)), False)
    assert database.execute(f"SELECT * FROM {name}") == []
    for _ in range(2):
        target.create_committer().commit(travelled(epoch))
        assert sorted(database.execute(f"SELECT * FROM {name}")) == [(1, "a"), (2, None)]

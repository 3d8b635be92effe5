"""Iceberg tables of a catalog in SQLite, written in one commit per epoch and read again, without Spark."""

from __future__ import annotations

import datetime as dt
import pathlib
import pickle
import random
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from penstock.catalog.objects import CatalogTable
from penstock.catalog.schema import Schema, SchemaColumn
from penstock.common.datatype_parser import parse_type
from penstock.common.errors import ExternalSystemError, MalformedRecordError, ValidationError
from penstock.connectors.registry import find_connector
from penstock.connectors.table import SinkRequest
from penstock.table import EnvironmentSettings, TableEnvironment
from tests.connectors.epochs import SinkLoop, SourceLoop
from tests.connectors.lake_rows import RowsToColumns
from tests.connectors.pages import program
from tests.connectors.scripted import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, in_this_process, play

catalogs = pytest.importorskip("pyiceberg.catalog", reason="pip install 'penstock[iceberg]'")


def catalog_options(folder: pathlib.Path) -> dict[str, str]:
    return {
        "connector": "iceberg", "catalog-name": "lake", "uri": f"sqlite:///{folder / 'catalog.db'}",
        "warehouse": f"file://{folder / 'warehouse'}",
    }  # fmt: skip


class Table:
    def __init__(
        self,
        folder: pathlib.Path,
        columns: str,
        key: Sequence[str] = (),
        by: Sequence[str] = (),
        **options: str,
    ) -> None:
        fields = parse_type(f"ROW<{columns}>").fields
        schema = Schema(tuple(SchemaColumn(f.name, f.data_type) for f in fields), (), tuple(key))
        given = {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
        options = {**catalog_options(folder), **given}
        self.table = CatalogTable(schema, options, partition_keys=tuple(by))
        self.connector = find_connector(options, "cat.db.t")

    def loop(self, parallelism: int = 1, changelog: bool = False, **more: Any) -> SinkLoop:
        self.connector.validate(self.table, "sink")
        sink = self.connector.sink(self.table, SinkRequest(changelog=changelog))
        return SinkLoop(RowsToColumns(sink), parallelism, **more)

    @property
    def opened(self) -> Any:
        return self.connector.lake.opened()

    def rows(self) -> list[tuple[Any, ...]]:
        """As pyiceberg reads them."""
        found = self.opened.scan().to_arrow()
        return sorted((tuple(row.values()) for row in found.to_pylist()), key=str)

    def read(self, columns: Sequence[str] | None = None, max_records: int | None = None) -> list[Any]:
        """As we read them."""
        self.connector.validate(self.table, "source")
        loop = SourceLoop(self.connector.source(self.table, columns), max_records=max_records)
        return sorted(loop.run_to_end(), key=str)


# --- rows only


def test_an_epoch_is_one_commit_with_the_epoch_in_it(tmp_path: pathlib.Path) -> None:
    table = Table(tmp_path, "id INT, v STRING")
    loop = table.loop(parallelism=2)
    loop.run_epoch([[(1, "a")], [(2, None)]])
    loop.run_epoch([[], []])
    loop.run_epoch([[(3, "c")], []])
    assert table.rows() == [(1, "a"), (2, None), (3, "c")]
    epochs = [s.summary.additional_properties["penstock.epoch"] for s in table.opened.metadata.snapshots]
    assert epochs == ["1", "3"]


def test_rows_come_once_wherever_a_job_dies(tmp_path: pathlib.Path) -> None:
    table = Table(tmp_path, "id INT, v STRING")
    loop = table.loop()
    expected: list[Any] = []
    for number, crash in enumerate((None, "writing", "prepared", "publishing", None, "prepared")):
        loop.run_epoch([[(number, "x"), (number, "y")]], crash=crash)
        if crash in (None, "publishing"):
            expected += [(number, "x"), (number, "y")]
        loop.recover()
        assert table.rows() == sorted(expected, key=str)


@pytest.mark.parametrize("key", [[], ["id"]])
def test_a_job_that_was_set_back_or_replaced_is_not_guessed_at(
    tmp_path: pathlib.Path, key: list[str]
) -> None:
    table = Table(tmp_path, "id INT, v STRING", key)
    loop = table.loop()
    loop.run_epoch([[(1, "a")]])
    older = pickle.dumps((loop._coordinator_state, loop.epoch))
    loop.run_epoch([[(2, "b")]])

    def set_back(**options: str) -> SinkLoop:
        again = Table(tmp_path, "id INT, v STRING", key, **options).loop()
        again._coordinator_state, again.epoch = pickle.loads(older)
        return again

    with pytest.raises(ExternalSystemError, match="nobody knows whether epoch 2 was committed") as error:
        set_back().run_epoch([[(3, "c")]])
    assert not error.value.retryable
    decided = set_back(sink__unknown_outcome="publish")
    decided.run_epoch([[(3, "c")]])
    decided.run_epoch([[(4, "d")]])
    assert table.rows() == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


def test_another_writer_gets_between(tmp_path: pathlib.Path) -> None:
    table, other = Table(tmp_path, "id INT, v STRING"), Table(tmp_path, "id INT, v STRING")
    mine, theirs = table.loop(), other.loop()
    mine.run_epoch([[(1, "a")]])
    theirs.run_epoch([[(2, "b")]])
    mine.run_epoch([[(3, "c")]])
    assert table.rows() == [(1, "a"), (2, "b"), (3, "c")]


def test_all_types_come_back(tmp_path: pathlib.Path) -> None:
    columns = (
        "t TINYINT, s SMALLINT, i INT, l BIGINT, f FLOAT, g DOUBLE, b BOOLEAN, d DECIMAL(20, 4), x STRING, y BYTES, "
        "dy DATE, ts TIMESTAMP(6), z TIMESTAMP_LTZ(3), c TIME(0), a ARRAY<INT>, m MAP<STRING, BIGINT>, "
        "r ROW<p INT, q STRING>"
    )
    table = Table(tmp_path, columns)
    utc = dt.timezone.utc
    row = (
        1, 2, 3, 1 << 40, 0.5, 0.1, True, Decimal("-1.5000"), "ünï", b"\x00", dt.date(1969, 12, 31),
        dt.datetime(2024, 2, 29, 1, 2, 3, 4), dt.datetime(2024, 1, 1, 12, tzinfo=utc), dt.time(1, 2, 3), [1, None],
        {"k": 1}, (7, "q"),
    )  # fmt: skip
    table.loop().run_epoch([[row, (None,) * 17]])
    table.loop().run_epoch([[row]])  # the table is there: its columns fit
    found = table.read()
    assert len(found) == 3 and found[0] == found[1] and found[2] == (None,) * 17
    assert found[0][:14] == row[:14] and tuple(found[0][16]) == (7, "q") and dict(found[0][15]) == {"k": 1}


def test_partitions_are_identities_of_columns(tmp_path: pathlib.Path) -> None:
    table = Table(tmp_path, "id INT, day DATE, shop STRING", by=["day", "shop"])
    day = dt.date(2024, 1, 1)
    rows = [(1, day, "a b/c%"), (2, day, None), (3, None, "x=y"), (4, day, "a b/c%")]
    table.loop().run_epoch([rows])
    assert table.read() == sorted(rows, key=str)
    found = table.opened.scan(row_filter="shop = 'a b/c%'").to_arrow()
    assert sorted(found.column("id").to_pylist()) == [1, 4]
    with pytest.raises(ValidationError, match="the table is partitioned by"):
        Table(tmp_path, "id INT, day DATE, shop STRING").loop().run_epoch([rows])


def test_a_table_with_other_columns_is_refused(tmp_path: pathlib.Path) -> None:
    Table(tmp_path, "id INT, v STRING").loop().run_epoch([[(1, "a")]])
    with pytest.raises(ValidationError, match="'id' is written as int64, and the table has it as int32"):
        Table(tmp_path, "id BIGINT").loop().run_epoch([[(1,)]])
    with pytest.raises(ValidationError, match="'w' is written as string, and the table has no such column"):
        Table(tmp_path, "id INT, w STRING").loop().run_epoch([[(1, "a")]])
    with pytest.raises(MalformedRecordError, match="'v' cannot be read as INT"):
        Table(tmp_path, "id INT, v INT").read()
    assert Table(tmp_path, "v STRING, id BIGINT").read() == [("a", 1)]


# --- by key


@pytest.mark.parametrize("seed", range(2))
def test_changes_are_merged_by_key(tmp_path: pathlib.Path, seed: int) -> None:
    table = Table(tmp_path, "`Id` INT, part STRING, v STRING", ["Id", "part"])
    loop, chance = table.loop(parallelism=2, changelog=True), random.Random(seed)
    model: dict[tuple[int, str], Any] = {}
    for _ in range(4):
        epoch: list[list[Any]] = [[], []]
        for n in range(40):
            key = (chance.randrange(8), chance.choice("ab"))
            changes = epoch[key[0] % 2]
            if key not in model:
                model[key] = (*key, str(n))
                changes.append((*model[key], INSERT))
            elif chance.random() < 0.4:
                changes.append((*model.pop(key), DELETE))
            else:
                changes.append((*model[key], UPDATE_BEFORE))
                model[key] = (*key, None if n % 7 == 0 else str(n))
                changes.append((*model[key], UPDATE_AFTER))
        loop.run_epoch(epoch, crash=chance.choice([None, "publishing"]))
        loop.recover()
        assert table.rows() == sorted(model.values(), key=str)


# --- reading


def test_old_snapshots_can_be_read_and_reading_may_stop_anywhere(tmp_path: pathlib.Path) -> None:
    table = Table(tmp_path, "id INT")
    loop = table.loop()
    loop.run_epoch([[(i,) for i in range(100)]])
    loop.run_epoch([[(100,)]])
    assert len(table.read(max_records=7)) == 101
    first, second = table.opened.metadata.snapshots
    assert len(Table(tmp_path, "id INT", snapshot_id=str(first.snapshot_id)).read()) == 100
    assert len(Table(tmp_path, "id INT", as_of_timestamp=str(second.timestamp_ms)).read()) == 101
    with pytest.raises(ValidationError, match="no such snapshot"):
        Table(tmp_path, "id INT", snapshot_id="9").read()
    with pytest.raises(ExternalSystemError, match="the table does not exist") as error:
        Table(tmp_path, "id INT", catalog_table="nothing").read()
    assert "Iceberg table lake.default.nothing" in str(error.value) and not error.value.retryable


def test_a_table_that_grows_is_followed_until_rows_go(tmp_path: pathlib.Path) -> None:
    table = Table(tmp_path, "id INT", streaming="true", monitor_interval="0 s")
    writer = Table(tmp_path, "id INT").loop()
    writer.run_epoch([[(1,)]])
    loop = SourceLoop(table.connector.source(table.table))
    loop.run_epoch()
    writer.run_epoch([[(2,)]])
    writer.run_epoch([[(3,)]])
    loop.run_epoch(crash=True)
    loop.recover()
    loop.run_epoch()
    assert sorted(loop.values) == [(1,), (2,), (3,)]
    table.opened.delete("id = 2")
    with pytest.raises(ExternalSystemError, match="does not only add rows") as error:
        loop.run_epoch()
    assert not error.value.retryable
    assert Table(tmp_path, "id INT").read() == [(1,), (3,)]


@pytest.mark.parametrize(
    ("columns", "options", "what"),
    [
        ("a ARRAY<MULTISET<INT>>", {}, "Iceberg has no type for the column 'a'"),
        ("a TIMESTAMP(9)", {}, "Iceberg keeps microseconds"),
        ("a INT", {"snapshot_id": "1", "as_of_timestamp": "1"}, "cannot both be set"),
        ("a INT", {"snapshot_id": "1", "streaming": "true"}, "names one snapshot"),
        ("a INT", {"catalog_type": "hadoop"}, "supported values are"),
        ("a INT", {"version": "1"}, "has no option 'version'"),
    ],
)
def test_tables_that_cannot_be_meant_are_refused(columns: str, options: dict[str, str], what: str) -> None:
    with pytest.raises(ValidationError, match=what):
        table = Table(pathlib.Path("/nowhere"), columns, **options)
        table.connector.validate(table.table, "source")


def test_a_catalog_that_is_away_is_named(tmp_path: pathlib.Path) -> None:
    away = Table(tmp_path, "a INT", catalog_type="rest", uri="http://127.0.0.1:1")
    with pytest.raises(ExternalSystemError, match="cannot open the catalog") as error:
        away.read()
    assert "Iceberg table lake.default.t" in str(error.value)


# --- queries


def test_the_statements_of_the_page_run(tmp_path: pathlib.Path) -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("parallelism.default", "2")
    play("iceberg_orders", [[("pen", 1), ("ink", 2)], [("pen", 3)]])
    env.execute_sql(
        "CREATE TABLE orders (item STRING, n INT) WITH ('connector' = 'scripted', 'script' = 'iceberg_orders')"
    )
    create, insert = program("iceberg", "A minimal program").split(";")[:2]
    with in_this_process():
        env.execute_sql(create.replace("/lake", str(tmp_path)))
        env.execute_sql(insert).wait()
        found = env.execute_sql("SELECT item, total FROM totals").collect()
        assert sorted(tuple(row) for row in found) == [("ink", 2), ("pen", 4)]

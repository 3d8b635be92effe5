"""Delta tables, written in one commit per epoch and read again, without Spark."""

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
from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.datatype_parser import parse_type
from penstock.common.errors import ExternalSystemError, MalformedRecordError, ValidationError
from penstock.connectors import lake_changes
from penstock.connectors.delta.table import DeltaConnector
from penstock.connectors.registry import find_connector
from penstock.connectors.table import SinkRequest
from penstock.table import EnvironmentSettings, TableEnvironment
from tests.connectors.epochs import SinkLoop, SourceLoop
from tests.connectors.lake_rows import RowsToColumns
from tests.connectors.pages import program, unnamed
from tests.connectors.scripted import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, in_this_process, play

deltalake = pytest.importorskip("deltalake", reason="pip install 'penstock[delta]'")


class Table:
    def __init__(
        self,
        path: pathlib.Path,
        columns: str,
        key: Sequence[str] = (),
        by: Sequence[str] = (),
        **options: str,
    ) -> None:
        fields = parse_type(f"ROW<{columns}>").fields
        schema = Schema(tuple(SchemaColumn(f.name, f.data_type) for f in fields), (), tuple(key))
        given = {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
        options = {"connector": "delta", "table-path": str(path), **given}
        self.table = CatalogTable(schema, options, partition_keys=tuple(by))
        self.connector = find_connector(options, "cat.db.t")
        self.path = path

    def loop(self, parallelism: int = 1, changelog: bool = False, **more: Any) -> SinkLoop:
        self.connector.validate(self.table, "sink")
        sink = self.connector.sink(self.table, SinkRequest(changelog=changelog))
        return SinkLoop(RowsToColumns(sink), parallelism, **more)

    def rows(self) -> list[tuple[Any, ...]]:
        """As delta-rs reads them."""
        found = deltalake.DeltaTable(str(self.path)).to_pyarrow_table()
        return sorted((tuple(row.values()) for row in found.to_pylist()), key=str)

    def read(self, columns: Sequence[str] | None = None, max_records: int | None = None) -> list[Any]:
        """As we read them."""
        self.connector.validate(self.table, "source")
        loop = SourceLoop(self.connector.source(self.table, columns), max_records=max_records)
        return sorted(loop.run_to_end(), key=str)

    @property
    def version(self) -> int:
        return int(deltalake.DeltaTable(str(self.path)).version())


# --- rows only


def test_an_epoch_is_one_commit_with_the_epoch_in_it(tmp_path: pathlib.Path) -> None:
    table = Table(tmp_path / "t", "id INT, v STRING")
    loop = table.loop(parallelism=2)
    loop.run_epoch([[(1, "a")], [(2, None)]])
    loop.run_epoch([[], []])
    loop.run_epoch([[(3, "c")], []])
    assert table.rows() == [(1, "a"), (2, None), (3, "c")] and table.version == 2  # made, then two commits
    last = deltalake.DeltaTable(str(table.path)).history(1)[0]
    assert last["penstock.epoch"] == "3"


def test_rows_come_once_wherever_a_job_dies(tmp_path: pathlib.Path) -> None:
    table = Table(tmp_path / "t", "id INT, v STRING")
    loop = table.loop()
    expected: list[Any] = []
    for number, crash in enumerate(
        (None, "writing", "prepared", "publishing", None, "publishing", "prepared")
    ):
        loop.run_epoch([[(number, "x"), (number, "y")]], crash=crash)
        if crash in (None, "publishing"):
            expected += [(number, "x"), (number, "y")]
        loop.recover()
        assert table.rows() == sorted(expected, key=str)


@pytest.mark.parametrize("key", [[], ["id"]])
def test_a_job_that_was_set_back_or_replaced_is_not_guessed_at(
    tmp_path: pathlib.Path, key: list[str]
) -> None:
    table = Table(tmp_path / "t", "id INT, v STRING", key)
    loop = table.loop()
    loop.run_epoch([[(1, "a")]])
    older = pickle.dumps((loop._coordinator_state, loop.epoch))
    loop.run_epoch([[(2, "b")]])

    def set_back(**options: str) -> SinkLoop:
        again = Table(tmp_path / "t", "id INT, v STRING", key, **options).loop()
        again._coordinator_state, again.epoch = pickle.loads(older)
        return again

    with pytest.raises(ExternalSystemError, match="nobody knows whether epoch 2 was committed") as error:
        set_back().run_epoch([[(3, "c")]])
    assert not error.value.retryable
    decided = set_back(sink__unknown_outcome="publish")
    decided.run_epoch([[(3, "c")]])
    decided.run_epoch([[(4, "d")]])
    assert table.rows() == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


def test_all_types_come_back(tmp_path: pathlib.Path) -> None:
    columns = (
        "t TINYINT, s SMALLINT, i INT, l BIGINT, f FLOAT, g DOUBLE, b BOOLEAN, d DECIMAL(20, 4), x STRING, y BYTES, "
        "dy DATE, ts TIMESTAMP(6), z TIMESTAMP_LTZ(3), a ARRAY<INT>, m MAP<STRING, BIGINT>, r ROW<p INT, q STRING>"
    )
    table = Table(tmp_path / "t", columns)
    utc = dt.timezone.utc
    row = (
        1, 2, 3, 1 << 40, 0.5, 0.1, True, Decimal("-1.5000"), "ünï", b"\x00", dt.date(1969, 12, 31),
        dt.datetime(2024, 2, 29, 1, 2, 3, 4), dt.datetime(2024, 1, 1, 12, tzinfo=utc), [1, None], {"k": 1}, (7, "q"),
    )  # fmt: skip
    table.loop().run_epoch([[row, (None,) * 16]])
    table.loop().run_epoch([[row]])  # the table is there: its columns fit
    found = table.read()
    assert len(found) == 3 and found[0] == found[1] and found[2] == (None,) * 16
    assert found[0][:13] == row[:13] and tuple(found[0][15]) == (7, "q") and dict(found[0][14]) == {"k": 1}


def test_partitions_are_folders_and_values_of_the_log(tmp_path: pathlib.Path) -> None:
    table = Table(tmp_path / "t", "id INT, day DATE, shop STRING", by=["day", "shop"])
    day = dt.date(2024, 1, 1)
    rows = [(1, day, "a b/c%"), (2, day, None), (3, None, "x=y"), (4, day, "a b/c%")]
    table.loop().run_epoch([rows])
    assert sorted(table.read(), key=str) == sorted(rows, key=str)
    assert sorted(r[0] for r in table.rows()) == [1, 2, 3, 4]
    assert table.read(["id"])[0] == (1, None, None)
    filtered = deltalake.DeltaTable(str(table.path)).to_pyarrow_table(filters=[("shop", "=", "a b/c%")])
    assert sorted(filtered.column("id").to_pylist()) == [1, 4]
    with pytest.raises(ValidationError, match="the table is partitioned by"):
        Table(tmp_path / "t", "id INT, day DATE, shop STRING").loop().run_epoch([rows])


def test_a_table_with_other_columns_is_refused(tmp_path: pathlib.Path) -> None:
    Table(tmp_path / "t", "id INT, v STRING").loop().run_epoch([[(1, "a")]])
    with pytest.raises(ValidationError, match="'id' is written as int64, and the table has it as int32"):
        Table(tmp_path / "t", "id BIGINT").loop().run_epoch([[(1,)]])
    with pytest.raises(ValidationError, match="'w' is written as string, and the table has no such column"):
        Table(tmp_path / "t", "id INT, w STRING").loop().run_epoch([[(1, "a")]])
    with pytest.raises(MalformedRecordError, match="'v' cannot be read as INT"):
        Table(tmp_path / "t", "id INT, v INT").read()
    Table(tmp_path / "t", "id INT").loop().run_epoch([[(2,)]])  # other columns are NULL
    assert Table(tmp_path / "t", "v STRING, id BIGINT").read() == [("a", 1), (None, 2)]


# --- by key


@pytest.mark.parametrize("seed", range(3))
def test_changes_are_merged_by_key(tmp_path: pathlib.Path, seed: int) -> None:
    table = Table(tmp_path / "t", "`Id` INT, part STRING, v STRING", ["Id", "part"])
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
                if chance.random() < 0.1:
                    del model[key]
                else:
                    model[key] = (*key, None if n % 7 == 0 else str(n))
                    changes.append((*model[key], UPDATE_AFTER))
        loop.run_epoch(epoch, crash=chance.choice([None, "publishing"]))
        loop.recover()
        assert table.rows() == sorted(model.values(), key=str)


def test_many_changes_lie_in_files_of_the_checkpoint(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lake_changes, "BLOCK_BYTES", 10_000)
    table = Table(tmp_path / "t", "id INT, v STRING", ["id"])
    loop = table.loop(storage=CheckpointStorage(str(tmp_path / "chk"), "job"))
    loop.run_epoch([[(i, "x" * 50) for i in range(1000)]], crash="publishing")
    assert list((tmp_path / "chk").rglob("1-*"))
    loop.recover()
    assert len(table.rows()) == 1000


# --- reading


def test_old_versions_can_be_read_and_reading_may_stop_anywhere(tmp_path: pathlib.Path) -> None:
    table = Table(tmp_path / "t", "id INT")
    loop = table.loop()
    loop.run_epoch([[(i,) for i in range(100)]])
    loop.run_epoch([[(100,)]])
    assert len(table.read(max_records=7)) == 101
    assert len(Table(tmp_path / "t", "id INT", versionAsOf="1").read()) == 100
    assert len(Table(tmp_path / "t", "id INT", timestampAsOf="2999-01-01T00:00:00Z").read()) == 101
    with pytest.raises(ExternalSystemError, match="cannot open the table"):
        Table(tmp_path / "t", "id INT", versionAsOf="9").read()
    with pytest.raises(ExternalSystemError, match="cannot open the table") as error:
        Table(tmp_path / "nothing", "id INT").read()
    assert f"Delta table {tmp_path / 'nothing'}" in str(error.value)


def test_rows_that_others_have_deleted_are_not_read(tmp_path: pathlib.Path) -> None:
    table = Table(tmp_path / "t", "id INT")
    table.loop().run_epoch([[(1,), (2,), (3,)]])
    deltalake.DeltaTable(str(table.path)).delete("id = 2")
    deltalake.DeltaTable(str(table.path)).optimize.compact()
    assert table.read() == [(1,), (3,)]


@pytest.mark.parametrize(
    ("columns", "options", "what"),
    [
        ("a TIME(3)", {}, "Delta has no type for the column 'a'"),
        ("a ARRAY<MULTISET<INT>>", {}, "Delta has no type for the column 'a'"),
        ("a TIMESTAMP(9)", {}, "Delta keeps microseconds"),
        ("a INT", {"versionAsOf": "1", "timestampAsOf": "x"}, "cannot both be set"),
        ("a INT", {"versionAsOf": "-1"}, "must not be less than 0"),
        ("a INT", {"version": "1"}, "has no option 'version'"),
    ],
)
def test_tables_that_cannot_be_meant_are_refused(columns: str, options: dict[str, str], what: str) -> None:
    with pytest.raises(ValidationError, match=what):
        table = Table(pathlib.Path("/nowhere"), columns, **options)
        table.connector.validate(table.table, "source")


# --- queries


def test_the_statements_of_the_page_run(tmp_path: pathlib.Path) -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("parallelism.default", "2")
    play("delta_orders", [[("pen", 1), ("ink", 2)], [("pen", 3)]])
    env.execute_sql(
        "CREATE TABLE orders (item STRING, n INT) WITH ('connector' = 'scripted', 'script' = 'delta_orders')"
    )
    create, insert = program("delta").split(";")[:2]
    with in_this_process():
        env.execute_sql(create.replace("/lake", str(tmp_path)))
        env.execute_sql(insert).wait()
        found = env.execute_sql("SELECT item, total FROM totals").collect()
        assert sorted(tuple(row) for row in found) == [("ink", 2), ("pen", 4)]


def test_every_option_is_named_on_the_page() -> None:
    assert unnamed("delta", [o.name for o in DeltaConnector.options]) == []


# --- tables that grow


def followed(table: Table, **options: str) -> SourceLoop:
    given = {"connector": "delta", "table-path": str(table.path), "mode": "streaming", **options}
    connector = find_connector({**given, "updateCheckIntervalMillis": "0"}, "cat.db.t")
    connector.validate(table.table, "source")
    assert not connector.is_bounded(table.table)
    return SourceLoop(connector.source(table.table))


@pytest.mark.parametrize("by", [(), ("day",)])
def test_a_table_that_grows_is_followed(tmp_path: pathlib.Path, by: tuple[str, ...]) -> None:
    table = Table(tmp_path / "t", "id INT, day DATE", by=by)
    days = [dt.date(2024, 1, n) for n in (1, 2, 3)]
    writer = table.loop()
    writer.run_epoch([[(1, days[0])]])
    loop = followed(table)
    loop.run_epoch()
    assert loop.values == [(1, days[0])]
    writer.run_epoch([[(2, days[1])]])
    writer.run_epoch([[(3, days[2]), (4, None)]])
    loop.run_epoch(crash=True)
    loop.recover()
    loop.run_epoch()
    loop.run_epoch()
    assert sorted(loop.values) == [(1, days[0]), (2, days[1]), (3, days[2]), (4, None)]
    assert not loop.ended


def test_files_that_are_only_put_together_are_not_new(tmp_path: pathlib.Path) -> None:
    table = Table(tmp_path / "t", "id INT")
    writer = table.loop()
    writer.run_epoch([[(1,)]])
    loop = followed(table)
    loop.run_epoch()
    writer.run_epoch([[(2,)]])
    deltalake.DeltaTable(str(table.path)).optimize.compact()
    writer.run_epoch([[(3,)]])
    loop.run_epoch()
    assert sorted(loop.values) == [(1,), (2,), (3,)]


def test_rows_that_go_end_the_job_unless_it_is_told_to_pass_over_them(tmp_path: pathlib.Path) -> None:
    table = Table(tmp_path / "t", "id INT")
    writer = table.loop()
    writer.run_epoch([[(1,), (2,)]])
    loops = {
        name: followed(table, **({name: "true"} if name else {}))
        for name in ("", "ignoreDeletes", "ignoreChanges")
    }
    for loop in loops.values():
        loop.run_epoch()
    deltalake.DeltaTable(str(table.path)).delete("id = 1")  # rewrites the file
    for name in ("", "ignoreDeletes"):
        with pytest.raises(ExternalSystemError, match="does not only add rows") as error:
            loops[name].run_epoch()
        assert not error.value.retryable
    loops["ignoreChanges"].run_epoch()
    assert loops["ignoreChanges"].values == [(1,), (2,), (2,)], "what was rewritten comes again"
    after = followed(table, ignoreDeletes="true")
    after.run_epoch()
    deltalake.DeltaTable(str(table.path)).delete()
    writer.run_epoch([[(5,)]])
    after.run_epoch()
    assert after.values == [(2,), (5,)]


@pytest.mark.parametrize(
    ("start", "expected"),
    [("1", [1, 2, 3]), ("2", [2, 3]), ("latest", [3])],
    ids=["first", "second", "latest"],
)
def test_following_begins_with_a_version(tmp_path: pathlib.Path, start: str, expected: list[int]) -> None:
    table = Table(tmp_path / "t", "id INT")
    writer = table.loop()
    writer.run_epoch([[(1,)]])
    writer.run_epoch([[(2,)]])
    loop = followed(table, startingVersion=start)
    loop.run_epoch()
    writer.run_epoch([[(3,)]])
    loop.run_epoch()
    assert [id_ for (id_,) in loop.values] == expected


def test_following_begins_with_a_time(tmp_path: pathlib.Path) -> None:
    table = Table(tmp_path / "t", "id INT")
    writer = table.loop()
    writer.run_epoch([[(1,)]])
    writer.run_epoch([[(2,)]])
    made = deltalake.DeltaTable(str(table.path)).history(1)[0]["timestamp"]
    second = dt.datetime.fromtimestamp(made / 1000, dt.timezone.utc)
    now, soon = followed(table, startingTimestamp=second.isoformat()), second + dt.timedelta(days=1)
    later = followed(table, startingTimestamp=soon.isoformat().replace("+00:00", "Z"))
    for loop in (now, later):
        loop.run_epoch()
    assert (2,) in now.values and later.values == []


def test_a_version_that_is_gone_from_the_log_is_named(tmp_path: pathlib.Path) -> None:
    table = Table(tmp_path / "t", "id INT")
    writer = table.loop()
    writer.run_epoch([[(1,)]])
    loop = followed(table)
    loop.run_epoch()
    for number in (2, 3):
        writer.run_epoch([[(number,)]])
    deltalake.DeltaTable(str(table.path)).create_checkpoint()
    (table.path / "_delta_log" / f"{2:020}.json").unlink()
    with pytest.raises(ExternalSystemError, match="version 2 is not in the table's log any more") as error:
        loop.run_epoch()
    assert not error.value.retryable


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"mode": "streaming", "versionAsOf": "1"}, "names one version"),
        ({"startingVersion": "1"}, "is for tables that are followed"),
        ({"mode": "streaming", "startingVersion": "soon"}, "the number of a version"),
        ({"mode": "streaming", "startingTimestamp": "soon"}, "startingTimestamp"),
        (
            {"mode": "streaming", "startingVersion": "1", "startingTimestamp": "2024-01-01T00:00:00Z"},
            "cannot both be set",
        ),
    ],
)
def test_modes_that_cannot_be_meant_are_refused(options: dict[str, str], what: str) -> None:
    given = {"connector": "delta", "table-path": "/nowhere", **options}
    table = Table(pathlib.Path("/nowhere"), "id INT")
    with pytest.raises(ValidationError, match=what):
        find_connector(given, "cat.db.t").validate(table.table, "source")

"""The package of docs/custom_connectors.md, installed as anybody would: found by name, read, written exactly once."""

from __future__ import annotations

import configparser
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common.errors import ExternalSystemError, ValidationError
from penstock.connectors.registry import connector_names
from penstock.table import EnvironmentSettings, TableEnvironment
from tests.connectors.epochs import SinkLoop, SourceLoop
from tests.connectors.jdbc.jdbc_tables import SqliteFile
from tests.connectors.packages import on_the_path
from tests.connectors.scripted import in_this_process

ROOT = pathlib.Path(__file__).parents[2]
PACKAGE = ROOT / "examples" / "custom_connector"
MODULES = ("penstock_ledger", "penstock_ledger.table", "penstock_ledger.source", "penstock_ledger.sink")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with the installed package."""
    target = tmp_path_factory.mktemp("site")
    source = tmp_path_factory.mktemp("source") / "package"
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__"))
    if importlib.util.find_spec("hatchling") is not None:
        flags = ["--quiet", "--no-deps", "--no-build-isolation", "--target", str(target)]
        subprocess.run([sys.executable, "-m", "pip", "install", *flags, str(source)], check=True)
    else:
        unpack(source, target)
    return target


def unpack(source: pathlib.Path, target: pathlib.Path) -> None:
    """What pip would do, where the package's build backend is missing."""
    shutil.copytree(source / "penstock_ledger", target / "penstock_ledger")
    project = configparser.ConfigParser(delimiters=("=",))
    project.read(source / "pyproject.toml")
    points = project['project.entry-points."penstock.connectors"']
    info = target / "penstock_ledger-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: penstock-ledger\nVersion: 1.0\n")
    lines = [f"{name} = {value.strip(chr(34))}" for name, value in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[penstock.connectors]", *lines]) + "\n")


@pytest.fixture
def ledger(site: pathlib.Path) -> Iterator[None]:
    with on_the_path(site, MODULES):
        yield


@pytest.fixture
def db(tmp_path: pathlib.Path) -> SqliteFile:
    db = SqliteFile(tmp_path / "shop.db")
    db.execute(
        "CREATE TABLE orders (item TEXT, amount INTEGER)",
        "INSERT INTO orders VALUES ('pen', 3), ('ink', 1), ('pen', 4), ('nib', 9)",
        "CREATE TABLE totals (item TEXT PRIMARY KEY, total INTEGER)",
        "CREATE TABLE copies (place INTEGER, item TEXT)",
    )
    return db


DECLARATIONS = (
    "orders (item STRING NOT NULL, amount BIGINT, place BIGINT METADATA FROM 'rowid' VIRTUAL)",
    "totals (item STRING, total BIGINT, PRIMARY KEY (item) NOT ENFORCED)",
    "copies (place BIGINT, item STRING)",
)
TOTALS = "INSERT INTO totals SELECT item, SUM(amount) FROM orders GROUP BY item"
COPIES = "INSERT INTO copies SELECT place, item FROM orders"


def environment(path: pathlib.Path, mode: str, bounded: str = "true") -> TableEnvironment:
    batch, streaming = EnvironmentSettings.in_batch_mode(), EnvironmentSettings.in_streaming_mode()
    env = TableEnvironment.create(batch if mode == "batch" else streaming)
    env.get_config().set("parallelism.default", "2")
    env.get_config().set("restart-strategy.type", "fixed-delay")
    env.get_config().set("restart-strategy.fixed-delay.delay", "1 ms")
    env.get_config().set("restart-strategy.fixed-delay.attempts", "100")
    for declaration in DECLARATIONS:
        name = declaration.split()[0]
        more = f", 'scan.bounded' = '{bounded}'" if name == "orders" else ""
        options = f"'connector' = 'ledger', 'path' = '{path}', 'table' = '{name}'{more}"
        env.execute_sql(f"CREATE TABLE {declaration} WITH ({options})")
    return env


def test_the_page_shows_what_is_in_the_files() -> None:
    blocks = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "custom_connectors.md").read_text(), re.DOTALL
    )
    files = [path.read_text() for path in (PACKAGE / "penstock_ledger").glob("*.py")]
    assert len(blocks) >= 3
    for block in blocks:
        assert any(block in text for text in files), block
    assert all(text.count("\n") < 100 for text in files)


def test_the_name_is_known(ledger: None) -> None:
    assert "ledger" in connector_names()


def test_its_options_and_types_are_checked(ledger: None, db: SqliteFile) -> None:
    env = environment(db.path, "streaming")
    for columns, options, message in (
        ("a BIGINT", "'path' = 'x'", "required option 'table' is missing"),
        ("a BIGINT", "'path' = 'x', 'table' = 't', 'tabel' = 't'", "no option 'tabel'"),
        ("a DATE", "'path' = 'x', 'table' = 't'", "column 'a' has a type that a ledger cannot keep"),
    ):
        env.execute_sql(f"CREATE TABLE bad ({columns}) WITH ('connector' = 'ledger', {options})")
        with pytest.raises(ValidationError, match=message):
            env.execute_sql("INSERT INTO copies SELECT 1, CAST(a AS STRING) FROM bad")
        env.execute_sql("DROP TABLE bad")


def test_streaming_statements_read_group_and_write(ledger: None, db: SqliteFile) -> None:
    env = environment(db.path, "streaming")
    with in_this_process():
        env.execute_sql(TOTALS).wait()
        env.execute_sql(COPIES).wait()
    assert db.execute("SELECT * FROM totals ORDER BY item") == [("ink", 1), ("nib", 9), ("pen", 7)]
    assert db.execute("SELECT * FROM copies ORDER BY place") == [
        (1, "pen"),
        (2, "ink"),
        (3, "pen"),
        (4, "nib"),
    ]


def test_rows_that_come_while_a_query_runs_are_read(ledger: None, db: SqliteFile) -> None:
    env = environment(db.path, "streaming", bounded="false")
    with in_this_process():
        result = env.execute_sql("SELECT item, SUM(amount) AS total FROM orders GROUP BY item")
        with result.collect() as found:
            seen = [next(found) for _ in range(5)]
            db.execute("INSERT INTO orders VALUES ('ink', 5)")
            seen += [next(found) for _ in range(2)]
    changes = [(str(row.get_row_kind()), *row) for row in seen]
    assert sorted(changes[:5]) == [  # subtasks in any order
        ("+I", "ink", 1),
        ("+I", "nib", 9),
        ("+I", "pen", 3),
        ("+U", "pen", 7),
        ("-U", "pen", 3),
    ]
    assert changes[5:] == [("-U", "ink", 1), ("+U", "ink", 6)]


@pytest.mark.parametrize("statement", [TOTALS, COPIES])
def test_epochs_that_fail_are_written_once(ledger: None, db: SqliteFile, statement: str) -> None:
    """Every epoch fails at every level, each time when part of its tasks have run."""
    db.execute(*(f"INSERT INTO orders VALUES ('i{n % 7}', {n})" for n in range(2500)))
    env = environment(db.path, "streaming")
    env.get_config().set("execution.epoch.max-records", "1000")
    failed: set[tuple[int, int]] = set()

    def interfere(plan: Any, partition: int) -> None:
        if partition == 1 and (plan.epoch, plan.level) not in failed:
            failed.add((plan.epoch, plan.level))
            raise ExternalSystemError("the machine is gone")

    with in_this_process(interfere):
        env.execute_sql(statement).wait()
    assert len({epoch for epoch, _ in failed}) >= 3
    if statement == TOTALS:
        expected = db.execute("SELECT item, sum(amount) FROM orders GROUP BY item ORDER BY item")
        assert db.execute("SELECT * FROM totals ORDER BY item") == expected
    else:
        assert db.execute("SELECT * FROM copies ORDER BY place") == db.execute(
            "SELECT rowid, item FROM orders"
        )


def test_the_sink_takes_every_crash(ledger: None, db: SqliteFile) -> None:
    from penstock_ledger.sink import LedgerSink

    loop = SinkLoop(LedgerSink(str(db.path), "copies", ["place", "item"], [], False), parallelism=2)
    loop.run_epoch([[(1, "a")], [(2, "b")]], crash="writing")
    loop.run_epoch([[(1, "a")], [(2, "b")]], crash="prepared")
    loop.run_epoch([[(1, "a")], [(2, "b")]], crash="publishing")
    loop.recover()
    loop.recover()
    loop.run_epoch([[], [(3, "c")]])
    assert db.execute("SELECT * FROM copies ORDER BY place") == [(1, "a"), (2, "b"), (3, "c")]


def test_the_source_takes_every_crash(ledger: None, db: SqliteFile) -> None:
    from penstock_ledger.source import LedgerSource

    db.execute(*(f"INSERT INTO orders VALUES ('i', {n})" for n in range(2500)))
    loop = SourceLoop(LedgerSource(str(db.path), "orders", ["amount"], True), max_records=1)
    loop.run_epoch()
    loop.run_epoch(crash=True)
    loop.recover()
    assert loop.run_to_end() == db.execute("SELECT amount FROM orders")


PROGRAM = """
import sys
from tests.connectors.test_custom_connector import COPIES, TOTALS, environment

path, mode = sys.argv[1:]
env = environment(path, mode)
for statement in (TOTALS, COPIES, COPIES):
    env.execute_sql(statement).wait()
if mode == "batch":
    with env.execute_sql("SELECT item, SUM(amount) FROM orders GROUP BY item ORDER BY item").collect() as found:
        print(*[tuple(row) for row in found], file=sys.stderr)
"""


@pytest.mark.spark
@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_spark_runs_it_in_both_modes(site: pathlib.Path, db: SqliteFile, mode: str) -> None:
    """In a process of its own, whose tasks find the package as the program does."""
    paths = os.pathsep.join([str(site), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(db.path), mode],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert db.execute("SELECT * FROM totals ORDER BY item") == [("ink", 1), ("nib", 9), ("pen", 7)]
    once = [(1, "pen"), (2, "ink"), (3, "pen"), (4, "nib")]
    assert db.execute("SELECT * FROM copies ORDER BY place") == sorted(once * 2)
    if mode == "batch":
        assert "('ink', 1) ('nib', 9) ('pen', 7)" in done.stderr

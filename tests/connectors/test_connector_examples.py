"""The examples of docs/custom_connectors.md, without Spark."""

import importlib.util
import pathlib
import sqlite3

from epochs import SinkLoop, SourceLoop

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "connectors"


def example(name):
    import sys

    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_the_table_source_reads_every_row_once(tmp_path):
    path = str(tmp_path / "t.db")
    rows = [(f"n{i}", i) for i in range(2500)]
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE orders (name TEXT, amount INTEGER)")
        db.executemany("INSERT INTO orders VALUES (?, ?)", rows)
    db.close()
    loop = SourceLoop(example("custom_source").TableSource(path, "orders"), max_records=1)
    loop.run_epoch()
    loop.run_epoch(crash=True)
    loop.recover()
    assert loop.run_to_end() == rows


def test_the_table_sink_writes_every_row_once(tmp_path):
    path = str(tmp_path / "t.db")
    loop = SinkLoop(example("custom_sink").TableSink(path), parallelism=2)
    loop.run_epoch([[("a", 1)], [("b", 1)]], crash="prepared")
    loop.run_epoch([[("a", 1)], [("b", 1)]], crash="publishing")
    loop.recover()
    loop.recover()
    loop.run_epoch([[("c", 1)], []])
    db = sqlite3.connect(path)
    assert sorted(db.execute("SELECT * FROM words")) == [("a", 1), ("b", 1), ("c", 1)]
    db.close()

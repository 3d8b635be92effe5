"""NOT NULL and type lengths of the columns that INSERT writes; every expectation is real Flink's answer."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from penstock.common.errors import PenstockError, ValidationError
from penstock.table import EnvironmentSettings, TableEnvironment

pytestmark = pytest.mark.spark

LONG = "ä€😀xyz"


@pytest.fixture(params=["batch", "streaming"])
def env(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> TableEnvironment:
    settings = EnvironmentSettings.in_batch_mode()
    if request.param == "streaming":
        settings = EnvironmentSettings.in_streaming_mode()
    made = TableEnvironment.create(settings)
    file = tmp_path / "in.jsonl"
    rows: list[dict[str, Any]] = [{"id": 1}]
    for number, (text, data) in enumerate([("a", "YQ=="), ("abc", "YWJj"), (LONG, "YWJjZGU=")], 2):
        rows.append({"id": number, "s": text, "c3": text, "v3": text, "b3": data, "vb3": data})
    file.write_text("\n".join(json.dumps(row) for row in rows))
    made.execute_sql(
        "CREATE TABLE src (id INT, s STRING, c3 CHAR(3), v3 VARCHAR(3), b3 BINARY(3), vb3 VARBINARY(3)) WITH "
        f"('connector' = 'filesystem', 'path' = '{file.as_uri()}', 'format' = 'json')"
    )
    return made


def written(env: TableEnvironment, folder: pathlib.Path, columns: str, query: str) -> list[list[Any]]:
    """Inserts the query into a table of these columns and reads the files back as they are."""
    place = folder / "out"
    env.execute_sql(
        f"CREATE TABLE sink ({columns}) WITH "
        f"('connector' = 'filesystem', 'path' = '{place.as_uri()}', 'format' = 'json')"
    )
    env.execute_sql(f"INSERT INTO sink {query}").wait()
    lines = [line for file in place.rglob("*") if file.is_file() for line in file.read_text().splitlines()]
    return sorted((list(json.loads(line).values()) for line in lines), key=repr)


def test_a_null_for_a_not_null_column_fails_the_job(env: TableEnvironment, tmp_path: pathlib.Path) -> None:
    with pytest.raises(PenstockError, match="column 's' is NOT NULL, however, a null value"):
        written(env, tmp_path, "id INT, s STRING NOT NULL", "SELECT id, s FROM src")


def test_rows_with_such_a_null_may_be_dropped(env: TableEnvironment, tmp_path: pathlib.Path) -> None:
    env.get_config().set("table.exec.sink.not-null-enforcer", "DROP")
    rows = written(env, tmp_path, "id INT, s STRING NOT NULL", "SELECT id, s FROM src")
    assert rows == [[2, "a"], [3, "abc"], [4, LONG]]


def test_a_column_that_is_left_out_must_allow_null(env: TableEnvironment, tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValidationError):
        written(env, tmp_path, "id INT, s STRING NOT NULL", "(id) SELECT id FROM src")


def test_lengths_are_not_looked_at_by_default(env: TableEnvironment, tmp_path: pathlib.Path) -> None:
    rows = written(env, tmp_path, "c CHAR(3), v VARCHAR(3)", "SELECT c3, v3 FROM src WHERE id > 1")
    assert rows == [["a", "a"], ["abc", "abc"], [LONG, LONG]]


def test_values_are_cut_and_padded_if_asked_for(env: TableEnvironment, tmp_path: pathlib.Path) -> None:
    env.get_config().set("table.exec.sink.type-length-enforcer", "TRIM_PAD")
    columns = "id INT, c CHAR(3), v VARCHAR(3), b BINARY(3), vb VARBINARY(3)"
    rows = written(env, tmp_path, columns, "SELECT id, c3, v3, b3, vb3 FROM src WHERE id > 1")
    assert rows == [
        [2, "a  ", "a", "YQAA", "YQ=="],
        [3, "abc", "abc", "YWJj", "YWJj"],
        [4, "ä€😀", "ä€😀", "YWJj", "YWJj"],
    ]


def test_a_wrong_length_fails_the_job_if_asked_for(env: TableEnvironment, tmp_path: pathlib.Path) -> None:
    env.get_config().set("table.exec.sink.type-length-enforcer", "ERROR")
    with pytest.raises(PenstockError, match=r"column 'c' is CHAR\(3\), however, a value of another length"):
        written(env, tmp_path, "c CHAR(3)", "SELECT c3 FROM src WHERE id = 2")


def test_longer_types_are_cast_whatever_the_setting(env: TableEnvironment, tmp_path: pathlib.Path) -> None:
    columns = "v VARCHAR(3), c CHAR(5)"
    assert written(env, tmp_path, columns, "SELECT s, c3 FROM src WHERE id > 2") == [
        ["abc", "abc  "],
        ["ä€😀", "ä€😀xy"],
    ]


@pytest.mark.parametrize("query", ["SELECT s FROM src", "SELECT CAST(s AS VARCHAR(3)) FROM src"])
def test_varchar_is_not_stored_as_char(env: TableEnvironment, tmp_path: pathlib.Path, query: str) -> None:
    with pytest.raises(ValidationError, match="do not match"):
        written(env, tmp_path, "c CHAR(3)", query)


def test_an_unknown_setting_is_refused(env: TableEnvironment, tmp_path: pathlib.Path) -> None:
    env.get_config().set("table.exec.sink.type-length-enforcer", "FOO")
    with pytest.raises(ValidationError, match="cannot be 'FOO'"):
        written(env, tmp_path, "c CHAR(3)", "SELECT c3 FROM src")

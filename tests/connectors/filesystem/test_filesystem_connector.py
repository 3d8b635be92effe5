"""Tables of files, read and written through Spark."""

from __future__ import annotations

import datetime as dt
import gzip
import pathlib
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from penstock.common.errors import ExternalSystemError, MalformedRecordError, ValidationError
from penstock.connectors.registry import find_connector
from penstock.sql.spark import connector_io
from penstock.sql.spark.errors import penstock_error

pytestmark = pytest.mark.spark


def options(path: pathlib.Path, format_name: str, **more: str) -> dict[str, str]:
    return {"connector": "filesystem", "path": path.as_uri(), "format": format_name, **more}


def visible(folder: pathlib.Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_csv_rows_keep_file_order_across_files(
    make_table: Callable[..., Any], tmp_path: pathlib.Path
) -> None:
    (tmp_path / "b.csv").write_text("3,c\n4,d\n")
    (tmp_path / "a.csv").write_text("1,a\n2,b\n")
    assert make_table("id INT, name STRING", options(tmp_path, "csv")).read() == [
        (1, "a"),
        (2, "b"),
        (3, "c"),
        (4, "d"),
    ]


def test_hidden_files_and_folders_are_skipped(make_table: Callable[..., Any], tmp_path: pathlib.Path) -> None:
    for name in ("1.csv", "_2.csv", ".3.csv", "sub/4.csv", "_sub/5.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(pathlib.Path(name).stem.lstrip("._") + "\n")
    assert make_table("id INT", options(tmp_path, "csv")).read() == [(1,), (4,)]


def test_regex_pattern_selects_files_by_whole_path(
    make_table: Callable[..., Any], tmp_path: pathlib.Path
) -> None:
    (tmp_path / "1x.csv").write_text("1\n")
    (tmp_path / "2y.csv").write_text("2\n")
    pattern = {"source.path.regex-pattern": r".*/\dx\.csv"}
    assert make_table("id INT", options(tmp_path, "csv", **pattern)).read() == [(1,)]


def test_compressed_files_are_decompressed_by_their_ending(
    make_table: Callable[..., Any], tmp_path: pathlib.Path
) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"1\n2\n"))
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(b'{"id":7}\n'))
    assert make_table("id INT", options(tmp_path / "a.csv.gz", "csv")).read() == [(1,), (2,)]
    assert make_table("id INT", options(tmp_path / "b.json.gz", "json")).read() == [(7,)]


def test_metadata_columns_follow_the_physical_ones(
    make_table: Callable[..., Any], tmp_path: pathlib.Path
) -> None:
    (tmp_path / "a.csv").write_text("1\n22\n")
    table = make_table("id INT", options(tmp_path, "csv"), metadata=("file.name", "file.size", "file.path"))
    path = str(tmp_path / "a.csv")
    assert table.read() == [(1, "a.csv", 5, path), (22, "a.csv", 5, path)]


def test_partition_values_come_from_folder_names(
    make_table: Callable[..., Any], tmp_path: pathlib.Path
) -> None:
    for folder in (
        "yr=2023/region=eu",
        "yr=2024/region=north%2Fwest",
        "yr=2024/region=__DEFAULT_PARTITION__",
    ):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "f.csv").write_text("x\n")
    table = make_table(
        "msg STRING, yr INT, region STRING", options(tmp_path, "csv"), partitioned_by=("yr", "region")
    )
    assert sorted(table.read(), key=str) == [
        ("x", 2023, "eu"),
        ("x", 2024, "north/west"),
        ("x", 2024, None),
    ]


def test_a_column_that_is_not_needed_may_hold_anything(
    make_table: Callable[..., Any], tmp_path: pathlib.Path
) -> None:
    (tmp_path / "a.csv").write_text("oops,1\n")
    assert make_table("a INT, b INT", options(tmp_path, "csv")).read(columns=["b"]) == [(None, 1)]


def test_changelog_formats_give_kind_and_arrival_order(
    make_table: Callable[..., Any], tmp_path: pathlib.Path
) -> None:
    (tmp_path / "a.json").write_text(
        '{"before":null,"after":{"id":1},"op":"c"}\n{"before":{"id":1},"after":{"id":2},"op":"u"}\n'
    )
    (tmp_path / "b.json").write_text('{"before":{"id":2},"after":null,"op":"d"}\n')
    rows = make_table("id INT", options(tmp_path, "debezium-json")).read()
    assert [row[:2] for row in rows] == [(1, 0), (1, 1), (2, 2), (2, 3)]
    assert [row[2] for row in rows] == sorted(row[2] for row in rows)


def test_a_malformed_record_names_file_line_and_value(
    make_table: Callable[..., Any], tmp_path: pathlib.Path
) -> None:
    (tmp_path / "t.csv").write_text("1\nmuch\n")
    with pytest.raises(Exception) as caught:
        make_table("id INT", options(tmp_path, "csv")).read()
    error = penstock_error(caught.value)
    assert isinstance(error, MalformedRecordError)
    assert "'much' is not an integer" in error.what
    assert error.where == f"{tmp_path}/t.csv, line 2"
    assert "csv.ignore-parse-errors" in (error.do or "")


def test_a_missing_path_is_an_error(make_table: Callable[..., Any], tmp_path: pathlib.Path) -> None:
    with pytest.raises(ExternalSystemError, match="does not exist"):
        make_table("id INT", options(tmp_path / "none", "csv")).read()


def test_an_endless_table_is_refused_in_batch(make_table: Callable[..., Any], tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValidationError, match="never ends"):
        make_table("id INT", options(tmp_path, "csv", **{"source.monitor-interval": "1 s"})).read()


ALL_TYPES = (
    "a TINYINT, b BIGINT, c FLOAT, d DOUBLE, e BOOLEAN, f DECIMAL(10, 2), g BYTES, h DATE, i TIME(3),"
    " j TIMESTAMP(6), k ARRAY<INT>, l ROW<x INT, y STRING>, m STRING"
)
ALL_VALUES = (
    "SELECT 1Y a, 5L b, 1.5F c, 0.25D d, true e, 120.00BD f, X'6869' g, DATE'2024-02-29' h,"
    " TIME'12:34:56.789' i, TIMESTAMP_NTZ'2024-01-02 03:04:05.123456' j, array(1, 2) k,"
    " named_struct('x', 1, 'y', 'q') l, 'text, with \"quotes\"' m"
)
ALL_ROW = (
    1,
    5,
    1.5,
    0.25,
    True,
    Decimal("120.00"),
    bytearray(b"hi"),
    dt.date(2024, 2, 29),
    dt.time(12, 34, 56, 789000),
    dt.datetime(2024, 1, 2, 3, 4, 5, 123456),
    [1, 2],
    (1, "q"),
    'text, with "quotes"',
)


@pytest.mark.parametrize("format_name", ["csv", "json", "avro", "parquet"])
def test_every_type_comes_back_as_it_was_written(
    make_table: Callable[..., Any], tmp_path: pathlib.Path, format_name: str
) -> None:
    table = make_table(ALL_TYPES, options(tmp_path / "t", format_name))
    table.write(ALL_VALUES)
    assert table.read() == [ALL_ROW]


@pytest.mark.parametrize("format_name", ["json", "avro", "parquet", "orc"])
def test_maps_and_nulls_come_back_as_they_were_written(
    make_table: Callable[..., Any], tmp_path: pathlib.Path, format_name: str
) -> None:
    table = make_table("m MAP<STRING, INT>, n INT", options(tmp_path / "t", format_name))
    table.write("SELECT map('k', 1) m, CAST(NULL AS INT) n UNION ALL SELECT NULL, 5")
    assert sorted(table.read(), key=str) == [(None, 5), ({"k": 1}, None)]


@pytest.mark.parametrize("format_name", ["csv", "parquet"])
def test_overwrite_replaces_only_partitions_that_receive_rows(
    make_table: Callable[..., Any], tmp_path: pathlib.Path, format_name: str
) -> None:
    table = make_table("v INT, day STRING", options(tmp_path / "t", format_name), partitioned_by=("day",))
    table.write("SELECT * FROM VALUES (1, 'mon'), (2, 'tue'), (3, NULL) AS t(v, day)")
    table.write("SELECT 9, 'mon'", overwrite=True)
    assert sorted(table.read(), key=str) == [(2, "tue"), (3, None), (9, "mon")]
    assert {name.split("/")[0] for name in visible(tmp_path / "t") if "part-" in name} == {
        "day=mon",
        "day=tue",
        "day=__DEFAULT_PARTITION__",
    }


def test_overwriting_a_plain_table_with_nothing_empties_it(
    make_table: Callable[..., Any], tmp_path: pathlib.Path
) -> None:
    table = make_table("v INT", options(tmp_path / "t", "json"))
    table.write("SELECT 1")
    table.write("SELECT 2 WHERE false", overwrite=True)
    assert table.read() == []


def test_a_failed_write_leaves_nothing_behind(make_table: Callable[..., Any], tmp_path: pathlib.Path) -> None:
    table = make_table("v INT", options(tmp_path / "t", "csv"))
    table.write("SELECT 1")
    before = visible(tmp_path)
    with pytest.raises(Exception, match="boom"):
        table.write("SELECT IF(id = 99, CAST(raise_error('boom') AS INT), CAST(id AS INT)) v FROM range(100)")
    assert visible(tmp_path) == before


def test_a_success_file_marks_each_committed_partition(
    make_table: Callable[..., Any], tmp_path: pathlib.Path
) -> None:
    policy = {"sink.partition-commit.policy.kind": "success-file"}
    table = make_table("v INT, p INT", options(tmp_path / "t", "csv", **policy), partitioned_by=("p",))
    table.write("SELECT 1, 7")
    assert (tmp_path / "t" / "p=7" / "_SUCCESS").exists()
    assert table.read() == [(1, 7)]


@pytest.mark.parametrize("format_name", ["csv", "parquet", "orc"])
def test_large_files_are_rolled(
    make_table: Callable[..., Any], tmp_path: pathlib.Path, format_name: str
) -> None:
    size = {"sink.rolling-policy.file-size": "100 kb"}
    table = make_table(
        "id BIGINT, v STRING, p INT", options(tmp_path / "t", format_name, **size), partitioned_by=("p",)
    )
    table.write("SELECT id, sha2(CAST(id AS STRING), 512) v, 1 p FROM range(0, 6000, 1, 1)")
    sizes = [file.stat().st_size for file in (tmp_path / "t" / "p=1").glob("part-*")]
    assert len(sizes) > 3
    assert max(sizes) < 150_000
    assert sorted(row[0] for row in table.read()) == list(range(6000))


@pytest.mark.parametrize(
    ("more", "files"),
    [
        ({"sink.parallelism": "2"}, 4),
        ({"sink.shuffle-by-partition.enable": "true"}, 2),
        ({"sink.shuffle-by-partition.enable": "true", "sink.parallelism": "1"}, 2),
    ],
)
def test_the_number_of_writing_tasks_decides_about_the_number_of_files(
    make_table: Callable[..., Any], tmp_path: pathlib.Path, more: dict[str, str], files: int
) -> None:
    table = make_table("v BIGINT, p BIGINT", options(tmp_path / "t", "json", **more), partitioned_by=("p",))
    table.write("SELECT id AS v, id % 2 AS p FROM range(0, 100, 1, 3)")
    assert len(visible(tmp_path / "t")) == files
    assert sorted(table.read()) == [(n, n % 2) for n in range(100)]


def test_one_writing_task_keeps_the_order_of_the_rows(
    make_table: Callable[..., Any], tmp_path: pathlib.Path
) -> None:
    table = make_table("v BIGINT", options(tmp_path / "t", "csv", **{"sink.parallelism": "1"}))
    table.write("SELECT id AS v FROM range(0, 100, 1, 3) ORDER BY id DESC")
    assert table.read() == [(n,) for n in reversed(range(100))]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"connector": "carrier-pigeon"}, "no connector 'carrier-pigeon'"),
        ({"format": "papyrus"}, "no format 'papyrus'"),
        ({"colour": "red"}, "no option 'colour'"),
        ({"json.ignore-parse-errors": "true"}, "no option 'json.ignore-parse-errors'"),
        ({"csv.ignore-parse-errors": "maybe"}, "invalid value 'maybe'"),
        ({"csv.field-delimiter": "ab"}, "invalid value 'ab'"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    tmp_path: pathlib.Path, changed: dict[str, str], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        find_connector({**options(tmp_path, "csv"), **changed}, "t")


def test_unknown_options_of_the_format_are_accepted(tmp_path: pathlib.Path) -> None:
    find_connector(options(tmp_path, "csv", **{"csv.colour": "red"}), "t")


@pytest.mark.parametrize("missing", ["path", "format"])
def test_required_options_are_named(tmp_path: pathlib.Path, missing: str) -> None:
    given = options(tmp_path, "csv")
    del given[missing]
    with pytest.raises(ValidationError, match=f"'{missing}' is missing"):
        find_connector(given, "t")


def test_an_unknown_metadata_key_is_refused(make_table: Callable[..., Any], tmp_path: pathlib.Path) -> None:
    table = make_table("v INT", options(tmp_path, "csv"), metadata=("file.owner",))
    with pytest.raises(ValidationError, match=r"no metadata key 'file\.owner'"):
        table.connector.validate(table.table, "source")


def test_two_columnar_tables_in_one_query_do_not_share_a_view(
    make_table: Callable[..., Any], spark: Any, tmp_path: pathlib.Path
) -> None:
    tables = [make_table("v INT", options(tmp_path / name, "parquet")) for name in ("one", "two")]
    relations = []
    for value, table in enumerate(tables):
        table.write(f"SELECT {value}")
        relations.append(connector_io.relation(spark, table.connector, table.table))
    rows = spark.sql(" UNION ALL ".join(f"SELECT v FROM {relation}" for relation in relations)).collect()
    assert sorted(row.v for row in rows) == [0, 1]


def test_a_columnar_view_is_kept_until_the_files_are_others(
    make_table: Callable[..., Any], tmp_path: pathlib.Path
) -> None:
    table = make_table("v INT", options(tmp_path / "t", "parquet"))
    table.write("SELECT 1 AS v")
    views = [connector_io.relation(table.spark, table.connector, table.table) for _ in range(2)]
    assert views[0] == views[1]
    joined = table.spark.sql(f"SELECT a.v, b.v FROM {views[0]} a JOIN {views[1]} b ON a.v = b.v")
    assert [tuple(row) for row in joined.collect()] == [(1, 1)]
    table.write("SELECT 2 AS v")
    assert sorted(table.read()) == [(1,), (2,)]
    table.write("SELECT 3 AS v", overwrite=True)
    assert table.read() == [(3,)]

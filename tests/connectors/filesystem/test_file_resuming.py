"""Files that are read in many epochs: reading goes on where it stopped, not from the file's beginning."""

from __future__ import annotations

import pathlib
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest

from penstock.catalog.objects import CatalogTable
from penstock.catalog.schema import Schema, SchemaColumn
from penstock.common.datatype_parser import parse_type
from penstock.connectors.filesystem import blocks
from penstock.connectors.filesystem.files import FileStore
from penstock.connectors.registry import find_connector
from penstock.connectors.source import BadRecord
from tests.connectors.epochs import SourceLoop

ROWS = [(i, f"line {i}\nof 'quotes', and \\ signs" if i % 7 == 0 else f"ü{i}") for i in range(3000)]


def source(path: pathlib.Path, by: tuple[str, ...] = (), **options: str) -> Any:
    columns = "id INT, v STRING" + "".join(f", {name} STRING" for name in by)
    fields = parse_type(f"ROW<{columns}>").fields
    given = {name.replace("__", ".").replace("_", "-"): value for name, value in options.items()}
    options = {"connector": "filesystem", "path": str(path), **given}
    schema = Schema(tuple(SchemaColumn(f.name, f.data_type) for f in fields))
    connector = find_connector(options, "t")
    table = CatalogTable(schema, options, partition_keys=by)
    connector.validate(table, "source")
    return connector.source(table)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes at which files were opened."""
    found: list[int] = []
    real = FileStore.open_from

    def noted(self: FileStore, path: str, byte: int) -> Any:
        found.append(byte)
        return real(self, path, byte)

    monkeypatch.setattr(FileStore, "open_from", noted)
    return found


def write_csv(path: pathlib.Path, start: str = "") -> None:
    def quoted(text: str) -> str:
        escaped = text.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"

    path.write_text(start + "".join(f"{i};{quoted(v)}\n# a comment; it's one\n" for i, v in ROWS))


@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_csv_of_another_dialect(
    tmp_path: pathlib.Path, opened: list[int], monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    monkeypatch.setattr(blocks, "_CODEC_ROWS", 100)
    write_csv(tmp_path / "a.csv", start)
    dialect = {
        "csv__field_delimiter": ";", "csv__quote_character": "'", "csv__escape_character": "\\",
        "csv__allow_comments": "true",
    }  # fmt: skip
    made = source(tmp_path, format="csv", **dialect)
    assert SourceLoop(made).run_to_end() == ROWS
    opened.clear()
    loop = SourceLoop(made, max_records=70)
    loop.run_epoch(crash=True)
    loop.recover()
    assert loop.run_to_end() == ROWS
    assert max(opened) > 50_000 and opened == sorted(opened)


def test_avro(tmp_path: pathlib.Path, opened: list[int]) -> None:
    fastavro = pytest.importorskip("fastavro")
    fields = [{"name": "id", "type": ["null", "int"]}, {"name": "v", "type": ["null", "string"]}]
    schema = {"type": "record", "name": "r", "fields": fields}
    with (tmp_path / "a.avro").open("wb") as file:
        fastavro.writer(file, schema, [{"id": i, "v": v} for i, v in ROWS], sync_interval=4000)
    made = source(tmp_path, format="avro")
    assert SourceLoop(made).run_to_end() == ROWS
    opened.clear()
    loop = SourceLoop(made, max_records=70)
    loop.run_epoch(crash=True)
    loop.recover()
    assert loop.run_to_end() == ROWS
    assert max(opened) > 0.9 * (tmp_path / "a.avro").stat().st_size


def test_partitions_that_come_later_are_found(tmp_path: pathlib.Path) -> None:
    def write(day: str, *ids: int) -> None:
        folder = tmp_path / f"day={day}"
        folder.mkdir(exist_ok=True)
        (folder / f"{ids[0]}.csv").write_text("".join(f"{i},x\n" for i in ids))

    write("mon", 1, 2)
    loop = SourceLoop(source(tmp_path, ("day",), format="csv", source__monitor_interval="0 s"))
    loop.run_epoch()
    write("tue", 3)
    write("mon", 4)
    loop.run_epoch(crash=True)
    loop.recover()
    loop.run_epoch()
    assert sorted(loop.values) == [(1, "x", "mon"), (2, "x", "mon"), (3, "x", "tue"), (4, "x", "mon")]


class Buried(SourceLoop):
    """Notes what cannot be read: for the whole loop, and only of epochs that are committed."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.bad: list[BadRecord] = []
        self._now: list[BadRecord] = []

    def _read(self, state: Any, limit: Any) -> Any:
        create = self.source.create_reader

        def opened() -> Any:
            reader = create()
            real = reader.open
            reader.open = lambda context: real(replace(context, poison=self._now.append))
            return reader

        with mock.patch.object(type(self.source), "create_reader", lambda _: opened()):
            return super()._read(state, limit)

    def run_epoch(self, crash: bool = False) -> int:
        self._now = []
        count = super().run_epoch(crash)
        self.bad += [] if crash else self._now
        return count


@pytest.mark.parametrize("max_records", [None, 1, 3, 100])
@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ({"format": "csv"}, ["{i},x", "no number,y"]),
        ({"format": "csv", "csv__allow_comments": "true"}, ["{i},x", "no number,y"]),
        ({"format": "json"}, ['{{"id": {i}, "v": "x"}}', "no json"]),
    ],
    ids=["csv", "csv of another dialect", "json"],
)
def test_every_unreadable_record_is_told_of_once(
    tmp_path: pathlib.Path, options: dict[str, str], lines: list[str], max_records: int | None
) -> None:
    good, bad = lines
    poison = {0, 1, 7, 12, 13, 19}
    texts = [bad if i in poison else good.format(i=i) for i in range(20)]
    for name in ("a", "b"):
        (tmp_path / name).write_text("".join(f"{text}\n" for text in texts))
    loop = Buried(source(tmp_path, **options), max_records=max_records)
    loop.run_epoch(crash=True)
    loop.recover()
    assert loop.run_to_end() == [(i, "x") for i in range(20) if i not in poison] * 2
    assert [(b.split[-1], int(b.offset)) for b in loop.bad] == [
        (f, i + 1) for f in "ab" for i in sorted(poison)
    ]
    assert {b.raw for b in loop.bad} == {bad.encode()}

"""Change events of Debezium, Canal and Maxwell; every expectation was asked of Flink 2.3."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common.datatype_parser import parse_type
from penstock.common.errors import MalformedRecordError
from penstock.formats import RecordContext, find_format

ROW_TYPE = parse_type("ROW<id INT, v STRING>")


def decode(name: str, record: str, **options: str) -> list[tuple[int, tuple[Any, ...]]]:
    file_format = find_format(name)
    assert file_format.decoder is not None
    table = {f"{name}.{key.replace('_', '-')}": value for key, value in options.items()}
    return file_format.decoder(ROW_TYPE, file_format.read_options(table)).decode(record, RecordContext())


LENIENT = {"ignore_parse_errors": "true"}


def test_debezium_events_become_changes() -> None:
    create = '{"before":null,"after":{"id":1,"v":"a"},"op":"c"}'
    update = '{"before":{"id":1,"v":"a"},"after":{"id":1,"v":"b"},"op":"u"}'
    delete = '{"before":{"id":1,"v":"b"},"after":null,"op":"d"}'
    assert decode("debezium-json", create) == [(0, (1, "a"))]
    assert decode("debezium-json", update) == [(1, (1, "a")), (2, (1, "b"))]
    assert decode("debezium-json", delete) == [(3, (1, "b"))]
    assert decode("debezium-json", "") == []


def test_debezium_events_may_be_wrapped_in_schema_and_payload() -> None:
    wrapped = '{"schema":{},"payload":{"before":null,"after":{"id":1,"v":"a"},"op":"r"}}'
    assert decode("debezium-json", wrapped, schema_include="true") == [(0, (1, "a"))]


@pytest.mark.parametrize(
    "record",
    [
        '{"before":null,"after":{"id":1,"v":"b"},"op":"u"}',
        '{"before":null,"after":{"id":1,"v":"b"},"op":"d"}',
        '{"before":null,"after":null,"op":"c"}',
        '{"before":null,"after":{"id":1,"v":"b"},"op":"x"}',
        '{"before":null,"after":{"id":',
        "not json",
    ],
)
def test_debezium_events_that_make_no_sense_fail_or_are_skipped(record: str) -> None:
    with pytest.raises(MalformedRecordError):
        decode("debezium-json", record)
    assert decode("debezium-json", record, **LENIENT) == []


def test_canal_updates_take_unchanged_fields_from_the_new_row() -> None:
    record = '{"data":[{"id":"1","v":"b"},{"id":"2","v":"d"}],"old":[{"v":"a"},{"v":null}],"type":"UPDATE"}'
    assert decode("canal-json", record) == [
        (1, (1, "a")),
        (2, (1, "b")),
        (1, (2, None)),
        (2, (2, "d")),
    ]


def test_canal_filters_by_database_and_table_as_whole_patterns() -> None:
    record = '{"data":[{"id":"1","v":"a"}],"database":"%s","table":"t","type":"INSERT"}'
    assert decode("canal-json", record % "db1", **{"database.include": "db."}) == [(0, (1, "a"))]
    assert decode("canal-json", record % "xdb1", **{"database.include": "db."}) == []


def test_canal_ignores_create_and_refuses_unknown_types() -> None:
    assert decode("canal-json", '{"data":null,"type":"CREATE"}') == []
    for record in ('{"data":[{"id":"1"}],"type":"insert"}', '{"type":"INSERT"}', '{"data":[]}'):
        with pytest.raises(MalformedRecordError):
            decode("canal-json", record)
        assert decode("canal-json", record, **LENIENT) == []


def test_maxwell_events_become_changes() -> None:
    assert decode("maxwell-json", '{"type":"insert","data":{"id":1,"v":null}}') == [(0, (1, None))]
    update = '{"type":"update","data":{"id":1,"v":"b"},"old":{"v":null}}'
    assert decode("maxwell-json", update) == [(1, (1, None)), (2, (1, "b"))]
    assert decode("maxwell-json", '{"type":"delete","data":{"id":1,"v":"b"}}') == [(3, (1, "b"))]
    with pytest.raises(MalformedRecordError, match="bootstrap-insert"):
        decode("maxwell-json", '{"type":"bootstrap-insert","data":{"id":1}}')


@pytest.mark.parametrize(
    ("name", "added", "removed"),
    [
        (
            "debezium-json",
            '{"before":null,"after":{"id":1,"v":"a"},"op":"c"}',
            '{"before":{"id":1,"v":"a"},"after":null,"op":"d"}',
        ),
        (
            "canal-json",
            '{"data":[{"id":1,"v":"a"}],"type":"INSERT"}',
            '{"data":[{"id":1,"v":"a"}],"type":"DELETE"}',
        ),
        (
            "maxwell-json",
            '{"data":{"id":1,"v":"a"},"type":"insert"}',
            '{"data":{"id":1,"v":"a"},"type":"delete"}',
        ),
    ],
)
def test_both_halves_of_an_update_are_written_as_delete_and_insert(
    name: str, added: str, removed: str
) -> None:
    file_format = find_format(name)
    assert file_format.encoder is not None
    encoder = file_format.encoder(ROW_TYPE, file_format.read_options({}))
    written = [encoder.encode(kind, (1, "a")).decode() for kind in range(4)]
    assert written == [added, removed, added, removed]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("12.50", "12.5"),
        ("1e5", "100000.0"),
        ("0.0001", "1.0E-4"),
        ("1.0", "1.0"),
        ('{"x": 1.50}', '{"x":1.5}'),
    ],
)
def test_numbers_read_as_text_have_become_doubles(value: str, text: str) -> None:
    record = f'{{"before":null,"after":{{"id":1,"v":{value}}},"op":"c"}}'
    assert decode("debezium-json", record) == [(0, (1, text))]

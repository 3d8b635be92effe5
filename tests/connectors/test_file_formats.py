import datetime as dt
from decimal import Decimal

import pyarrow.parquet as pq
import pytest
from epochs import SinkLoop, SourceLoop, travelled

from penstock.common import Row, Types
from penstock.common.datatypes import DataTypes
from penstock.common.errors import MalformedRecordError, TypeMismatchError
from penstock.common.time import Instant
from penstock.connectors.file import columnar, csv
from penstock.connectors.file import source as file_source
from penstock.connectors.file.avro import AvroFileFormat
from penstock.connectors.file.columnar import OrcFileFormat, ParquetFileFormat
from penstock.connectors.file.encoders import SchemaEncoder
from penstock.connectors.file.options import BucketAssigner
from penstock.connectors.file.sink import FileSink
from penstock.connectors.file.source import FileSource
from penstock.connectors.file.text import DecodedLineFormat
from penstock.datastream.formats.avro import (
    AvroBulkWriters,
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSchema,
)
from penstock.datastream.formats.csv import (
    CsvBulkWriters,
    CsvReaderFormat,
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
    CsvSchema,
)
from penstock.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from penstock.datastream.formats.orc import OrcBulkWriters
from penstock.datastream.formats.parquet import (
    AvroParquetReaders,
    AvroParquetWriters,
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
)

PEOPLE = DataTypes.ROW(
    [
        DataTypes.FIELD("name", DataTypes.STRING()),
        DataTypes.FIELD("age", DataTypes.INT()),
        DataTypes.FIELD("born", DataTypes.DATE()),
        DataTypes.FIELD("tags", DataTypes.ARRAY(DataTypes.STRING())),
        DataTypes.FIELD("scores", DataTypes.MAP(DataTypes.STRING(), DataTypes.DOUBLE())),
        DataTypes.FIELD("home", DataTypes.ROW([DataTypes.FIELD("city", DataTypes.STRING())])),
        DataTypes.FIELD("money", DataTypes.DECIMAL(10, 2)),
    ]
)
ROWS = [
    Row(
        name=f"n{i}",
        age=i,
        born=dt.date(2000, 1, 1 + i % 28),
        tags=["a", None],
        scores={"x": i / 2},
        home=Row(city="c"),
        money=Decimal("1.50"),
    )
    for i in range(50)
] + [Row(name=None, age=None, born=None, tags=None, scores=None, home=None, money=None)]


def write(path, factory, epochs):
    builder = FileSink.for_bulk_format(str(path), factory)
    builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    loop = SinkLoop(builder.build())
    for values in epochs:
        loop.run_epoch([values])


def read(path, file_format, **loop):
    return SourceLoop(FileSource.for_bulk_file_format(file_format, str(path)).build(), **loop).run_to_end()


@pytest.mark.parametrize("max_records", [None, 7])
def test_parquet_files_hold_rows_of_all_shapes(tmp_path, monkeypatch, max_records):
    monkeypatch.setattr(columnar, "ROWS_PER_BLOCK", 20)
    monkeypatch.setattr(file_source, "SPLIT_BYTES", 500)
    write(tmp_path, ParquetBulkWriters.for_row_type(PEOPLE), [ROWS[:25], ROWS[25:]])
    rows = read(tmp_path, ParquetColumnarRowInputFormat(PEOPLE, batch_size=3), max_records=max_records)
    assert sorted(rows, key=lambda r: r.age or -1) == sorted(ROWS, key=lambda r: r.age or -1)


def test_parquet_reads_only_the_columns_asked_for(tmp_path):
    write(tmp_path, ParquetBulkWriters.for_row_type(PEOPLE), [ROWS[:2]])
    ages = DataTypes.ROW([DataTypes.FIELD("AGE", DataTypes.INT())])
    assert read(tmp_path, ParquetFileFormat(ages, is_case_sensitive=False)) == [Row(AGE=0), Row(AGE=1)]
    with pytest.raises(MalformedRecordError, match=r"has no columns \['AGE'\]"):
        read(tmp_path, ParquetFileFormat(ages))


def test_a_parquet_file_that_is_none_is_named(tmp_path):
    (tmp_path / "x.parquet").write_text("nonsense, and enough of it")
    with pytest.raises(MalformedRecordError, match=r"x\.parquet"):
        read(tmp_path, ParquetFileFormat())


def test_orc_files_round_trip(tmp_path):
    row_type = DataTypes.ROW(
        [DataTypes.FIELD("name", DataTypes.STRING()), DataTypes.FIELD("age", DataTypes.INT())]
    )
    rows = [Row(name=f"n{i}", age=i) for i in range(10)]
    write(tmp_path, OrcBulkWriters.for_row_type(row_type), [rows])
    assert read(tmp_path, OrcFileFormat(row_type, batch_size=3), max_records=4) == rows


AVRO = AvroSchema.parse_string(
    '{"type":"record","name":"r","fields":[{"name":"id","type":"long"},{"name":"t","type":["null","string"]}]}'
)


def test_avro_files_round_trip_and_resume(tmp_path):
    records = [{"id": i, "t": None if i % 2 else "x" * 1000} for i in range(100)]
    write(tmp_path, AvroBulkWriters.for_generic_record(AVRO), [records])
    assert read(tmp_path, AvroFileFormat(), max_records=1) == records
    assert read(tmp_path, AvroFileFormat(AVRO.parsed)) == records


def test_avro_records_in_parquet(tmp_path):
    records = [{"id": 1, "t": "a"}, {"id": 2, "t": None}]
    write(tmp_path, AvroParquetWriters.for_generic_record(AVRO), [records])
    source = FileSource.for_record_stream_format(
        AvroParquetReaders.for_generic_record(AVRO), str(tmp_path)
    ).build()
    assert SourceLoop(source).run_to_end() == records


UNIONS = AvroSchema.parse_string(
    """{"type": "record", "name": "r", "fields": [
        {"name": "u", "type": ["int", "double", "null"]},
        {"name": "nothing", "type": "null"},
        {"name": "list", "type": {"type": "array", "items": ["string", "boolean"]}},
        {"name": "map", "type": {"type": "map", "values": ["null", "long", "string"]}},
        {"name": "plain", "type": {"type": "map", "values": "int"}},
        {"name": "inner", "type": ["null", {"type": "record", "name": "i", "fields": [
            {"name": "v", "type": ["bytes", "string"]}]}]}]}"""
)


def test_unions_of_avro_are_groups_in_parquet(tmp_path):
    records = [
        {"u": 1, "list": ["a", True], "map": {"x": 1, "y": "z", "n": None}, "plain": {"p": 1}, "inner": None},
        {"u": 2.5, "list": [], "map": {}, "plain": {}, "inner": {"v": b"b"}},
        {"u": None, "list": [False], "map": {"q": 0}, "plain": {"p": 0}, "inner": {"v": "s"}},
    ]
    records = [{**record, "nothing": None} for record in records]
    write(tmp_path, AvroParquetWriters.for_generic_record(UNIONS), [records])
    [file] = [f for f in tmp_path.iterdir() if f.is_file() and not f.name.startswith(".")]
    group = pq.read_schema(file).field("u").type
    assert [(f.name, str(f.type)) for f in group] == [("member0", "int32"), ("member1", "double")]
    source = FileSource.for_record_stream_format(
        AvroParquetReaders.for_generic_record(UNIONS), str(tmp_path)
    ).build()
    assert SourceLoop(source, max_records=1).run_to_end() == records
    with pytest.raises(TypeMismatchError, match="none of the union"):
        write(tmp_path / "wrong", AvroParquetWriters.for_generic_record(UNIONS), [[{**records[0], "u": "x"}]])


def test_avro_messages_round_trip():
    row = Row(id=5, t="five")
    data = AvroRowSerializationSchema(avro_schema_string=str(AVRO)).serialize(row)
    assert travelled(AvroRowDeserializationSchema(avro_schema_string=str(AVRO))).deserialize(data) == row


def csv_schema():
    return (
        CsvSchema.builder()
        .add_number_column("id", DataTypes.INT())
        .add_string_column("text")
        .add_array_column("list", "#", DataTypes.INT())
        .add_boolean_column("yes")
        .set_null_value("-")
    )


@pytest.mark.parametrize("max_records", [None, 1])
def test_csv_files_with_line_ends_in_quotes_resume_exactly(tmp_path, monkeypatch, max_records):
    monkeypatch.setattr(csv, "BATCH_RECORDS", 2)
    (tmp_path / "f.csv").write_text(
        'id,text,list,yes\n1,"a\nb",1#2,true\n2,-,3,false\r\n3,"say ""x""",-,true\n4,d,5,-'
    )
    source = FileSource.for_record_stream_format(
        CsvReaderFormat.for_schema(csv_schema().set_use_header().set_strict_headers().build()), str(tmp_path)
    ).build()
    loop = SourceLoop(source, max_records=max_records)
    assert loop.run_to_end() == [
        Row(id=1, text="a\nb", list=[1, 2], yes=True),
        Row(id=2, text=None, list=[3], yes=False),
        Row(id=3, text='say "x"', list=None, yes=True),
        Row(id=4, text="d", list=[5], yes=None),
    ]


def test_a_csv_header_that_differs_is_refused(tmp_path):
    (tmp_path / "f.csv").write_text("id,wrong,list,yes\n")
    schema = csv_schema().set_use_header().set_strict_headers().build()
    with pytest.raises(MalformedRecordError, match="the header is"):
        read(tmp_path, CsvReaderFormat.for_schema(schema))


def test_a_csv_field_that_does_not_fit_names_file_and_field(tmp_path):
    (tmp_path / "f.csv").write_text("1,a,1,true\nx,b,2,true\n")
    with pytest.raises(MalformedRecordError) as error:
        read(tmp_path, CsvReaderFormat.for_schema(csv_schema().build()))
    assert "f.csv" in str(error.value) and "'id'" in str(error.value)


def test_csv_writers_and_readers_agree(tmp_path):
    schema = csv_schema().build()
    rows = [Row(id=1, text="a b,c", list=[1, 2], yes=True), Row(id=2, text=None, list=None, yes=None)]
    write(tmp_path, CsvBulkWriters.for_schema(schema), [rows])
    assert read(tmp_path, CsvReaderFormat.for_schema(schema)) == rows


def test_array_columns_have_separators_of_their_own(tmp_path):
    schema = csv_schema().add_array_column("other", ";").build()
    rows = [Row(id=1, text="a", list=[1, 2], yes=True, other=["x#y", "z"])]
    write(tmp_path, CsvBulkWriters.for_schema(schema), [rows])
    assert "1#2" in next(tmp_path.rglob("part-*")).read_text()
    assert "x#y;z" in next(tmp_path.rglob("part-*")).read_text()
    assert read(tmp_path, CsvReaderFormat.for_schema(schema)) == rows


ROW_TYPE = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])


def test_csv_messages_round_trip():
    row = Row(id=1, name="x;y")
    data = CsvRowSerializationSchema.Builder(ROW_TYPE).set_field_delimiter(";").build().serialize(row)
    assert data == b'1;"x;y"\n'
    schema = CsvRowDeserializationSchema.Builder(ROW_TYPE).set_field_delimiter(";").build()
    assert travelled(schema).deserialize(data) == row


def test_json_messages_round_trip():
    row = Row(id=1, name="x")
    data = JsonRowSerializationSchema.builder().with_type_info(ROW_TYPE).build().serialize(row)
    assert data == b'{"id":1,"name":"x"}'
    schema = JsonRowDeserializationSchema.builder().type_info(ROW_TYPE).build()
    assert travelled(schema).deserialize(data) == row and schema.deserialize(b'{"id":2}') == Row(
        id=2, name=None
    )


def test_json_lines_in_files(tmp_path):
    serialize = JsonRowSerializationSchema.builder().with_type_info(ROW_TYPE).build()
    sink = (
        FileSink.for_row_format(str(tmp_path), SchemaEncoder(serialize))
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .build()
    )
    rows = [Row(id=i, name=f"ä{i}") for i in range(5)]
    loop = SinkLoop(sink)
    loop.run_epoch([rows], end_of_input=True)
    schema = JsonRowDeserializationSchema.builder().type_info(ROW_TYPE).build()
    lines = DecodedLineFormat(schema.deserialize, ROW_TYPE)
    assert read(tmp_path, lines, max_records=2) == rows
    (tmp_path / "bad").write_text("no json\n")
    with pytest.raises(MalformedRecordError) as error:
        read(tmp_path, lines)
    assert "bad" in str(error.value) and "no json" in str(error.value)


@pytest.mark.parametrize(
    ("writers", "form"),
    [
        (ParquetBulkWriters, lambda t: ParquetFileFormat(t)),
        (OrcBulkWriters, lambda t: OrcFileFormat(t)),
    ],
)
def test_decimals_are_rounded_and_nested_maps_and_rows_written(tmp_path, writers, form):
    row_type = DataTypes.ROW(
        [
            DataTypes.FIELD("d", DataTypes.DECIMAL(4, 2)),
            DataTypes.FIELD("t", DataTypes.TIMESTAMP_LTZ(3)),
            DataTypes.FIELD("a", DataTypes.ARRAY(DataTypes.DECIMAL(2, 0))),
            DataTypes.FIELD(
                "m",
                DataTypes.MAP(
                    DataTypes.STRING(), DataTypes.ROW([DataTypes.FIELD("x", DataTypes.DECIMAL(3, 1))])
                ),
            ),
        ]
    )
    rows = [
        Row(
            d=Decimal("1.005"),
            t=Instant(-1, 5_000_000),
            a=[Decimal("2.5"), None],
            m={"k": Row(x=Decimal("0.25"))},
        ),
        Row(d=Decimal("123.4"), t=None, a=None, m=None),
    ]
    write(tmp_path, writers.for_row_type(row_type), [rows])
    found = sorted(read(tmp_path, form(row_type)), key=lambda r: r.m is None)
    assert found == [
        Row(
            d=Decimal("1.01"),
            t=dt.datetime(1969, 12, 31, 23, 59, 59, 5000, tzinfo=dt.timezone.utc),
            a=[Decimal("3"), None],
            m={"k": Row(x=Decimal("0.3"))},
        ),
        Row(d=None, t=None, a=None, m=None),
    ]

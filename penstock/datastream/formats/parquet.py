"""Parquet files, as rows or as Avro records (dicts)."""

from __future__ import annotations

from typing import Any

from penstock.common.configuration import Configuration
from penstock.common.datatypes import RowType
from penstock.common.serialization import BulkWriter, BulkWriterFactory
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.file.columnar import ParquetFileFormat, ParquetWriterFactory
from penstock.connectors.file.filesystem import FileSystem
from penstock.connectors.file.format import FileSourceSplit, RecordReader, StreamFormat
from penstock.datastream.formats.avro import AvroSchema, GenericRecordAvroTypeInfo, row_type_of_schema
from penstock.datastream.formats.avro_columns import Convert, from_columns, to_columns

__all__ = [
    "AvroParquetReaders",
    "AvroParquetWriters",
    "ParquetBulkWriters",
    "ParquetColumnarRowInputFormat",
]


class AvroParquetReaders:
    """Reads Parquet files as Avro records."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> StreamFormat:
        """Reads Parquet files as dicts with the fields of an Avro schema."""
        return _RecordFormat(schema)


class _RecordFormat(ParquetFileFormat, StreamFormat):  # type: ignore[misc]
    """Rows of a Parquet file as dicts."""

    def __init__(self, schema: AvroSchema) -> None:
        super().__init__(None)
        self.schema = schema

    def open(self, filesystem: FileSystem, split: FileSourceSplit, position: Any) -> RecordReader:
        reader = super().open(filesystem, split, position)
        convert = from_columns(self.schema.parsed)
        return reader if convert is None else _ConvertingReader(reader, convert)

    def get_produced_type(self) -> TypeInformation:
        return GenericRecordAvroTypeInfo(self.schema)


class _ConvertingReader(RecordReader):
    """Gives the values of another reader their Avro form."""

    def __init__(self, reader: RecordReader, convert: Convert) -> None:
        self._reader = reader
        self._convert = convert
        self.position = reader.position

    def next_batch(self) -> list[Any] | None:
        found = self._reader.next_batch()
        self.position = self._reader.position
        return None if found is None else [self._convert(record) for record in found]

    def close(self) -> None:
        self._reader.close()


class AvroParquetWriters:
    """Writes Avro records to Parquet files."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Writes dicts into Parquet files, by an Avro schema."""
        return _RecordWriterFactory(schema)


class _RecordWriterFactory(ParquetWriterFactory):
    def __init__(self, schema: AvroSchema) -> None:
        super().__init__(row_type_of_schema(schema, grouped_unions=True))
        self._avro = schema

    def create(self, stream: Any) -> BulkWriter:
        return _RecordWriter(super().create(stream), self.get_row_type(), to_columns(self._avro.parsed))


class _RecordWriter(BulkWriter):
    """Puts the fields of dicts into the order of the schema."""

    def __init__(self, writer: Any, row_type: RowType, convert: Convert | None) -> None:
        self._writer = writer
        self._convert = convert
        self._names = [field.name for field in row_type.fields]

    def add_element(self, element: Any) -> None:
        if self._convert is not None:
            element = self._convert(element)
        self._writer.add_element([element.get(name) for name in self._names])

    def flush(self) -> None:
        self._writer.flush()

    def finish(self) -> None:
        self._writer.finish()


class ParquetColumnarRowInputFormat(ParquetFileFormat):
    """Reads the columns of `row_type`, as rows.

    `hadoop_config` and `is_utc_timestamp` are accepted for compatibility: files say themselves what their
    timestamps mean, and pyarrow reads them.
    """

    def __init__(
        self,
        row_type: RowType,
        hadoop_config: Configuration | None = None,
        batch_size: int = 2048,
        is_utc_timestamp: bool = False,
        is_case_sensitive: bool = True,
    ) -> None:
        super().__init__(row_type, batch_size, is_case_sensitive)


class ParquetBulkWriters:
    """Writes rows to Parquet files."""

    @staticmethod
    def for_row_type(
        row_type: RowType, hadoop_config: Configuration | None = None, utc_timestamp: bool = False
    ) -> BulkWriterFactory:
        """Timestamps are written as 64-bit microseconds; `hadoop_config` may set 'parquet.compression'."""
        compression = (
            hadoop_config.get_string("parquet.compression", None) if hadoop_config else None
        ) or "snappy"
        return ParquetWriterFactory(row_type, compression.lower())

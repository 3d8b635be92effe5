"""Avro object files: records are dicts, as the file's or the program's schema says.

A file is read whole, by one subtask; the position is the number of records read. Skipping to a position
decodes only the block that it lies in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from penstock.common.errors import MalformedRecordError, MissingDependencyError, ValidationError
from penstock.common.serialization import BulkWriter, BulkWriterFactory
from penstock.connectors.file.filesystem import FileSystem
from penstock.connectors.file.format import BulkFormat, FileSourceSplit, RecordReader

__all__ = ["AvroFileFormat", "AvroWriterFactory", "fastavro", "parse_schema"]


def fastavro() -> Any:
    """The library."""
    try:
        import fastavro as library
    except ImportError as error:
        raise MissingDependencyError(
            "Avro needs the package fastavro", do="pip install 'penstock[avro]'"
        ) from error
    return library


def parse_schema(text: str) -> Any:
    """A schema from its JSON text."""
    try:
        return fastavro().parse_schema(json.loads(text))
    except (ValueError, fastavro().schema.SchemaParseException, KeyError) as error:
        raise ValidationError(f"not an Avro schema: {error}", where=text[:200]) from error


class AvroFileFormat(BulkFormat):
    """Records of Avro files; `schema` None: as written."""

    def __init__(self, schema: Any = None) -> None:
        self.schema = schema

    def open(self, filesystem: FileSystem, split: FileSourceSplit, position: Any) -> RecordReader:
        return _AvroReader(filesystem, split, position or 0, self.schema)


class _AvroReader(RecordReader):
    def __init__(self, filesystem: FileSystem, split: FileSourceSplit, position: int, schema: Any) -> None:
        self._stream = filesystem.open_input(split.path)
        try:
            self._blocks = iter(fastavro().block_reader(self._stream, reader_schema=schema))
        except ValueError as error:
            raise MalformedRecordError(f"'{split.path}' is no Avro file: {error}") from error
        self.position = 0
        self._skip = position
        self._batches = self._read()

    def _read(self) -> Iterator[list[Any]]:
        for block in self._blocks:
            if self.position + block.num_records <= self._skip:
                self.position += block.num_records
                continue
            records = list(block)
            already = max(0, self._skip - self.position)
            self.position += len(records)
            yield records[already:]

    def next_batch(self) -> list[Any] | None:
        return next(self._batches, None)

    def close(self) -> None:
        self._stream.close()


class AvroWriterFactory(BulkWriterFactory):
    """Writes dicts (or rows) to Avro object files."""

    def __init__(self, schema: Any, codec: str = "null") -> None:
        self.schema = schema
        self.codec = codec

    def create(self, stream: BinaryIO) -> BulkWriter:
        return _AvroWriter(fastavro().write.Writer(stream, self.schema, codec=self.codec))


class _AvroWriter(BulkWriter):
    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def add_element(self, element: Any) -> None:
        self._writer.write(element.as_dict(True) if hasattr(element, "as_dict") else element)

    def flush(self) -> None:
        self._writer.flush()

    def finish(self) -> None:
        self._writer.flush()

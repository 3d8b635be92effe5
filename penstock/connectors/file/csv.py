"""CSV files. A record may span lines (inside quotes), so a file is read whole, by one subtask.

The position is the offset of the next record; a header is skipped at the beginning of the file only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, BinaryIO

from penstock.common.datatypes import RowType
from penstock.common.errors import MalformedRecordError
from penstock.common.serialization import BulkWriter, RowDataBulkWriterFactory
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.file.filesystem import FileSystem
from penstock.connectors.file.format import FileSourceSplit, RecordReader, StreamFormat
from penstock.connectors.file.text import BlockReader
from penstock.connectors.row_types import row_maker, type_info_of
from penstock.formats.base import RecordContext
from penstock.formats.csv import CSV, CsvDecoder, CsvEncoder, CsvRecords

__all__ = ["CsvFileFormat", "CsvLayout", "CsvWriterFactory", "csv_options"]

BATCH_RECORDS = 2_000


def csv_options(**changed: Any) -> dict[str, Any]:
    """The csv format's options; `field_delimiter=";"` changes 'field-delimiter'."""
    options: dict[str, Any] = {option.name: option.default for option in CSV.options}
    options.update({name.replace("_", "-"): value for name, value in changed.items()})
    return options


@dataclass(frozen=True)
class CsvLayout:
    """Columns and dialect of a file."""

    row_type: RowType
    options: Mapping[str, Any] = field(default_factory=csv_options)
    lines_to_skip: int = 0
    checked_header: bool = False
    line_separator: str = "\n"


class CsvFileFormat(StreamFormat):
    """Each record of the file is a row."""

    def __init__(self, layout: CsvLayout) -> None:
        assert CSV.check is not None
        CSV.check(layout.row_type, layout.options)
        self.layout = layout

    def open(self, filesystem: FileSystem, split: FileSourceSplit, position: Any) -> RecordReader:
        return _CsvReader(filesystem, split, position, self.layout)

    def get_produced_type(self) -> TypeInformation:
        return type_info_of(self.layout.row_type)


class _CsvReader(RecordReader):
    def __init__(
        self, filesystem: FileSystem, split: FileSourceSplit, position: Any, layout: CsvLayout
    ) -> None:
        self._blocks = BlockReader(filesystem, split, position)
        self.position = self._blocks.offset
        self._layout = layout
        self._decoder = CsvDecoder(layout.row_type, layout.options)
        self._make = row_maker(layout.row_type)
        self._path = split.path
        # `read` takes no line more than the record needs, so `position` is exact between records.
        self._records = CsvRecords(self._decoder.dialect).read(self._lines())
        if position is None:
            self._skip_header()

    def _lines(self) -> Iterator[str]:
        while (block := self._blocks.next_block()) is not None:
            for line in block.splitlines(keepends=True):
                self.position += len(line)
                yield line.decode("utf-8", "replace")

    def _skip_header(self) -> None:
        for number, (_, fields) in enumerate(islice(self._records, self._layout.lines_to_skip)):
            expected = [column.name for column in self._layout.row_type.fields]
            if number == 0 and self._layout.checked_header and fields != expected:
                raise MalformedRecordError(
                    f"the header is {fields}, but the schema says {expected}", where=self._path
                )

    def next_batch(self) -> list[Any] | None:
        values: list[Any] = []
        read = 0
        decode, make = self._decoder.decode_fields, self._make
        context = RecordContext(
            source=f"{self._path}, in the {BATCH_RECORDS} records from byte {self.position}"
        )
        for _, fields in islice(self._records, BATCH_RECORDS):
            read += 1
            values.extend([make(row) for _, row in decode(fields, context)])
        return values if read else None

    def close(self) -> None:
        self._blocks.close()


class CsvWriterFactory(RowDataBulkWriterFactory):
    """Writes rows as CSV records."""

    def __init__(self, layout: CsvLayout, header: bool = False) -> None:
        super().__init__(layout.row_type)
        self.layout = layout
        self.header = header

    def create(self, stream: BinaryIO) -> BulkWriter:
        writer = _CsvWriter(stream, self.layout)
        if self.header:
            names = [column.name for column in self.layout.row_type.fields]
            stream.write((self.layout.options["field-delimiter"].join(names) + writer.end).encode())
        return writer


class _CsvWriter(BulkWriter):
    def __init__(self, stream: BinaryIO, layout: CsvLayout) -> None:
        self._stream = stream
        self._encode = CsvEncoder(layout.row_type, layout.options).encode
        self.end = layout.line_separator

    def add_element(self, element: Any) -> None:
        self._stream.write(self._encode(0, element) + self.end.encode())

    def flush(self) -> None:
        self._stream.flush()

    def finish(self) -> None:
        return None

"""Files to Arrow batches, inside a task: whole blocks of records at once where that is certain.

A text file is read in blocks of whole records. A block goes to the fast reader of its format
(`formats/csv_columns.py`, `formats/json_columns.py`); where that is not certain to give what the codec gives, the
codec reads the block, knowing the number of its first line. So rows, errors and their places are the codec's in
every case; a record that needs it costs the speed of its block only. CSV whose quotes do not match leaves the rest
of its file to the codec, because nobody else can tell where the next record begins. CSV of other dialects is the
codec's from the start, in blocks of so many rows. Parquet, ORC and Avro have blocks of their own
(`columnar_reader.py`).

Batch queries read splits whole. Streaming ones stop after any row and come back: each batch says at which `Place` its
block begins, and reading goes on from there.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from penstock.common.datatypes import RowType
from penstock.common.errors import MalformedRecordError
from penstock.connectors.filesystem.columnar_reader import read_orc, read_parquet
from penstock.connectors.filesystem.files import lines
from penstock.connectors.filesystem.reader import Change, Columns, FileScan, FileSplit, metadata
from penstock.formats import find_format
from penstock.formats.arrow_rows import RowsToArrow
from penstock.formats.avro import read_avro_blocks
from penstock.formats.base import INSERT, UNREADABLE, RecordContext
from penstock.formats.csv import CsvDecoder
from penstock.formats.csv_columns import CsvColumns
from penstock.formats.json_columns import JsonColumns
from penstock.formats.text_columns import NotCertain

BLOCK_BYTES = 1 << 20
_LONGEST_RECORD = 16 * BLOCK_BYTES
_CODEC_ROWS = 4096
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Changes = Iterator[Change]
Unreadable = tuple[bytes, int, Exception]
"""A record that cannot be decoded: its bytes, the number of its line, and why."""


class Place(NamedTuple):
    """Where a block begins: how many rows come before it, its first byte and the number of its first line."""

    row: int = 0
    byte: int = 0
    line: int = 1


START = Place()
Blocks = Iterator[tuple[int, int, Columns | Changes]]
"""The first byte and line of each block, and what is in it."""


def batches(scan: FileScan, split: FileSplit, row_type: RowType) -> Iterator[pa.RecordBatch]:
    """The split's rows as batches of `row_type`, which is the scan's layout as columns."""
    if scan.with_kind:
        yield from RowsToArrow(row_type).batches(scan.rows(split))
        return
    for _, batch in BlockReader(scan, row_type).read(split):
        yield batch


class BlockReader:
    """Splits of a scan as batches of `row_type`: the layout as columns, and the kind if records are changes.

    Args:
        keep_unreadable: Records that cannot be decoded are left out and noted in `unreadable`, each with the number
            of rows of its file that come before it, instead of raising.
    """

    def __init__(self, scan: FileScan, row_type: RowType, keep_unreadable: bool = False) -> None:
        self._scan = scan
        self._kinds = scan.with_kind
        self._to_arrow = RowsToArrow(row_type)
        self._keep_unreadable = keep_unreadable
        self._blocks = _blocks(scan, keep_unreadable)
        self.unreadable: list[tuple[int, Unreadable]] = []

    def read(
        self, split: FileSplit, place: Place = START, skip: int = 0
    ) -> Iterator[tuple[Place, pa.RecordBatch]]:
        """Batches and the places where their blocks begin, from `place` on, without the first `skip` rows."""
        row = place.row
        self.unreadable = []
        for byte, line, block in self._blocks(split, place):
            here = Place(row, byte, line)
            if self._keep_unreadable and not isinstance(block, Columns):
                block = self._noting(block, row)
            if not isinstance(block, Columns):
                skipped = sum(1 for _ in islice(block, skip))
                row, skip = row + skipped, skip - skipped
            for batch in self._batches(split, block):
                row += batch.num_rows
                rest = batch.slice(skip)
                skip = max(0, skip - batch.num_rows)
                if rest.num_rows:
                    yield here, rest

    def _noting(self, block: Changes, row: int) -> Changes:
        """The block's rows; what is unreadable among them is noted."""
        for change in block:
            if change[0] == UNREADABLE:
                self.unreadable.append((row, change[1]))
            else:
                row += 1
                yield change

    def _batches(self, split: FileSplit, block: Columns | Changes) -> Iterator[pa.RecordBatch]:
        if isinstance(block, Columns):
            yield self._to_arrow.of_columns(self._arranged(split, block))
            return
        arrange = self._scan.arranger(split)
        if self._kinds:
            yield from self._to_arrow.batches((*arrange(row), kind) for kind, row in block)
        else:
            yield from self._to_arrow.batches(arrange(row) for _, row in block)

    def _arranged(self, split: FileSplit, block: Columns) -> list[pa.Array]:
        constants: dict[str, Any] = {"partition": split.partition, "metadata": metadata(split.file)}
        layout, to_arrow = self._scan.layout, self._to_arrow
        out = []
        for i, (kind, where) in enumerate(layout):
            if kind == "file" and where in block.by_place:
                out.append(block.by_place[where])
            else:
                value = None if kind == "file" else constants[kind][where]
                out.append(to_arrow.constant(i, value, block.rows))
        if self._kinds:
            out.append(to_arrow.constant(len(layout), 0, block.rows))
        return out


def _blocks(scan: FileScan, keep: bool = False) -> Callable[[FileSplit, Place], Blocks]:
    """How a split is cut into blocks; with `keep` records that cannot be decoded are among the changes."""
    if scan.format_name == "parquet":
        return lambda split, place: ((0, 1, block) for block in read_parquet(scan, split, place.row))
    if scan.format_name == "orc":  # the number of the stripe stands for its first byte
        return lambda split, place: (
            (number, 1, block) for number, block in read_orc(scan, split, place.byte)
        )
    file_format = find_format(scan.format_name)
    options = file_format.read_options(scan.options)
    is_csv = file_format.framing == "csv"
    if scan.format_name == "avro":
        return lambda split, place: _avro_blocks(scan, split, place)
    if is_csv and not CsvColumns.reads(options):
        codec = CsvDecoder(scan.file_type, options, scan.wanted)
        return lambda split, place: _codec_blocks(scan, split, place, codec, keep)
    if file_format.decoder is None:
        return lambda split, place: iter([(0, 1, scan.changes(split))])
    if is_csv:
        build = RowsToArrow(scan.file_type).column
        native = CsvColumns(scan.file_type, options, scan.wanted, build)
        csv_decoder = CsvDecoder(scan.file_type, options, scan.wanted)
        return lambda split, place: _csv_blocks(scan, split, place, native, csv_decoder, keep)
    decoder = file_format.decoder(scan.file_type, options)
    is_native = scan.format_name == "json" and JsonColumns.reads(scan.file_type, options)
    columns = JsonColumns(scan.file_type, options).columns if is_native else None
    return lambda split, place: _line_blocks(scan, split, place, columns, decoder, keep)


# --- csv


def _csv_blocks(
    scan: FileScan, split: FileSplit, place: Place, native: CsvColumns, decoder: CsvDecoder, keep: bool
) -> Blocks:
    context = RecordContext(split.file.path)
    data, done, line, ended = b"", max(split.start, place.byte), place.line, False
    numbered = _LineNumbers(scan, split)
    with scan.store.open_from(split.file.path, done) as stream:
        while not ended:
            chunk = stream.read(_block_bytes(split, done + len(data)))
            ended = not chunk
            data += chunk
            if not done and data.startswith(_BYTE_ORDER_MARK):
                data, done = data[len(_BYTE_ORDER_MARK) :], len(_BYTE_ORDER_MARK)
            end = len(data) if ended else native.end_of_records(data)
            if not end and len(data) < _LONGEST_RECORD:
                continue
            block, data = data[:end], data[end:]
            if not end or not native.well_quoted(block):
                yield done, line, _csv_rest(scan, split, decoder, done, numbered.number(line), keep)
                return
            try:
                found = native.columns(block)
                yield done, line, Columns(len(found[0]), dict(zip(native.wanted, found, strict=True)))
            except NotCertain:
                text = io.TextIOWrapper(io.BytesIO(block), "utf-8", newline="")
                yield done, line, decoder.decode_lines(text, context, numbered.number(line), keep)
            done += end
            line += _line_ends(block)


def _csv_rest(
    scan: FileScan, split: FileSplit, decoder: CsvDecoder, done: int, line: int, keep: bool
) -> Changes:
    """The records of the split after the first `done` bytes of the file, by the codec."""
    with scan.store.open_from(split.file.path, done) as stream:
        part = stream if _reads_on(split) else io.BytesIO(stream.read(split.start + split.length - done))
        text = io.TextIOWrapper(part, "utf-8", newline="")
        yield from decoder.decode_lines(text, RecordContext(split.file.path), line, keep)


def _codec_blocks(scan: FileScan, split: FileSplit, place: Place, decoder: CsvDecoder, keep: bool) -> Blocks:
    """CSV that only the codec reads, in blocks of so many rows; the codec takes a line only when it needs one."""
    with scan.store.open_from(split.file.path, place.byte) as stream:
        lines = _CountedLines(stream, place)
        changes = decoder.decode_lines(lines, RecordContext(split.file.path), place.line, keep)
        ended = False

        def some() -> Changes:
            nonlocal ended
            count = 0
            for change in islice(changes, _CODEC_ROWS):
                count += 1
                yield change
            ended = count < _CODEC_ROWS

        while not ended:
            yield lines.byte, lines.line, some()


class _CountedLines:
    """The lines of a text, and where the next one begins."""

    def __init__(self, stream: BinaryIO, place: Place) -> None:
        self.byte, self.line = place.byte, place.line
        self._text = io.TextIOWrapper(stream, "utf-8", newline="")

    def __iter__(self) -> Iterator[str]:
        for line in self._text:
            first = not self.byte
            self.byte += len(line.encode("utf-8"))
            self.line += 1
            yield line.removeprefix("\ufeff") if first else line


# --- avro


def _avro_blocks(scan: FileScan, split: FileSplit, place: Place) -> Blocks:
    def open_from(byte: int) -> BinaryIO:
        return scan.store.open_from(split.file.path, byte)

    for byte, rows in read_avro_blocks(open_from, scan.file_type, place.byte):
        yield byte, 1, ((INSERT, row) for row in rows)


def _reads_on(split: FileSplit) -> bool:
    """Whether the split is all the rest of its file, which may have grown since it was listed."""
    return split.file.is_compressed or split.start + split.length >= split.file.size


def _block_bytes(split: FileSplit, at: int) -> int:
    """How much to read next; 0 at the end of the split."""
    return BLOCK_BYTES if _reads_on(split) else min(BLOCK_BYTES, split.start + split.length - at)


def _line_ends(block: bytes) -> int:
    return block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n")


class _LineNumbers:
    """Line numbers of the whole file, for errors; those before the split are counted when first asked for."""

    def __init__(self, scan: FileScan, split: FileSplit) -> None:
        self._scan, self._split = scan, split
        self._before: int | None = None if split.start else 0

    def number(self, line: int) -> int:
        if self._before is None:
            with self._scan.store.open_at(self._split.file.path, 0) as stream:
                self._before, left, last = 0, self._split.start, b""
                while left and (block := stream.read(min(left, BLOCK_BYTES))):
                    self._before += _line_ends(last + block) - _line_ends(last)
                    left, last = left - len(block), block[-1:]
        return self._before + line


# --- lines


def _line_blocks(
    scan: FileScan,
    split: FileSplit,
    place: Place,
    native: Callable[[bytes], list[pa.Array]] | None,
    decoder: Any,
    keep: bool,
) -> Blocks:
    byte, line = place.byte, place.line
    with scan.open_lines(split, byte) as (stream, limit, context):
        for block in line_blocks(stream, limit, BLOCK_BYTES):
            if native is None:
                yield byte, line, _decoded(block, decoder, context, line, keep)
            else:
                try:
                    found = native(block)
                    yield byte, line, Columns(len(found[0]), dict(enumerate(found)))
                except NotCertain:
                    yield byte, line, _decoded(block, decoder, context, line, keep)
            byte += len(block)
            line += block.count(b"\n")


def _decoded(block: bytes, decoder: Any, context: RecordContext, first: int, keep: bool) -> Changes:
    for number, line in enumerate(lines(io.BytesIO(block)), first):
        context.number = number
        try:
            yield from decoder.decode(line, context)
        except MalformedRecordError as error:
            if not keep:
                raise
            yield UNREADABLE, (bytes(line), number, error)


def line_blocks(stream: BinaryIO, limit: int | None, block_bytes: int) -> Iterator[bytes]:
    """Blocks of whole lines with their ends.

    Args:
        limit: Only lines that begin within the first `limit` bytes.
    """
    rest, begun = b"", 0
    while limit is None or begun < limit:
        chunk = stream.read(block_bytes)
        data = rest + chunk
        end = data.rfind(b"\n") + 1 if chunk else len(data)
        if limit is not None and begun + end > limit:
            end = data.find(b"\n", limit - begun - 1) + 1 or end
        if end:
            yield data[:end]
        rest = data[end:]
        begun += end
        if not chunk:
            return

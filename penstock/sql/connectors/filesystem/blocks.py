"""Files to Arrow batches, inside a task: whole blocks of records at once where that is certain.

A file is read in blocks of whole records. A block goes to the fast reader of its format (`formats/csv_columns.py`,
`formats/json_columns.py`); where that is not certain to give what the codec gives, the codec reads the block, knowing
the number of its first line. So rows, errors and their places are the codec's in every case; a record that needs it
costs the speed of its block only. CSV whose quotes do not match leaves the rest of its file to the codec, because
nobody else can tell where the next record begins.

`batches` serves batch queries; a streaming task may call it just as well.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import pyarrow as pa

from penstock.common.datatypes import RowType
from penstock.formats import find_format
from penstock.formats.base import RecordContext
from penstock.formats.csv import CsvDecoder
from penstock.formats.csv_columns import CsvColumns
from penstock.formats.json_columns import JsonColumns
from penstock.formats.text_columns import NotCertain
from penstock.sql.connectors.filesystem.files import lines
from penstock.sql.connectors.filesystem.reader import FileScan, FileSplit, metadata
from penstock.sql.connectors.spark_types import RowsToArrow

BLOCK_BYTES = 1 << 20
_LONGEST_RECORD = 16 * BLOCK_BYTES
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Changes = Iterator[tuple[int, tuple[Any, ...]]]
Columns = dict[int, pa.Array]
"""Columns of the file by position; those that nobody wants are left out."""


def batches(scan: FileScan, split: FileSplit, row_type: RowType) -> Iterator[pa.RecordBatch]:
    """The split's rows as batches of `row_type`, which is the scan's layout as columns."""
    to_arrow = RowsToArrow(row_type)
    pieces = _pieces(scan)
    if pieces is None:
        yield from to_arrow.batches(scan.rows(split))
        return
    arrange = scan.arranger(split)
    for piece in pieces(split):
        if isinstance(piece, dict):
            yield to_arrow.of_columns(_arranged(scan, split, piece, to_arrow))
        else:
            yield from to_arrow.batches(arrange(row) for _, row in piece)


def _pieces(scan: FileScan) -> Callable[[FileSplit], Iterator[Columns | Changes]] | None:
    """How the blocks of a split are read; None if the codec reads every record."""
    options = find_format(scan.format_name).read_options(scan.options)
    if scan.format_name == "csv" and CsvColumns.reads(options):
        build = RowsToArrow(scan.file_type).column
        native = CsvColumns(scan.file_type, options, scan.wanted, build)
        decoder = CsvDecoder(scan.file_type, options, scan.wanted)
        return lambda split: _csv_pieces(scan, split, native, decoder)
    if scan.format_name == "json" and JsonColumns.reads(scan.file_type, options):
        parser = JsonColumns(scan.file_type, options)
        return lambda split: _json_pieces(scan, split, parser)
    return None


def _arranged(scan: FileScan, split: FileSplit, columns: Columns, to_arrow: RowsToArrow) -> list[pa.Array]:
    rows = len(next(iter(columns.values())))
    constants: dict[str, Any] = {"partition": split.partition, "metadata": metadata(split.file)}
    out = []
    for i, (kind, where) in enumerate(scan.layout):
        if kind == "file" and where in columns:
            out.append(columns[where])
        else:
            out.append(to_arrow.constant(i, None if kind == "file" else constants[kind][where], rows))
    return out


# --- csv


def _csv_pieces(
    scan: FileScan, split: FileSplit, native: CsvColumns, decoder: CsvDecoder
) -> Iterator[Columns | Changes]:
    context = RecordContext(split.file.path)
    data, done, line, ended = b"", 0, 1, False
    with scan.store.open_input(split.file.path) as stream:
        while not ended:
            chunk = stream.read(BLOCK_BYTES)
            ended = not chunk
            data += chunk
            if not done and data.startswith(_BYTE_ORDER_MARK):
                data, done = data[len(_BYTE_ORDER_MARK) :], len(_BYTE_ORDER_MARK)
            end = len(data) if ended else native.end_of_records(data)
            if not end and len(data) < _LONGEST_RECORD:
                continue
            block, data = data[:end], data[end:]
            if not end or not native.well_quoted(block):
                yield _csv_rest(scan, split, decoder, done, line)
                return
            try:
                yield dict(zip(native.wanted, native.columns(block), strict=True))
            except NotCertain:
                text = io.TextIOWrapper(io.BytesIO(block), "utf-8", newline="")
                yield decoder.decode_lines(text, context, line)
            done += end
            line += block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n")


def _csv_rest(scan: FileScan, split: FileSplit, decoder: CsvDecoder, done: int, line: int) -> Changes:
    """The records after the first `done` bytes, by the codec."""
    with scan.store.open_input(split.file.path) as stream:
        while done and (skipped := stream.read(min(done, BLOCK_BYTES))):
            done -= len(skipped)
        text = io.TextIOWrapper(stream, "utf-8", newline="")
        yield from decoder.decode_lines(text, RecordContext(split.file.path), line)


# --- json


def _json_pieces(scan: FileScan, split: FileSplit, native: JsonColumns) -> Iterator[Columns | Changes]:
    file_format = find_format("json")
    assert file_format.decoder is not None
    decoder = file_format.decoder(scan.file_type, file_format.read_options(scan.options))
    with scan.open_lines(split) as (stream, limit, context):
        line = 1
        for block in line_blocks(stream, limit):
            try:
                yield dict(enumerate(native.columns(block)))
            except NotCertain:
                yield _decoded(block, decoder, context, line)
            line += block.count(b"\n")


def _decoded(block: bytes, decoder: Any, context: RecordContext, first: int) -> Changes:
    for number, line in enumerate(lines(io.BytesIO(block)), first):
        context.number = number
        yield from decoder.decode(line, context)


def line_blocks(
    stream: BinaryIO, limit: int | None = None, block_bytes: int = BLOCK_BYTES
) -> Iterator[bytes]:
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

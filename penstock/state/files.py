"""Delta and snapshot files: changes of tables, sorted, so that a key-group range is a slice.

    magic · block · block · … · footer · length of footer (4) · magic
    block    zstd(msgpack([keys, values]))     values: bytes, or nil for a removed key
    footer   msgpack: kind, epoch, [table, first key, last key, offset, length] per block

Blocks are sorted by table and key; a block holds one table. A snapshot is the same thing without removals. A block
of an arrangement (`state/arranged`) is an Arrow stream instead, whose rows are sorted by key group.
The format is open: any msgpack and zstd library reads it. The checksum of the whole file is in its FileRef
and is verified by checkpoint storage on every read.
"""

from __future__ import annotations

import bisect
import itertools
import struct
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec
import zstandard

from penstock.checkpoint.filesystem import Content, Slices
from penstock.checkpoint.handles import FileRef
from penstock.common.errors import CheckpointError, DamagedStateError
from penstock.common.ids import EpochId
from penstock.state.encoding import group_bytes

MAGIC = b"PENSTATE"
FORMAT_VERSION = 2
"""2: a file may have blocks of arrangements."""
META_TABLE = "m"
"""The one table whose keys do not begin with a key group: what is known about each state."""

ARRANGED = "a/"
"""Tables whose names begin so are arrangements."""

Changes = dict[str, dict[bytes, bytes | None]]
"""Per table: key to new value, or None for a removed key."""

Record = tuple[str, bytes, bytes]
"""Table, key and value."""

_OPENED_BYTES = 1 << 20
_BLOCK_RECORDS = 4096
_BLOCK_BYTES = 4 << 20
_U32 = struct.Struct(">I")
_local = threading.local()


class StateFiles(Protocol):
    """The part of checkpoint storage that backends use."""

    def write_file(self, relative: str, data: Content) -> FileRef:
        """Writes a new file durably."""

    def read_file(self, ref: FileRef) -> bytes:
        """Reads a file and verifies its checksum; DamagedStateError if it is missing or damaged."""

    def open_file(self, ref: FileRef) -> Slices:
        """The same for a file of which parts are wanted, one after the other: it is never in memory as a whole."""


def opened(files: StateFiles, ref: FileRef) -> Slices:
    """A file for whoever takes one block after the other; in memory as a whole only if it is small."""
    return files.open_file(ref) if ref.size_bytes > _OPENED_BYTES else files.read_file(ref)


class Wanted(NamedTuple):
    """Which records somebody wants: of some tables (all if None), with keys that begin so (two bytes or more)."""

    tables: frozenset[str] | None = None
    prefix: bytes = b""


ALL = Wanted()


class _Block(msgspec.Struct, array_like=True):
    table: str
    first: bytes
    last: bytes
    offset: int
    length: int


class _Footer(msgspec.Struct, array_like=True):
    version: int
    kind: str
    epoch: int
    blocks: list[_Block]


_encode = msgspec.msgpack.Encoder().encode
_decode_block = msgspec.msgpack.Decoder(tuple[list[bytes], list[bytes | None]]).decode
_decode_footer = msgspec.msgpack.Decoder(_Footer).decode


def encode_changes(
    kind: str,
    epoch: EpochId,
    changes: Mapping[str, Mapping[bytes, bytes | None]],
    arranged: Mapping[str, list[tuple[bytes, bytes]]] | None = None,
) -> bytes:
    """The file of a delta whose changes are in memory."""
    tables = ((table, sorted(changes[table].items())) for table in sorted(changes))
    return b"".join(encode_tables(kind, epoch, tables, arranged))


def encode_tables(
    kind: str,
    epoch: EpochId,
    tables: Iterable[tuple[str, Iterable[tuple[bytes, bytes | None]]]],
    arranged: Mapping[str, Iterable[tuple[bytes, bytes]]] | None = None,
) -> Iterator[bytes]:
    """The file of tables that come sorted by name, each with its records sorted by key; a block at a time.

    `arranged` are the blocks of arrangements, by table: a key and the Arrow stream.
    """
    compress = zstandard.ZstdCompressor(level=1).compress
    blocks, offset = [], len(MAGIC)
    yield MAGIC
    for table, streams in sorted((arranged or {}).items()):
        for key, stream in streams:
            blocks.append(_Block(table, key, key, offset, len(stream)))
            yield stream
            offset += len(stream)
    for table, records in tables:
        for keys, values in _batches(records):
            block = compress(_encode((keys, values)))
            blocks.append(_Block(table, keys[0], keys[-1], offset, len(block)))
            yield block
            offset += len(block)
    footer = _encode(_Footer(FORMAT_VERSION if arranged else 1, kind, epoch, blocks))
    yield footer + _U32.pack(len(footer)) + MAGIC


def _batches(
    records: Iterable[tuple[bytes, bytes | None]],
) -> Iterator[tuple[list[bytes], list[bytes | None]]]:
    iterator = iter(records)
    while batch := list(itertools.islice(iterator, _BLOCK_RECORDS)):
        keys = [record[0] for record in batch]
        values = [record[1] for record in batch]
        yield from _halves(keys, values)


def _halves(
    keys: list[bytes], values: list[bytes | None]
) -> Iterator[tuple[list[bytes], list[bytes | None]]]:
    """Blocks that are not too large, unless one record alone is."""
    if len(keys) > 1 and sum(map(len, filter(None, values))) > _BLOCK_BYTES:
        middle = len(keys) // 2
        yield from _halves(keys[:middle], values[:middle])
        yield from _halves(keys[middle:], values[middle:])
    else:
        yield keys, values


def read_blocks(
    data: Slices, first_group: int, last_group: int, where: str, wanted: Wanted = ALL
) -> Iterator[tuple[str, list[bytes], list[bytes | None]]]:
    """Table, keys and values of each block, cut to a range of key groups (inclusive); without arrangements."""
    low, high, tables = group_bytes(first_group), group_bytes(last_group), wanted.tables
    if wanted.prefix:
        low = high = wanted.prefix
    size = len(low)
    for block in _read_footer(data, where).blocks:
        if block.table.startswith(ARRANGED) or (tables is not None and block.table not in tables):
            continue
        whole = block.table == META_TABLE
        if not whole and (block.last[:size] < low or block.first[:size] > high):
            continue
        packed = data[block.offset : block.offset + block.length]
        keys, values = _decode_block(_decompressor().decompress(packed))
        if whole or (block.first[:size] >= low and block.last[:size] <= high):
            yield block.table, keys, values
        else:
            kept = [i for i, key in enumerate(keys) if low <= key[:size] <= high]
            if kept:
                yield block.table, [keys[i] for i in kept], [values[i] for i in kept]


def read_arranged(data: Slices, where: str) -> Iterator[tuple[str, bytes, bytes | memoryview]]:
    """Table, key and Arrow stream of each block of an arrangement; a view of `data` if it is in memory."""
    view = memoryview(data) if isinstance(data, bytes) else data
    for block in _read_footer(data, where).blocks:
        if block.table.startswith(ARRANGED):
            yield block.table, block.first, view[block.offset : block.offset + block.length]


def read_records(
    data: Slices, first_group: int, last_group: int, where: str, wanted: Wanted = ALL
) -> Iterator[tuple[str, bytes, bytes | None]]:
    """The same, record by record."""
    for table, keys, values in read_blocks(data, first_group, last_group, where, wanted):
        for key, value in zip(keys, values, strict=True):
            yield table, key, value


def merged_records(
    files: Sequence[tuple[str, Slices]],
    first_group: int,
    last_group: int,
    wanted: Wanted = ALL,
) -> Iterator[Record]:
    """What a chain of files (name and bytes, oldest first) amounts to: sorted, the newest change of each key."""
    for table, keys, values in merged_blocks(files, first_group, last_group, wanted):
        for key, value in zip(keys, values, strict=True):
            yield table, key, value


def merged_blocks(
    files: Sequence[tuple[str, Slices]],
    first_group: int,
    last_group: int,
    wanted: Wanted = ALL,
) -> Iterator[tuple[str, list[bytes], list[bytes]]]:
    """The same, block by block.

    The files are sorted, so this is a merge: it needs one block of each in memory. All of them are taken as far as
    the block that ends first.
    """
    blocks = (read_blocks(data, first_group, last_group, name, wanted) for name, data in files)
    cursors = [cursor for cursor in map(_Cursor, blocks) if cursor.keys]
    while cursors:
        table = min(cursor.table for cursor in cursors)
        here = [cursor for cursor in cursors if cursor.table == table]
        bound = min(cursor.keys[-1] for cursor in here)
        newest: dict[bytes, bytes | None] = {}
        for cursor in here:
            newest.update(cursor.taken(bound))
        found = sorted(newest) if len(here) > 1 else newest
        records = [(key, value) for key in found if (value := newest[key]) is not None]
        if records:
            yield table, [key for key, _ in records], [value for _, value in records]
        cursors = [cursor for cursor in cursors if cursor.keys]


class _Cursor:
    """How far a file has been merged: the rest of its current block, without keys at the file's end."""

    def __init__(self, blocks: Iterator[tuple[str, list[bytes], list[bytes | None]]]) -> None:
        self._blocks = blocks
        self._next()

    def _next(self) -> None:
        self.table, self.keys, self._values = next(self._blocks, ("", [], []))
        self._at = 0

    def taken(self, bound: bytes) -> Iterator[tuple[bytes, bytes | None]]:
        """The records up to and with that key; the cursor is behind them now."""
        begin, self._at = self._at, bisect.bisect_right(self.keys, bound, self._at)
        found = zip(self.keys[begin : self._at], self._values[begin : self._at], strict=True)
        if self._at == len(self.keys):
            self._next()
        return found


def _read_footer(data: Slices, where: str) -> _Footer:
    tail = len(MAGIC) + 4
    if len(data) < len(MAGIC) + tail or data[: len(MAGIC)] != MAGIC or data[-len(MAGIC) :] != MAGIC:
        raise DamagedStateError("not a state file, or cut off", where=where)
    length = _U32.unpack(data[len(data) - tail : len(data) - len(MAGIC)])[0]
    footer = _decode_footer(data[len(data) - tail - length : len(data) - tail])
    if footer.version > FORMAT_VERSION:
        raise CheckpointError(
            f"state file has format {footer.version}, this version reads up to {FORMAT_VERSION}",
            where=where,
            do="restore it with the version of penstock that wrote it, or a newer one",
        )
    return footer


def _decompressor() -> zstandard.ZstdDecompressor:
    decompressor: zstandard.ZstdDecompressor | None = getattr(_local, "decompressor", None)
    if decompressor is None:
        decompressor = _local.decompressor = zstandard.ZstdDecompressor()
    return decompressor

"""Lines of text, whole files or parts of large ones.

A large file is cut into byte ranges anywhere; the ranges agree on who owns which line by looking for LF only:

    range [start, end) owns the bytes behind the first LF at or after start-1 (start 0: from 0)
                             up to and with the first LF at or after end-1

so every byte has exactly one owner, whatever the ranges. Inside, CR and CR LF end lines too. The position is
the offset of the next line in the (decompressed) file.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable
from typing import Any

from penstock.common.errors import MalformedRecordError, PenstockError, ValidationError
from penstock.common.typeinfo import TypeInformation, Types
from penstock.connectors.file.filesystem import FileSystem
from penstock.connectors.file.format import FileSourceSplit, RecordReader, StreamFormat, open_bytes

__all__ = ["DecodedLineFormat", "TextLineFormat"]

READ_BYTES = 128 * 1024
BATCH_LINES = 4_096


class TextLineFormat(StreamFormat):
    """Each line is a string. Bytes that are not valid in the charset become U+FFFD, as in Java."""

    def __init__(self, charset_name: str = "UTF-8") -> None:
        try:
            self.charset = codecs.lookup(charset_name).name
        except LookupError as error:
            raise ValidationError(
                f"unknown charset '{charset_name}'", do="use a name such as UTF-8 or ISO-8859-1"
            ) from error
        # UTF-16 and its like end lines with other bytes: such files are read whole, and decoded first.
        self._plain_newlines = "\r\n".encode(self.charset) == b"\r\n"
        self.splittable = self._plain_newlines

    def open(self, filesystem: FileSystem, split: FileSourceSplit, position: Any) -> RecordReader:
        if not self._plain_newlines:
            return _WideTextReader(filesystem, split, self.charset, position or 0)
        return _LineReader(filesystem, split, position, self.charset)

    def get_produced_type(self) -> TypeInformation:
        return Types.STRING()


class DecodedLineFormat(StreamFormat):
    """Each line is a record of its own, such as a JSON object.

    Args:
        decode: bytes -> value, or None to leave the line out; picklable. Blank lines are skipped.
        type_info: Type of the values.
    """

    splittable = True

    def __init__(self, decode: Callable[[bytes], Any], type_info: TypeInformation | None = None) -> None:
        self.decode = decode
        self.type_info = type_info

    def open(self, filesystem: FileSystem, split: FileSourceSplit, position: Any) -> RecordReader:
        # latin-1 maps every byte to one character, so the line's own bytes are what `decode` gets.
        lines = _LineReader(filesystem, split, position, "latin-1")
        return _DecodingReader(lines, split.path, self.decode)

    def get_produced_type(self) -> TypeInformation | None:
        return self.type_info


class BlockReader:
    """Hands out a split's bytes in blocks that end behind an LF (or a CR, where there is no LF)."""

    def __init__(self, filesystem: FileSystem, split: FileSourceSplit, position: int | None) -> None:
        self._end = split.end
        if position is None and split.start > 0:
            self._stream = open_bytes(filesystem, split.path, split.start - 1)
            self._offset = split.start - 1
            self._buffer = b""
            self._skip_first_line()
        else:
            self._offset = split.start if position is None else position
            self._stream = open_bytes(filesystem, split.path, self._offset)
            self._buffer = b""
            if self._end is not None and self._end <= self._offset:
                self._go_on_behind_the_end(filesystem, split.path)

    @property
    def offset(self) -> int:
        """Where the next block begins."""
        return self._offset

    def _fill(self) -> bool:
        data = self._stream.read(READ_BYTES)
        self._buffer += data
        return bool(data)

    def _skip_first_line(self) -> None:
        while (found := self._buffer.find(b"\n")) < 0:
            self._offset += len(self._buffer)
            self._buffer = b""
            if not self._fill():
                return
        self._offset += found + 1
        self._buffer = self._buffer[found + 1 :]

    def _go_on_behind_the_end(self, filesystem: FileSystem, path: str) -> None:
        # The range ends with an LF. If a CR was the last byte read, a batch ended before that LF.
        with open_bytes(filesystem, path, self._offset - 1) as stream:
            if stream.read(1) != b"\n":
                self._end = self._offset + 1

    def next_block(self) -> bytes | None:
        """The next whole lines, or None at the end of the split."""
        while True:
            if self._end is not None and self._offset >= self._end:
                return None
            cut = self._cut()
            if cut:
                return self._take(cut)
            if not self._fill():
                return self._take(len(self._buffer)) if self._buffer else None

    def _cut(self) -> int:
        """How many bytes of the buffer are whole lines of this split."""
        buffer = self._buffer
        if self._end is not None and self._offset + len(buffer) >= self._end:
            return buffer.find(b"\n", self._end - 1 - self._offset) + 1
        cut = buffer.rfind(b"\n") + 1
        if cut or self._end is not None:
            return cut
        # A CR at the very end may be half of a CR LF.
        return buffer.rfind(b"\r", 0, len(buffer) - 1) + 1

    def _take(self, count: int) -> bytes:
        block, self._buffer = self._buffer[:count], self._buffer[count:]
        self._offset += count
        return block

    def close(self) -> None:
        self._stream.close()


class _LineReader(RecordReader):
    def __init__(
        self, filesystem: FileSystem, split: FileSourceSplit, position: int | None, charset: str
    ) -> None:
        self._blocks = BlockReader(filesystem, split, position)
        self._charset = charset
        self._rest: list[bytes] = []  # lines of a block with more of them than fit into one batch
        self.position = self._blocks.offset

    def next_batch(self) -> list[str] | None:
        if not self._rest:
            block = self._blocks.next_block()
            if block is None:
                return None
            if block.count(b"\n") + block.count(b"\r") <= BATCH_LINES:
                self.position += len(block)
                return _decode_lines(block, self._charset)
            self._rest = block.splitlines(keepends=True)
        piece, self._rest = self._rest[:BATCH_LINES], self._rest[BATCH_LINES:]
        joined = b"".join(piece)
        self.position += len(joined)
        return _decode_lines(joined, self._charset)

    def close(self) -> None:
        self._blocks.close()


def _decode_lines(block: bytes, charset: str) -> list[str]:
    # One decode and one split per block; str.splitlines would also cut at U+2028 and its like.
    text = block.decode(charset, "replace")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


class _DecodingReader(RecordReader):
    def __init__(self, lines: _LineReader, path: str, decode: Callable[[bytes], Any]) -> None:
        self._lines = lines
        self._path = path
        self._decode = decode
        self.position = lines.position

    def next_batch(self) -> list[Any] | None:
        start = self._lines.position
        lines = self._lines.next_batch()
        if lines is None:
            return None
        decode, line = self._decode, ""
        values = []
        try:
            for line in lines:
                if line and not line.isspace():
                    value = decode(line.encode("latin-1"))
                    if value is not None:
                        values.append(value)
        except Exception as error:
            shown = line.encode("latin-1").decode("utf-8", "replace")
            raise MalformedRecordError(
                f"cannot read {shown[:200]!r}: {error.what if isinstance(error, PenstockError) else error}",
                where=f"{self._path}, in the block of lines from byte {start}",
                do="correct the file, or let the format ignore parse errors",
            ) from error
        self.position = self._lines.position
        return values

    def close(self) -> None:
        self._lines.close()


class _WideTextReader(RecordReader):
    """Lines of a charset whose newline is not one byte; the position is the number of lines read."""

    def __init__(self, filesystem: FileSystem, split: FileSourceSplit, charset: str, position: int) -> None:
        stream = open_bytes(filesystem, split.path, 0)
        self._text = io.TextIOWrapper(stream, encoding=charset, errors="replace", newline=None)
        self.position = 0
        while self.position < position and self._text.readline():
            self.position += 1

    def next_batch(self) -> list[str] | None:
        lines: list[str] = []
        while len(lines) < BATCH_LINES and (line := self._text.readline()):
            lines.append(line[:-1] if line.endswith("\n") else line)
        if not lines:
            return None
        self.position += len(lines)
        return lines

    def close(self) -> None:
        self._text.close()

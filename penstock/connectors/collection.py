"""A list in the program as a bounded source: what `env.from_collection` reads.

As in Flink it is one split, read in order by one subtask. The elements are checked and encoded once, in the
driver, when the program is built. They travel lazily: the enumerator attaches to an epoch's `ReadLimit` the
chunks which that epoch can read, so a large list does not travel in every epoch. The position is the index
of the next element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from penstock.common.codecs import Codec, compile_codec
from penstock.common.errors import InvariantError, TypeMismatchError
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    ReadLimit,
    Source,
    SourceBatch,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
)

__all__ = ["CollectionSource"]

CHUNK_RECORDS = 2_000
MAX_EPOCH_BYTES = 16 * 1024 * 1024
"""How much of the list one epoch's plan carries to its task at most (one chunk at least)."""

_SPLIT = SourceSplit("collection")


@dataclass(frozen=True)
class EncodedChunk:
    """`count` elements from index `start` on."""

    start: int
    count: int
    data: bytes


class CollectionSource(Source):
    """Reads `elements`, in order.

    Args:
        elements: The records; any finite iterable.
        type_info: Their type. An element that does not fit is refused here, not when the job runs.
    """

    def __init__(self, elements: Any, type_info: TypeInformation | None = None) -> None:
        self.type_info = type_info
        self._chunks: tuple[EncodedChunk, ...] | None = tuple(_encode(elements, type_info))

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> SplitEnumerator:
        if self._chunks is None:
            raise InvariantError("the elements of a CollectionSource stay in the driver")
        return _CollectionEnumerator(self._chunks, discovered=restored is not None)

    def create_reader(self) -> SourceReader:
        return _CollectionReader(self.type_info)

    def produced_type(self) -> TypeInformation | None:
        return self.type_info

    def __getstate__(self) -> dict[str, Any]:
        # A pickled source goes to tasks, which get the elements they need with each epoch's plan.
        return {**self.__dict__, "_chunks": None}


class _CollectionEnumerator(SplitEnumerator):
    def __init__(self, chunks: Sequence[EncodedChunk], discovered: bool) -> None:
        self._chunks = chunks
        self._size = chunks[-1].start + chunks[-1].count if chunks else 0
        self._discovered = discovered

    def discover(self) -> Sequence[SourceSplit]:
        if self._discovered:
            return ()
        self._discovered = True
        return (_SPLIT,)

    def plan_read(self, split: SourceSplit, position: Any, now_ms: int) -> ReadLimit | None:
        start = position or 0
        chunks = self._chunks_from(start)
        end = chunks[-1].start + chunks[-1].count if chunks else self._size
        return ReadLimit(end_position=end, payload=chunks, split_ends=end >= self._size)

    def _chunks_from(self, start: int) -> list[EncodedChunk]:
        chunks: list[EncodedChunk] = []
        size = 0
        # All chunks but the last have the same size, so the first one needed is found by division.
        for chunk in self._chunks[start // CHUNK_RECORDS :]:
            size += len(chunk.data)
            if chunks and size > MAX_EPOCH_BYTES:
                break
            chunks.append(chunk)
        return chunks

    def snapshot(self) -> Any:
        return "discovered" if self._discovered else None


class _CollectionReader(SourceReader):
    def __init__(self, type_info: TypeInformation | None) -> None:
        self._codec: Codec = compile_codec(type_info)

    def read(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[SourceBatch]:
        index = position or 0
        for chunk in limit.payload or ():
            end = chunk.start + chunk.count
            if end <= index:
                continue
            values = self._codec.decode_batch(chunk.data)
            if chunk.start < index:
                values = values[index - chunk.start :]
            # Cut where a small epoch ends, so that an epoch can be as small as a test wants it.
            step = min(len(values), limit.max_records or len(values))
            for start in range(0, len(values), step):
                piece = values[start : start + step]
                index += len(piece)
                yield SourceBatch(piece, None, index)


def _encode(elements: Any, type_info: TypeInformation | None) -> Iterator[EncodedChunk]:
    codec = compile_codec(type_info)
    iterator = iter(elements)
    start = 0
    while values := list(islice(iterator, CHUNK_RECORDS)):
        try:
            data = codec.encode_batch(values)
        except Exception as error:
            raise _misfit(codec, values, start, type_info, error) from error
        yield EncodedChunk(start, len(values), data)
        start += len(values)


def _misfit(
    codec: Codec, values: Sequence[Any], start: int, type_info: TypeInformation | None, cause: Exception
) -> TypeMismatchError:
    index, value, reason = start, values[0], cause
    for offset, candidate in enumerate(values):
        try:
            codec.encode(candidate)
        except Exception as error:
            index, value, reason = start + offset, candidate, error
            break
    shown = repr(value)
    if len(shown) > 200:
        shown = shown[:200] + "..."
    expected = repr(type_info) if type_info is not None else "a picklable object"
    return TypeMismatchError(
        f"element {index} of the collection, {shown}, is not {expected}: {getattr(reason, 'what', reason)}",
        where=f"from_collection, index {index}",
        do="correct the element, or the type_info",
    )

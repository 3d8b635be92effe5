"""The task's half of the file sink: writes chunks, decides which parts are complete, puts those together."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from penstock.common.errors import CheckpointError
from penstock.common.ids import MIN_WATERMARK
from penstock.common.serialization import BulkWriter
from penstock.common.storage_errors import writing_to
from penstock.connectors.file.encoders import batch_encoder, bulk_adder
from penstock.connectors.file.filesystem import FileSystem
from penstock.connectors.file.options import BasePathBucketAssigner as BasePath
from penstock.connectors.file.options import BucketContext, DateTimeBucketAssigner, FileCompactStrategy
from penstock.connectors.file.parts import (
    Chunk,
    FileCommittable,
    FileWriterState,
    Part,
    PartNames,
    WaitingParts,
)
from penstock.connectors.sink import SinkWriter, WriterContext

if TYPE_CHECKING:
    from penstock.connectors.file.sink import FileSink

__all__ = ["FileWriter"]

CLEAN_EVERY_EPOCHS = 64
"""How often folders are listed for what dead attempts left behind: a long-running job's folders are large."""


class _OpenChunk:
    """The chunk that is being written for a part."""

    def __init__(self, filesystem: FileSystem, path: str, sink: FileSink, type_info: Any) -> None:
        self.path = path
        self._filesystem = filesystem
        self._stream: BinaryIO = filesystem.open_output(path)
        self._bulk: BulkWriter | None = None
        if sink.bulk_factory is not None:
            self._bulk = sink.bulk_factory.create(self._stream)
            self.write = bulk_adder(self._bulk)
        else:
            assert sink.encoder is not None
            self.write = batch_encoder(sink.encoder, self._stream, type_info)

    @property
    def size(self) -> int:
        return self._stream.tell()

    def close(self) -> Chunk:
        if self._bulk is not None:
            self._bulk.finish()
        size = self.size
        self._filesystem.close_durably(self._stream)
        return Chunk(self.path, size)

    def abandon(self) -> None:
        self._stream.close()


class FileWriter(SinkWriter):
    """Writes one epoch of one subtask."""

    def __init__(self, sink: FileSink, context: WriterContext, restored: Sequence[FileWriterState]) -> None:
        self._sink = sink
        self._context = context
        self._now_ms = context.processing_time_ms
        self._watermark = MIN_WATERMARK
        self._filesystem = FileSystem(sink.base_path)
        # The attempt's own name may be shared by the stages of one try: add what makes it unique.
        self._names = PartNames(
            self._filesystem.root,
            sink.output_file_config.part_prefix,
            sink.output_file_config.part_suffix,
            int(context.epoch),
            f"{context.attempt[:24]}-{uuid.uuid4().hex[:8]}",
        )
        self._parts: dict[str, Part] = {}
        self._open: dict[str, _OpenChunk] = {}
        self._finished: list[Part] = []
        self._waiting: dict[str, WaitingParts] = {}
        self._created: list[str] = []
        self._restore(restored)

    def _restore(self, restored: Sequence[FileWriterState]) -> None:
        self._uid, self._next_number = str(uuid.uuid4()), 0
        # Another job that goes on from this state must not reuse names: the first may have used them since.
        if restored and restored[0].job_id == self._context.job_id:
            self._uid, self._next_number = restored[0].uid, restored[0].next_number
        for state in restored:
            for part in state.unfinished:
                if part.bucket_id in self._parts:
                    self._finished.append(part)
                else:
                    self._parts[part.bucket_id] = part
            for bucket_id, waiting in state.waiting.items():
                known = self._waiting.get(bucket_id, WaitingParts((), 0))
                self._waiting[bucket_id] = WaitingParts(
                    (*known.parts, *waiting.parts), max(known.epochs, waiting.epochs)
                )

    def on_watermark(self, watermark: int) -> None:
        self._watermark = watermark

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        for bucket_id, bucket_values in self._by_bucket(values, timestamps):
            with writing_to(self._filesystem.root):
                self._write_to_bucket(bucket_id, bucket_values)

    def _by_bucket(self, values: list[Any], timestamps: list[int] | None) -> Iterable[tuple[str, list[Any]]]:
        assigner = self._sink.bucket_assigner
        if isinstance(assigner, BasePath):
            return [("", values)]
        if isinstance(assigner, DateTimeBucketAssigner):
            return [(assigner.bucket_at(self._now_ms), values)]
        buckets: dict[str, list[Any]] = {}
        for index, value in enumerate(values):
            timestamp = timestamps[index] if timestamps else None
            context = BucketContext(timestamp, self._now_ms, self._watermark)
            buckets.setdefault(assigner.get_bucket_id(value, context), []).append(value)
        return buckets.items()

    def _write_to_bucket(self, bucket_id: str, values: list[Any]) -> None:
        chunk = self._open.get(bucket_id)
        if chunk is None:
            chunk = self._open[bucket_id] = self._begin_chunk(bucket_id)
        chunk.write(values)
        part = self._parts[bucket_id]
        if self._sink.rolling_policy.should_roll_on_event(part.info(chunk.size)):
            self._close_chunk(bucket_id)
            self._finished.append(self._parts.pop(bucket_id))

    def _begin_chunk(self, bucket_id: str) -> _OpenChunk:
        part = self._parts.get(bucket_id)
        if part is None:
            part = Part(bucket_id, self._next_number, self._uid, (), self._now_ms, self._now_ms)
            self._next_number += 1
            self._parts[bucket_id] = part
        path = self._names.hidden(part, "inprogress")
        self._created.append(path)
        return _OpenChunk(self._filesystem, path, self._sink, self._context.type_info)

    def _close_chunk(self, bucket_id: str) -> None:
        chunk = self._open.pop(bucket_id).close()
        self._parts[bucket_id] = self._parts[bucket_id].with_chunk(chunk, self._now_ms)

    def prepare_commit(self, end_of_input: bool) -> Sequence[FileCommittable]:
        with writing_to(self._filesystem.root):
            return self._prepared(end_of_input)

    def _prepared(self, end_of_input: bool) -> Sequence[FileCommittable]:
        for bucket_id in list(self._open):
            self._close_chunk(bucket_id)
        for bucket_id, part in list(self._parts.items()):
            policy = self._sink.rolling_policy
            if end_of_input or policy.should_roll_on_checkpoint(part.info(), self._now_ms):
                self._finished.append(self._parts.pop(bucket_id))
        finished, self._finished = self._finished, []
        strategy = self._sink.compact_strategy
        if strategy is None and not self._waiting:
            committables = [self._complete(part) for part in finished]
        else:
            committables = self._compact(finished, strategy, end_of_input)
        if end_of_input or int(self._context.epoch) % CLEAN_EVERY_EPOCHS == 0:
            return self._with_left_overs(committables, {part.bucket_id for part in finished})
        return committables

    def _complete(self, part: Part, compacted: bool = False) -> FileCommittable:
        final = self._names.final(part, compacted)
        if len(part.chunks) == 1:
            return FileCommittable(part.chunks[0].path, final)
        pending = self._pending(part)
        output = self._filesystem.open_output(pending)
        for chunk in part.chunks:
            with self._input(chunk.path) as stream:
                shutil.copyfileobj(stream, output, 1 << 20)
        self._filesystem.close_durably(output)
        return FileCommittable(pending, final, tuple(chunk.path for chunk in part.chunks))

    def _compact(
        self, finished: list[Part], strategy: FileCompactStrategy | None, end_of_input: bool
    ) -> list[FileCommittable]:
        for part in finished:
            waiting = self._waiting.get(part.bucket_id, WaitingParts((), 0))
            self._waiting[part.bucket_id] = WaitingParts((*waiting.parts, part), waiting.epochs)
        committables: list[FileCommittable] = []
        for bucket_id, waiting in list(self._waiting.items()):
            waiting = WaitingParts(waiting.parts, waiting.epochs + 1)
            if strategy is None or end_of_input or _is_due(waiting, strategy):
                committables.extend(self._merge(waiting.parts))
                del self._waiting[bucket_id]
            else:
                self._waiting[bucket_id] = waiting
        return committables

    def _merge(self, parts: tuple[Part, ...]) -> list[FileCommittable]:
        compactor = self._sink.compactor
        if compactor is None or not compactor.merges or len(parts) == 1:
            return [self._complete(part, compacted=compactor is not None) for part in parts]
        whole = [self._complete(part) for part in parts]
        pending = self._pending(parts[0], "merged")
        output = self._filesystem.open_output(pending)
        inputs = [self._input(committable.pending) for committable in whole]
        try:
            compactor.compact(inputs, output)
        finally:
            for stream in inputs:
                stream.close()
        self._filesystem.close_durably(output)
        remove = [path for committable in whole for path in (committable.pending, *committable.remove)]
        return [FileCommittable(pending, self._names.final(parts[0], compacted=True), tuple(remove))]

    def _pending(self, part: Part, state: str = "pending") -> str:
        path = self._names.hidden(part, state)
        self._created.append(path)
        return path

    def _input(self, path: str) -> BinaryIO:
        try:
            return self._filesystem.open_input(path)  # type: ignore[no-any-return]
        except FileNotFoundError as error:
            raise CheckpointError(
                f"the unfinished part file '{path}' is gone",
                where=f"file sink, subtask {self._context.subtask_index}",
                do="a later epoch has completed it, or somebody removed it: start from a newer checkpoint",
            ) from error

    def _with_left_overs(
        self, committables: list[FileCommittable], buckets: set[str]
    ) -> list[FileCommittable]:
        """Adds to the first committable the files that dead attempts of earlier epochs left behind."""
        if not committables:
            return committables
        alive = {c.pending for c in committables}
        waiting = [part for parts in self._waiting.values() for part in parts.parts]
        alive.update(chunk.path for part in (*self._parts.values(), *waiting) for chunk in part.chunks)
        left_over = []
        for bucket_id in buckets:
            folder = self._names.folder(bucket_id)
            for name in self._filesystem.names_in(folder):
                path = f"{folder}/{name}"
                if path not in alive and self._names.is_left_over(name, self._uid):
                    left_over.append(path)
        first = committables[0]
        remove = dict.fromkeys((*first.remove, *left_over))
        return [FileCommittable(first.pending, first.final, tuple(remove)), *committables[1:]]

    def snapshot(self) -> FileWriterState:
        return FileWriterState(
            self._context.job_id,
            self._uid,
            self._next_number,
            tuple(self._parts.values()),
            dict(self._waiting),
        )

    def abort(self) -> None:
        for chunk in self._open.values():
            chunk.abandon()
        for path in self._created:
            self._filesystem.delete(path)


def _is_due(waiting: WaitingParts, strategy: FileCompactStrategy) -> bool:
    by_age = 0 < strategy.num_checkpoints_before_compaction <= waiting.epochs
    by_size = 0 <= strategy.size_threshold <= waiting.size
    return by_age or by_size

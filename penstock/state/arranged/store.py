"""The arrangements of one keyed backend, taken through epochs.

What an arrangement holds follows from the chain of files of the committed state, as everything else in the backend:
the change of an epoch is a block of its delta file, a snapshot has all rows merged. The runs in memory only ever
stand for committed files; a change is added to them when a later epoch begins and its handle names the file. An
attempt that was given up leaves nothing behind but a file that no checkpoint names.

Large runs lie in files on the local disk and are mapped into memory, so state may be larger than memory and the
processes of a host share it. Such a file is named for what it was made of: whoever needs the same run finds it. It
may vanish at any time; then it is made anew.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from xxhash import xxh3_128_hexdigest

from penstock.common.errors import StateMigrationError
from penstock.state.arranged.arrangement import Arrangement, to_merge
from penstock.state.arranged.runs import WEIGHT, Chunk, Run, merged_chunks, start_of
from penstock.state.chain import EMPTY, Step, digests_of, steps_applied
from penstock.state.encoding import group_bytes
from penstock.state.files import ARRANGED, StateFiles, opened, read_arranged

_MAPPED_BYTES = 1 << 20
_LZ4 = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)  # a task has one core

Blocks = dict[str, list[tuple[bytes, bytes]]]
"""Per table: key and Arrow bytes of each block."""

MadeBlocks = dict[str, Iterable[tuple[bytes, bytes]]]
"""The same, each block made when it is asked for."""


class ArrangementStore:
    """Committed runs, and the changes of the running epoch.

    Args:
        files: Checkpoint storage.
        folder: Where large runs lie; None keeps everything in memory.
    """

    def __init__(self, files: StateFiles, folder: str | None) -> None:
        self._files = files
        self._folder = folder
        self._known: dict[str, Arrangement] = {}
        self._runs: dict[str, list[Run]] = {}
        self._digest = EMPTY
        self._aliases: dict[str, str] = {}
        self._target: tuple[Step, ...] = ()
        self._own: tuple[str, dict[str, Run]] | None = None

    def get(self, name: str, weighted: bool) -> Arrangement:
        """The arrangement of that name, with the rows that are committed."""
        if name not in self._known:
            self._known[name] = Arrangement(name, weighted)
            self._advance()
        return self._known[name]

    # --- epochs -----------------------------------------------------------------------------------------

    def begin_epoch(self, steps: tuple[Step, ...], aliases: Mapping[str, str]) -> None:
        self._target = steps
        self._aliases.update(aliases)
        self.forget_changes()
        if self._known:
            self._advance()

    def changes(self) -> Blocks:
        """What the epoch adds to each table."""
        return {
            ARRANGED + name: [_block(chunk) for chunk in known.change.chunks]
            for name, known in self._known.items()
            if known.change is not None
        }

    def written(self, step_id: str) -> None:
        """The changes are in the file of that step: if it is committed, they need not be read again."""
        runs = {n: a.change for n, a in self._known.items() if a.change is not None}
        self._own = (step_id, runs)
        self.forget_changes()

    def forget_changes(self) -> None:
        for known in self._known.values():
            known.change = None

    def snapshot(self) -> MadeBlocks:
        """All rows, to be taken once. The runs become one each."""
        self._advance()
        blocks: MadeBlocks = {}
        for name, runs in self._runs.items():
            if runs:
                self._runs[name] = runs = self._merge(runs)
                blocks[ARRANGED + name] = (_block(chunk) for run in tuple(runs) for chunk in run.chunks)
        self._publish()
        return blocks

    def add_alias(self, snapshot_id: str) -> None:
        self._advance()
        self._aliases = {snapshot_id: self._digest}

    def close(self) -> None:
        self._runs, self._digest, self._own = {}, EMPTY, None
        self._publish()

    # --- committed runs ---------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Brings the runs to what the target says."""
        digests = digests_of(self._target)
        if self._digest != digests[-1]:
            done = steps_applied(self._digest, self._target, self._aliases)
            if done is None:
                self._runs, done = {}, 0
            self._digest = "being changed"
            for step in self._target[done:]:
                self._apply(step)
            self._digest = digests[-1]
            self._aliases.clear()
        self._own = None
        self._publish()

    def _apply(self, step: Step) -> None:
        if self._own is not None and self._own[0] == step.id:
            added: Iterable[tuple[str, Run]] = (
                (name, self._mapped(Run(f"{step.id}/{name}", run.chunks)))
                for name, run in self._own[1].items()
            )
        else:
            added = self._read(step)
        for name, run in added:
            if run.chunks:
                self._append(name, run)

    def _read(self, step: Step) -> Iterator[tuple[str, Run]]:
        """The arrangements of a file; of a large one a chunk at a time is in memory."""
        data = opened(self._files, step.file)
        low, high = start_of(step.first_group), start_of(step.last_group + 1)
        tables = itertools.groupby(read_arranged(data, step.file.path), lambda block: block[0])
        for table, blocks in tables:
            sliced = (_chunk(block).slice(low, high) for _, _, block in blocks)
            chunks = (chunk for chunk in sliced if chunk.table.num_rows)
            first = next(chunks, None)
            if first is not None:
                name = table.removeprefix(ARRANGED)
                whole = itertools.chain([first], chunks)
                yield name, self._write(f"{step.id}/{name}", first.table.schema, whole, step.file.size_bytes)

    def _append(self, name: str, run: Run) -> None:
        runs = [*self._runs.get(name, ()), run]
        while count := to_merge([r.row_count for r in runs]):
            runs = [*runs[:-count], *self._merge(runs[-count:])]
        self._runs[name] = runs

    def _merge(self, runs: list[Run]) -> list[Run]:
        """One run instead of some, or none if all rows have gone."""
        if len(runs) == 1:
            return runs
        name = xxh3_128_hexdigest("\n".join(run.name for run in runs).encode())
        merged = self._write(name, runs[0].schema, merged_chunks(runs), sum(_size(run) for run in runs))
        for run in runs:
            self._delete(run)
        return [merged] if merged.chunks else []

    def _publish(self) -> None:
        for name, known in self._known.items():
            known.runs = tuple(self._runs.get(name, ()))
            if known.runs and (WEIGHT in known.runs[0].schema.names) != known.weighted:
                raise StateMigrationError(
                    f"rows of state {name!r} {'cannot' if known.weighted else 'could'} be taken back so far",
                    do="start without the state, or run the former program",
                )

    # --- local files ------------------------------------------------------------------------------------

    def _mapped(self, run: Run) -> Run:
        return self._write(run.name, run.schema, iter(run.chunks), _size(run))

    def _write(self, name: str, schema: pa.Schema, chunks: Iterator[Chunk], size: int) -> Run:
        """The chunks as a run: in a file if they are large."""
        if self._folder is None or size < _MAPPED_BYTES:
            return Run(name, tuple(chunks))
        path = self._path(name)
        if not os.path.exists(path):
            os.makedirs(self._folder, exist_ok=True)
            aside = f"{path}-{uuid.uuid4().hex[:8]}"
            with pa.OSFile(aside, "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
                for chunk in chunks:
                    writer.write_batch(_one_batch(chunk.table))
            mapped = _open(name, aside)  # before others may delete it
            os.replace(aside, path)
            return mapped
        try:
            return _open(name, path)
        except FileNotFoundError:  # somebody has merged it just now
            return Run(name, tuple(chunks))

    def _delete(self, run: Run) -> None:
        if self._folder is not None:
            with contextlib.suppress(FileNotFoundError):
                os.remove(self._path(run.name))

    def _path(self, name: str) -> str:
        assert self._folder is not None
        return os.path.join(self._folder, f"{xxh3_128_hexdigest(name.encode())}.arrow")


def _open(name: str, path: str) -> Run:
    with pa.memory_map(path) as source:
        reader = pa.ipc.open_file(source)
        batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
    return Run(name, tuple(Chunk(pa.Table.from_batches([batch])) for batch in batches))


def _size(run: Run) -> int:
    return sum(chunk.table.nbytes for chunk in run.chunks)


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    return table.combine_chunks().to_batches()[0]


def _block(chunk: Chunk) -> tuple[bytes, bytes]:
    """Key and bytes. The key has the first and the last key group, for whoever wants to know the range."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, chunk.table.schema, options=_LZ4) as writer:
        writer.write_table(chunk.table)
    first, last = (int(chunk.places[at]) >> 48 for at in (0, -1))
    key = group_bytes(first) + group_bytes(last) + uuid.uuid4().bytes
    return key, sink.getvalue().to_pybytes()


def _chunk(block: Any) -> Chunk:
    with pa.ipc.open_stream(pa.py_buffer(block)) as reader:
        return Chunk(reader.read_all().combine_chunks())

"""Checkpoint storage: where the checkpoints of one job lie, laid out as Flink does.

    <base>/<job id>/chk-<n>/_metadata        what checkpoint n is; written last: then it has happened
    <base>/<job id>/shared/...               state files, which several checkpoints share

A state file is never changed. It is deleted when no retained checkpoint names it.
"""

from __future__ import annotations

import collections
import contextlib
import logging
import re
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

from xxhash import xxh3_64, xxh3_64_hexdigest

from penstock.checkpoint.claims import release_claimed
from penstock.checkpoint.encoding import decode_metadata, encode_metadata
from penstock.checkpoint.filesystem import (
    Content,
    FileSystem,
    LocalFileSystem,
    LocalSlices,
    Slices,
    filesystem_for,
    pieces_of,
)
from penstock.checkpoint.handles import FileRef
from penstock.checkpoint.metadata import CheckpointMetadata
from penstock.common.errors import CheckpointError, DamagedStateError
from penstock.common.ids import EpochId
from penstock.common.points import Point, reach

if TYPE_CHECKING:
    from penstock.checkpoint.savepoint import RunAll

METADATA_FILE = "_metadata"
COPY_FILE = "_metadata_copy"
"""The same bytes once more, on a local disk."""
SAVEPOINT_PROPERTY = "penstock.savepoint"
"""Set in the metadata of a savepoint, whose keyed state is not in state files."""
_CHECKPOINT = re.compile(r"chk-(\d+)$")
_READ_BYTES = 4 << 20
_log = logging.getLogger(__name__)


class CheckpointStorage:
    """Files and checkpoints of one job below a base path. Picklable: tasks write their state files with it.

    Args:
        durable: Checkpoints outlive the driver, so files are synced to the disk before a checkpoint names them.
            State of a job that nobody could restore has only to be seen by the job's own processes.
    """

    def __init__(self, base: str, job_id: str, durable: bool = True) -> None:
        self.base = base
        self.job_id = job_id
        self.durable = durable
        self._files, root = filesystem_for(base, synced=durable)
        self.root = f"{root.rstrip('/')}/{job_id}"
        self._known: dict[EpochId, CheckpointMetadata] = {}
        self._named_before: set[str] = set()

    def __reduce__(self) -> tuple[type[CheckpointStorage], tuple[str, str, bool]]:
        return CheckpointStorage, (self.base, self.job_id, self.durable)

    # --- state files ------------------------------------------------------------------------------------

    def write_file(self, relative: str, data: Content) -> FileRef:
        """Writes a state file durably. `relative` names it within the job's folder; it must be new."""
        path = f"{self.root}/{relative}"
        counted = _Counted(data)
        self._files.write(path, counted)
        return FileRef(path, counted.size_bytes, counted.checksum)

    def read_file(self, ref: FileRef) -> bytes:
        """The bytes of a state file, of this job or another one, verified."""
        files = self._files if ref.path.startswith(self.root) else filesystem_for(ref.path)[0]
        try:
            data = files.read(ref.path)
        except FileNotFoundError as error:
            raise _missing(ref) from error
        verify(ref, data)
        return data

    def open_file(self, ref: FileRef) -> Slices:
        """A state file for reading parts of it, verified as a whole; it is never in memory as a whole."""
        return open_verified(ref)

    def discard(self, ref: FileRef) -> None:
        """Removes a file that no checkpoint names."""
        self._files.delete(ref.path)

    # --- checkpoints ------------------------------------------------------------------------------------

    def checkpoint_path(self, epoch: EpochId) -> str:
        return f"{self.root}/chk-{epoch}"

    def write_metadata(self, metadata: CheckpointMetadata) -> str:
        """Commits an epoch: after this returns, it has happened. Returns the checkpoint's path."""
        path = self.checkpoint_path(metadata.epoch)
        data = encode_metadata(metadata)
        self._files.write(f"{path}/{METADATA_FILE}", data)
        if self.durable and isinstance(self._files, LocalFileSystem):
            # Output is published next, so nobody can go on from an older checkpoint without repeating it: if a disk
            # changes a byte of the file, this one is read. Remote stores keep copies themselves.
            with contextlib.suppress(OSError):
                LocalFileSystem(synced=False).write(f"{path}/{COPY_FILE}", data)
        self._known[metadata.epoch] = metadata
        return path

    def read_metadata(self, path: str, run: RunAll | None = None) -> CheckpointMetadata:
        """The metadata of a checkpoint or savepoint to start from, given its folder or the file itself.

        The keyed state of a savepoint becomes files of this job; `run` decides where that work is done.
        """
        from penstock.checkpoint.savepoint import is_savepoint, one_by_one, read_savepoint

        return read_savepoint(path, self, run or one_by_one) if is_savepoint(path) else read_metadata(path)

    def named_files(self) -> set[str]:
        """Paths of all state files that a checkpoint of the job names."""
        checkpoints = self._sort_out(len(self.list_checkpoints()))[0]
        return {ref.path for metadata in checkpoints for ref in metadata.files}

    def list_checkpoints(self) -> list[EpochId]:
        """Numbers of the checkpoints there are, complete or not, oldest first."""
        found = (_CHECKPOINT.match(name) for name in self._files.names(self.root))
        return sorted(EpochId(int(match[1])) for match in found if match)

    def newest_complete(self) -> CheckpointMetadata | None:
        """The newest checkpoint; folders without metadata are passed over, those epochs were not committed.

        Raises:
            DamagedStateError: Its metadata cannot be read. Its output may be visible, so to go on from an older one
                would repeat that: somebody has to decide it.
        """
        for epoch in reversed(self.list_checkpoints()):
            path = self.checkpoint_path(epoch)
            try:
                return read_metadata(path)
            except CheckpointError as error:
                if not {METADATA_FILE, COPY_FILE} & set(self._files.names(path)):
                    _log.info("checkpoint %s is not complete", epoch)
                    continue
                raise self._newest_is_damaged(path) from error
        return None

    def _newest_is_damaged(self, path: str) -> DamagedStateError:
        older = self.usable()
        named = "\n".join(older) if older else "a savepoint; no other checkpoint is usable"
        return DamagedStateError(
            "the metadata of the job's newest checkpoint is damaged",
            where=path,
            do="mend it from a copy, or start from another one with execution.state-recovery.path; output since then "
            f"may be repeated. Or delete the job's folder to start anew. Usable:\n{named}",
        )

    def usable(self) -> list[str]:
        """Paths of the checkpoints that a job can go on from, newest first: all their files are as written.

        Reads every state file, so it is for after a failure.
        """
        return [self.checkpoint_path(metadata.epoch) for metadata in self._intact()]

    def newest_intact(self) -> CheckpointMetadata | None:
        """The newest checkpoint of which every byte is as written; reads state files until there is one."""
        return next(self._intact(), None)

    def _intact(self) -> Iterator[CheckpointMetadata]:
        intact: dict[FileRef, bool] = {}
        for metadata in self._sort_out(len(self.list_checkpoints()))[0]:
            for ref in metadata.files - intact.keys():
                intact[ref] = self._is_intact(ref)
            if all(intact[ref] for ref in metadata.files):
                yield metadata

    def _is_intact(self, ref: FileRef) -> bool:
        try:
            self.read_file(ref)
        except (CheckpointError, OSError):
            return False
        return True

    def release_unnamed(self, metadata: CheckpointMetadata) -> list[str]:
        """For a job whose checkpoints are not written: deletes the state files that only the one before has named.

        Its driver alone knows what is needed, and nothing of an epoch is needed after the next one is committed.
        Files that no checkpoint has named yet (of a running epoch, of deltas being packed) are not touched.
        """
        named = {ref.path for ref in metadata.files}
        unneeded = {path for path in self._named_before - named if path.startswith(self.root + "/")}
        self._named_before = named
        for path in unneeded:
            self._files.delete(path)
        return sorted(unneeded)

    def retain(self, last_n: int, keep: frozenset[str] = frozenset()) -> list[str]:
        """Deletes all but the newest `last_n` complete checkpoints, and the files that only they needed.

        `keep` are paths of state files that something else needs: an epoch that runs from an older handle, a
        job that was started from one of these checkpoints. Files of other jobs are never deleted. Returns the
        state files that were.
        """
        retained, dropped, damaged = self._sort_out(last_n)
        if not retained:
            return []
        reach(Point.RETAIN_NEXT)
        needed = {ref.path for metadata in retained for ref in metadata.files} | keep
        if len(retained) >= last_n:
            release_claimed(self, needed)
        # Files of another job, from which this one was restored, are that job's business.
        own = (ref.path for metadata in dropped for ref in metadata.files if ref.path.startswith(self.root))
        unneeded = set(own) - needed
        unneeded = {path for path in unneeded if path.startswith(self.root + "/")}
        for metadata in dropped:
            # Metadata goes first: a checkpoint that is listed must have its files.
            self._files.delete_tree(self.checkpoint_path(metadata.epoch))
            self._known.pop(metadata.epoch, None)
        for epoch in damaged:
            self._files.delete_tree(self.checkpoint_path(epoch))
        reach(Point.RETAIN_METADATA_GONE)
        for path in unneeded:
            self._files.delete(path)
        reach(Point.RETAINED)
        return sorted(unneeded)

    def sweep(self, keep: frozenset[str] = frozenset()) -> list[str]:
        """Deletes state files of past epochs that no checkpoint names: what aborted attempts left behind.

        Lists the whole folder, so it is for the start or the end of a job. Files of an epoch that is not
        committed yet have a higher number than every checkpoint and are not touched.
        """
        checkpoints = self._sort_out(len(self.list_checkpoints()))[0]
        if not checkpoints:
            return []
        needed = {ref.path for metadata in checkpoints for ref in metadata.files} | keep
        orphans = self._files_up_to(checkpoints[0].epoch) - needed
        for path in orphans:
            self._files.delete(path)
        return sorted(orphans)

    def delete_job(self) -> None:
        """Removes everything of the job; its newest checkpoint last, so that nobody goes on from an older one.

        What the job had claimed goes with it, unless it has made no checkpoint: then that is all there is.
        """
        reach(Point.END_NEXT)
        *older, newest = self.list_checkpoints() or [EpochId(0)]
        if newest:
            release_claimed(self, frozenset())
        for epoch in older:
            self._files.delete_tree(self.checkpoint_path(epoch))
        self._files.delete_tree(f"{self.root}/shared")
        reach(Point.END_HALF)
        self._files.delete_tree(self.checkpoint_path(newest))
        self._files.delete_tree(self.root)

    def _sort_out(
        self, last_n: int
    ) -> tuple[list[CheckpointMetadata], list[CheckpointMetadata], list[EpochId]]:
        retained: list[CheckpointMetadata] = []
        dropped: list[CheckpointMetadata] = []
        damaged: list[EpochId] = []
        for epoch in reversed(self.list_checkpoints()):
            try:
                metadata = self._known.get(epoch) or read_metadata(self.checkpoint_path(epoch))
            except CheckpointError:
                if retained:
                    damaged.append(epoch)
                continue
            (retained if len(retained) < max(1, last_n) else dropped).append(metadata)
        return retained, dropped, damaged

    def _files_up_to(self, newest: EpochId) -> set[str]:
        """State files written by epochs up to the newest checkpoint; a file's name begins with its epoch."""
        found = set()
        for relative in self._files.walk(f"{self.root}/shared"):
            number = relative.rpartition("/")[2].partition("-")[0]
            if number.isdigit() and int(number) <= newest:
                found.add(f"{self.root}/shared/{relative}")
        return found


def read_metadata(path: str) -> CheckpointMetadata:
    """The metadata of any checkpoint, given its folder or the file itself.

    Raises:
        CheckpointError: There is none, or it is damaged.
    """
    file = path if path.rstrip("/").endswith(METADATA_FILE) else f"{path.rstrip('/')}/{METADATA_FILE}"
    files, absolute = filesystem_for(file)
    try:
        metadata = _decoded(files, absolute)
    except CheckpointError as damaged:
        try:
            metadata = _decoded(files, absolute.removesuffix(METADATA_FILE) + COPY_FILE)
        except CheckpointError:
            raise damaged from None
        _log.warning("%s: %s; its copy is used", absolute, damaged.what)
    if SAVEPOINT_PROPERTY in metadata.properties:
        raise _no_checkpoint(absolute)
    return metadata


def _no_checkpoint(path: str) -> CheckpointError:
    """For metadata of a savepoint: whoever reads those as savepoints has not found what they are known by."""
    from penstock.checkpoint.savepoint import SAVEPOINT_FILE, is_savepoint

    if is_savepoint(path):
        return CheckpointError(
            "this is a savepoint, not a checkpoint: keyed state is in its parts", where=path
        )
    return CheckpointError(
        f"the savepoint is incomplete: it has no {SAVEPOINT_FILE}",
        where=path,
        do="copy the whole folder, or use another savepoint",
    )


def _decoded(files: FileSystem, path: str) -> CheckpointMetadata:
    try:
        return decode_metadata(files.read(path), path)
    except FileNotFoundError as error:
        raise CheckpointError(
            "no checkpoint here", where=path, do="give the folder that contains _metadata"
        ) from error


def open_verified(ref: FileRef) -> Slices:
    """Any state file, read once to check its bytes and then as parts of it are wanted.

    A remote one comes over the network once: parts are read of a copy on the local disk, which goes with the object.

    Raises:
        DamagedStateError: It is missing, or its bytes are others than were written.
    """
    files = filesystem_for(ref.path)[0]
    try:
        data = files.slices(ref.path)
    except FileNotFoundError as error:
        raise _missing(ref) from error
    pieces = _Counted(data[start : start + _READ_BYTES] for start in range(0, len(data), _READ_BYTES))
    if isinstance(files, LocalFileSystem):
        collections.deque(pieces, maxlen=0)
    else:
        copy = tempfile.TemporaryFile()  # noqa: SIM115 (closed when nobody needs it any more)
        copy.writelines(pieces)
        copy.flush()
        data = LocalSlices(copy)
    _verify(ref, pieces.size_bytes, pieces.checksum)
    return data


class _Counted:
    """Pieces of a file, counted and summed up while somebody takes them."""

    def __init__(self, data: Content) -> None:
        self._data = data
        self._digest = xxh3_64()
        self.size_bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in pieces_of(self._data):
            self._digest.update(piece)
            self.size_bytes += len(piece)
            yield piece

    @property
    def checksum(self) -> str:
        return self._digest.hexdigest()


def verify(ref: FileRef, data: bytes) -> None:
    """DamagedStateError unless the bytes are the ones that were written."""
    _verify(ref, len(data), xxh3_64_hexdigest(data))


def _verify(ref: FileRef, size_bytes: int, checksum: str) -> None:
    if size_bytes != ref.size_bytes or checksum != ref.checksum:
        raise DamagedStateError(
            f"a state file is damaged: {size_bytes} bytes with checksum {checksum}, "
            f"not {ref.size_bytes} with {ref.checksum}",
            where=ref.path,
            do="restore from another checkpoint or savepoint",
        )


def _missing(ref: FileRef) -> DamagedStateError:
    return DamagedStateError(
        "a state file is missing", where=ref.path, do="restore from another checkpoint or savepoint"
    )


class MemoryFiles:
    """State files in a dict: for harnesses and tests that need no disk."""

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}

    def write_file(self, relative: str, data: Content) -> FileRef:
        written = self.data[relative] = b"".join(pieces_of(data))
        return FileRef(relative, len(written), xxh3_64_hexdigest(written))

    def open_file(self, ref: FileRef) -> Slices:
        return self.read_file(ref)

    def read_file(self, ref: FileRef) -> bytes:
        if ref.path not in self.data:
            raise DamagedStateError("a state file is missing", where=ref.path)
        verify(ref, self.data[ref.path])
        return self.data[ref.path]

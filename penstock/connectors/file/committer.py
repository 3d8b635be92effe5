"""The driver's half of the file sink: gives finished files the name that readers see."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.common.errors import CheckpointError
from penstock.common.points import Point, reach
from penstock.connectors.file.filesystem import FileSystem
from penstock.connectors.file.parts import FileCommittable
from penstock.connectors.sink import Committer

__all__ = ["FileCommitter"]


class FileCommitter(Committer):
    """Renames; doing it again changes nothing."""

    takes_several_epochs = True

    def __init__(self, base_path: str) -> None:
        self._filesystem = FileSystem(base_path)

    def commit(self, committables: Sequence[FileCommittable]) -> None:
        for committable in committables:
            self._publish(committable)
        for committable in committables:
            for path in committable.remove:
                self._filesystem.delete(path)

    def _publish(self, committable: FileCommittable) -> None:
        filesystem, pending, final = self._filesystem, committable.pending, committable.final
        if not filesystem.exists(pending):
            if filesystem.exists(final):
                return
            raise CheckpointError(
                f"neither the finished file '{pending}' nor '{final}' exists",
                where="file sink, committing an epoch",
                do="somebody removed it: the records in it are lost unless an earlier checkpoint is used",
            )
        if filesystem.exists(final):
            # An object store "renames" by copying: a crash in between leaves both.
            if filesystem.size(final) != filesystem.size(pending):
                raise CheckpointError(
                    f"'{final}' exists already and differs from '{pending}'",
                    where="file sink, committing an epoch",
                    do="files that were published are never overwritten: move one of the two away",
                )
            filesystem.delete(pending)
            return
        reach(Point.RENAME_NEXT)
        filesystem.rename(pending, final)
        reach(Point.RENAMED)

"""Whether the files that checkpoints and savepoints name are as they were written.

    FileCheck()                    they are there and have their sizes: folders are listed, nothing is read
    FileCheck(reads_all=True)      every byte is as it was: all files are read

Checkpoints share files and folders, so what was found out for one of them holds for the next. That is why all of them
have to be opened before the first is checked: a file that is written later is not in a list that was made before.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from penstock.checkpoint.contents import PartFile, StateContents
from penstock.checkpoint.filesystem import filesystem_for
from penstock.checkpoint.handles import FileRef
from penstock.checkpoint.savepoint_parts import read_table
from penstock.checkpoint.storage import open_verified
from penstock.common.errors import CheckpointError


class FileCheck:
    """Looks at the files of checkpoints and savepoints, at each file once."""

    def __init__(self, reads_all: bool = False) -> None:
        self._reads_all = reads_all
        self._found: dict[FileRef, str] = {}
        self._sizes = functools.cache(_sizes)

    def problem(self, contents: StateContents) -> str:
        """What is wrong with the files, in a line; nothing if all are well."""
        found = [problem for problem in self._problems(contents) if problem]
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        return found[0] + more if found else ""

    def _problems(self, contents: StateContents) -> Iterator[str]:
        pieces = [p for op in contents.operators.values() for share in op.shares for p in share.parts]
        parts = {_ref(piece) for piece in pieces if piece.part.checksum}
        for ref in sorted(contents.metadata.files | parts, key=lambda ref: ref.path):
            if ref not in self._found:
                self._found[ref] = self._of_size(ref) or (_of_content(ref) if self._reads_all else "")
            yield self._found[ref]
        if self._reads_all:
            yield from (_of_own_part(piece) for piece in pieces if not piece.part.checksum)

    def _of_size(self, ref: FileRef) -> str:
        folder, _, name = ref.path.rpartition("/")
        try:
            size = self._sizes(folder).get(name)
        except OSError as error:
            return f"a file cannot be looked at: {error}"
        if size is None:
            return f"a file is missing: {ref.path}"
        if size != ref.size_bytes:
            return f"a file has {size} bytes instead of {ref.size_bytes}: {ref.path}"
        return ""


def _ref(piece: PartFile) -> FileRef:
    return FileRef(f"{piece.folder}/{piece.part.name}", piece.part.size_bytes, piece.part.checksum)


def _sizes(folder: str) -> dict[str, int]:
    files, path = filesystem_for(folder)
    return files.sizes(path)


def _of_content(ref: FileRef) -> str:
    try:
        open_verified(ref)
    except (CheckpointError, OSError):
        return f"a file is damaged: {ref.path}"
    return ""


def _of_own_part(piece: PartFile) -> str:
    """A part that somebody has written in place of ours: there is no checksum, but it has to be readable."""
    try:
        read_table(filesystem_for(piece.folder)[0], piece.folder, piece.part)
    except (CheckpointError, OSError):
        return f"a file is damaged: {piece.folder}/{piece.part.name}"
    return ""

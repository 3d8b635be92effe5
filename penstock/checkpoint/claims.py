"""Claimed checkpoints and savepoints: a job that starts from one with CLAIM owns it from then on.

    NO_CLAIM    the job copies what it needs with its first checkpoint, and never deletes anything of the snapshot
    CLAIM       the job goes on with the snapshot's files, and deletes the snapshot when it has enough checkpoints
                of its own: first its metadata, then each file as soon as no checkpoint needs it

What is claimed is written down in the job's folder, because the job may be started again before it is all gone.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from penstock.checkpoint.filesystem import FileSystem, filesystem_for

if TYPE_CHECKING:
    from penstock.checkpoint.metadata import CheckpointMetadata
    from penstock.checkpoint.storage import CheckpointStorage

CLAIMED_FILE = "_claimed"
_CHECKPOINT = re.compile(r"^(.+)/([^/]+)/chk-\d+$")


def claim(storage: CheckpointStorage, path: str, metadata: CheckpointMetadata) -> None:
    """Makes the job the owner of the checkpoint or savepoint in a folder."""
    _, folder = filesystem_for(path)
    if folder.rpartition("/")[2] in ("_metadata", "savepoint.json"):
        folder = os.path.dirname(folder)
    foreign = sorted(ref.path for ref in metadata.files if not ref.path.startswith(storage.root + "/"))
    _write(storage, folder, foreign)


def release_claimed(storage: CheckpointStorage, needed: frozenset[str] | set[str]) -> None:
    """The job has enough checkpoints of its own: what is claimed and not needed by them goes."""
    files, own = filesystem_for(storage.root)
    try:
        claimed = json.loads(files.read(f"{own}/{CLAIMED_FILE}"))
    except FileNotFoundError:
        return
    folder, left = claimed["folder"], claimed["files"]
    others = _named_by_others(folder)
    filesystem_for(folder)[0].delete_tree(folder)
    gone = [path for path in left if path not in needed and path not in others]
    for path in gone:
        filesystem_for(path)[0].delete(path)
    left = [path for path in left if path in needed]
    if left:
        _write(storage, folder, left)
    else:
        files.delete(f"{own}/{CLAIMED_FILE}")


def _named_by_others(folder: str) -> set[str]:
    """Files that other checkpoints of the claimed one's job need."""
    from penstock.checkpoint.storage import CheckpointStorage

    match = _CHECKPOINT.match(folder)
    if match is None:
        return set()
    for name in ("_metadata_copy", "_metadata"):  # its own files do not count
        filesystem_for(folder)[0].delete(f"{folder}/{name}")
    return CheckpointStorage(match[1], match[2]).named_files()


def _write(storage: CheckpointStorage, folder: str, paths: list[str]) -> None:
    files, own = filesystem_for(storage.root)
    _save(files, f"{own}/{CLAIMED_FILE}", {"folder": folder, "files": paths})


def _save(files: FileSystem, path: str, content: dict[str, object]) -> None:
    files.write(path, json.dumps(content, indent=2).encode())

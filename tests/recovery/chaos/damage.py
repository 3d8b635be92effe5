"""Damage to files between two runs of a driver, of every kind of file that a checkpoint is made of."""

from __future__ import annotations

import pathlib
import random
import re
from dataclasses import dataclass

WAYS = ("truncated", "bit flipped", "deleted")
_NUMBER = re.compile(r"chk-(\d+)$")


@dataclass
class Damage:
    """A file that is not what it was; `undo` makes it so again."""

    way: str
    what: str
    path: pathlib.Path
    before: bytes

    @property
    def kind(self) -> str:
        return f"{self.what} {self.way}"

    def undo(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(self.before)


def kinds_of_files(folder: pathlib.Path) -> dict[str, list[pathlib.Path]]:
    """What there is to damage, in the newest checkpoint and in savepoints."""
    checkpoints = sorted(folder.glob("chk/*/chk-*/_metadata"), key=_epoch)
    if not checkpoints:
        return {}
    newest = checkpoints[-1]
    if any(_epoch(copy) > _epoch(newest) for copy in folder.glob("chk/*/chk-*/_metadata_copy")):
        return {}  # a newer one has lost its metadata already, and its copy is read
    named = newest.read_bytes()
    if b'"finished": false' not in named.partition(b"\n")[0]:
        return {}  # nothing is read any more: the job only has to say that it has ended; or it is damaged already
    # Of the first one that was killed before its copy was written nothing would be left to go on from.
    alone = len(checkpoints) == 1 and not newest.with_name("_metadata_copy").exists()
    shared = [p for p in newest.parent.parent.glob("shared/**/*") if p.is_file() and str(p).encode() in named]
    found = {
        "metadata": [] if alone else [newest],
        "delta": [p for p in shared if p.suffix == ".delta"],
        "snapshot": [p for p in shared if p.suffix == ".snapshot"],
        "state file": [p for p in shared if p.parent.name == "state"],
    }
    return {what: paths for what, paths in found.items() if paths}


def savepoint_files(folder: pathlib.Path) -> list[pathlib.Path]:
    """Files of complete savepoints."""
    roots = [p.parent for p in sorted(folder.glob("savepoints/*/_metadata"))]
    return [p for root in roots for p in sorted(root.rglob("*")) if p.is_file()]


def inflict(what: str, path: pathlib.Path, way: str, chance: random.Random) -> Damage:
    before = path.read_bytes()
    damage = Damage(way, what, path, before)
    if way == "deleted":
        path.unlink()
    elif way == "truncated" or not before:
        path.write_bytes(before[: chance.randrange(max(1, len(before)))])
    else:
        at = chance.randrange(len(before))
        flipped = bytes([before[at] ^ (1 << chance.randrange(8))])
        path.write_bytes(before[:at] + flipped + before[at + 1 :])
    return damage


def leave_rubbish(folder: pathlib.Path, chance: random.Random) -> None:
    """What a process leaves that died while it wrote: files aside, a checkpoint without metadata."""
    for root in folder.glob("chk/*"):
        if not root.is_dir():
            continue
        newest = max((_epoch(p) for p in root.glob("chk-*/_metadata")), default=0)
        (root / f"chk-{newest + 1}").mkdir(exist_ok=True)
        aside = root / f"chk-{newest + 1}" / f"._metadata.{chance.randrange(1 << 32):08x}.tmp"
        aside.write_bytes(b'{"format": "penstock-checkpoint", "ver')
        for place in [p for p in root.glob("shared/*") if p.is_dir()][:2]:
            (place / f"{newest:08d}-0123456789ab.delta").write_bytes(b"PENSTATE")


def _epoch(metadata: pathlib.Path) -> int:
    match = _NUMBER.search(metadata.parent.name)
    return int(match[1]) if match else 0

"""The version stamp of a local copy: whose state it is and which files it was made of.

It lies in the environment itself and changes in the same transaction as the data, so a copy is never
anything but what its stamp says, whichever process wrote it and whenever that process died.
"""

from __future__ import annotations

import msgspec

from penstock.state.chain import EMPTY

STAMP_KEY = b"stamp"
STAMP_TABLE = "penstock"
_KEPT_HISTORY = 64
_KEPT_ALIASES = 8


class Stamp(msgspec.Struct, frozen=True):
    """What the copy holds.

    `identity` is job, operator, subtask, key-group range and the machine's boot id. `digest` is that of the
    chain of files, `history` the digests before it, newest last. `aliases` are snapshots with the content of
    some digest.
    """

    identity: str
    epoch: int = 0
    digest: str = EMPTY
    history: tuple[str, ...] = ()
    aliases: dict[str, str] = {}

    def advanced(self, epoch: int, digest: str) -> Stamp:
        history = (*self.history, self.digest)[-_KEPT_HISTORY:] if digest != self.digest else self.history
        return Stamp(self.identity, epoch, digest, history, self.aliases)

    def with_alias(self, snapshot_id: str) -> Stamp:
        aliases = {**self.aliases, snapshot_id: self.digest}
        while len(aliases) > _KEPT_ALIASES:
            del aliases[next(iter(aliases))]
        return Stamp(self.identity, self.epoch, self.digest, self.history, aliases)

    def was_at(self, digest: str) -> bool:
        """Whether the copy once was what somebody now asks for: then that somebody is behind."""
        return digest in self.history or digest == EMPTY != self.digest

    def encode(self) -> bytes:
        return msgspec.msgpack.encode(self)

    @staticmethod
    def decode(data: bytes) -> Stamp:
        return msgspec.msgpack.decode(data, type=Stamp)

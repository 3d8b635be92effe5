"""Which files a source has found before, small enough to be part of every checkpoint."""

from __future__ import annotations

from xxhash import xxh3_128_digest

_DIGEST_BYTES = 16


class SeenFiles:
    """Remembers names by 16 bytes each: a folder that grows for months is in the metadata of every epoch.

    >>> seen = SeenFiles()
    >>> seen.add("a.csv"), "a.csv" in seen, "b.csv" in seen
    (None, True, False)
    >>> "a.csv" in SeenFiles(seen.snapshot())
    True
    """

    def __init__(self, snapshot: bytes = b"") -> None:
        self._packed = bytearray(snapshot)
        self._digests = {snapshot[i : i + _DIGEST_BYTES] for i in range(0, len(snapshot), _DIGEST_BYTES)}

    def add(self, name: str) -> None:
        digest = xxh3_128_digest(name.encode())
        if digest not in self._digests:
            self._digests.add(digest)
            self._packed += digest

    def __contains__(self, name: object) -> bool:
        return xxh3_128_digest(str(name).encode()) in self._digests

    def snapshot(self) -> bytes:
        return bytes(self._packed)

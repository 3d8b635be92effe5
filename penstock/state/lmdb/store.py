"""Committed state of one operator subtask in an LMDB environment.

Several processes may have the environment open: Spark may run the next epoch of a subtask in another worker,
and a task that was given up may still be running (a zombie). What keeps them apart:

- a reader sees the state of its own `advance` until `release`, whatever others write (LMDB's MVCC);
- data and stamp change in one write transaction, and the stamp is checked inside of it;
- who finds the copy *ahead* of what it was told to restore leaves it alone and works on a private copy, which
  is deleted afterwards; who finds another state altogether rebuilds the copy in one transaction.

So the worst that a zombie can do is cost a rebuild.
"""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from penstock.common.errors import InvariantError, StateError
from penstock.common.points import Point, reach
from penstock.state.chain import digests_of, steps_applied
from penstock.state.lmdb.environment import Environment, boot_id, close_environment, open_environment
from penstock.state.lmdb.stamp import STAMP_KEY, STAMP_TABLE, Stamp
from penstock.state.store import Store, Target

_log = logging.getLogger(__name__)
_EXPANSION = 12
"""Bytes in LMDB per byte of a compressed file, generously: room in the map costs nothing."""


class LmdbStore(Store):
    """Committed tables on the local disk. `path` is a directory of this subtask alone."""

    def __init__(self, path: str, identity: str) -> None:
        # A copy from before the machine restarted is not even opened: it was written without sync.
        self._path = os.path.join(path, boot_id()[:8])
        self._identity = f"{identity}|{boot_id()}"
        self._shared: Environment | None = None
        self._private: Environment | None = None
        self._env: Environment | None = None
        self._txn: Any = None
        self._handles: dict[str, Any] = {}
        self._missing: set[str] = set()

    def advance(self, target: Target, aliases: Mapping[str, str]) -> None:
        self.release()
        self._drop_private()
        if self._shared is None:
            self._shared = open_environment(self._path)
        wanted = digests_of(target.steps)[-1]
        stamp = self._stamp_now(self._shared)
        if stamp.digest != wanted and not stamp.was_at(wanted):
            self._apply(self._shared, target, aliases)
        if not self._begin_read(self._shared, wanted):
            # The copy is ahead of us, or another process moved it on just now.
            name = f"{self._path}-behind-{os.getpid()}-{uuid.uuid4().hex[:8]}"
            self._private = open_environment(name)
            self._apply(self._private, target, aliases)
            self._begin_read(self._private, wanted)

    def _begin_read(self, env: Environment, wanted: str) -> bool:
        """Starts reading if the environment holds what is wanted."""
        txn = env.read()
        if self._read_stamp(env, txn).digest != wanted:
            env.end_read(txn)
            return False
        self._env, self._txn = env, txn
        return True

    def add_alias(self, snapshot_id: str) -> None:
        env, expected = self._environment(), self._read_stamp(self._environment(), self._reader()).digest

        def work(txn: Any) -> None:
            stamp = self._read_stamp(env, txn)
            if stamp.digest == expected:
                self._write_stamp(env, txn, stamp.with_alias(snapshot_id))

        try:
            env.write(work)
        except StateError as error:
            # We are reading, so the map cannot grow now. Without the alias the copy is rebuilt one day.
            _log.info("a snapshot is not remembered locally: %s", error)

    def release(self) -> None:
        if self._txn is not None:
            self._environment().end_read(self._txn)
            self._txn = None
        self._handles.clear()
        self._missing.clear()

    def get(self, table: str, key: bytes) -> bytes | None:
        handle = self._handles.get(table)
        if handle is None:
            handle = self._handle(table)
            if handle is None:
                return None
        return self._txn.get(key, db=handle)  # type: ignore[no-any-return]

    def scan(self, table: str, prefix: bytes, start: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        handle = self._handle(table)
        if handle is None:
            return
        with self._reader().cursor(db=handle) as cursor:
            found = cursor.set_range(max(prefix, start or b"")) if (prefix or start) else cursor.first()
            if not found:
                return
            for key, value in cursor:
                if not key.startswith(prefix):
                    return
                yield key, value

    def last_key(self, table: str, prefix: bytes) -> bytes | None:
        handle = self._handle(table)
        if handle is None:
            return None
        with self._reader().cursor(db=handle) as cursor:
            beyond = cursor.set_range(prefix + b"\xff" * 9)
            if not (cursor.prev() if beyond else cursor.last()):
                return None
            key: bytes = cursor.key()
            return key if key.startswith(prefix) else None

    def tables(self) -> list[str]:
        return sorted(set(self._environment().names(self._reader())) - {STAMP_TABLE})

    def close(self) -> None:
        self.release()
        self._drop_private()
        if self._shared is not None:
            close_environment(self._shared)
            self._shared = self._env = None

    # --- writing ----------------------------------------------------------------------------------------

    def _stamp_now(self, env: Environment) -> Stamp:
        txn = env.read()
        try:
            return self._read_stamp(env, txn)
        finally:
            env.end_read(txn)

    def _apply(self, env: Environment, target: Target, aliases: Mapping[str, str]) -> None:
        """Applies the steps that are missing, or all of them to an empty copy: in one transaction."""

        def work(txn: Any) -> None:
            stamp = self._read_stamp(env, txn)
            done = steps_applied(stamp.digest, target.steps, {**stamp.aliases, **aliases})
            if done is None:
                self._empty(env, txn)
                stamp, done = Stamp(self._identity), 0
            for step in target.steps[done:]:
                for table, keys, values in target.blocks(step):
                    _apply_block(txn, env.table_to_write(table, txn), keys, values)
            digest = digests_of(target.steps)[-1]
            reach(Point.LOCAL_NEXT)
            self._write_stamp(env, txn, stamp.advanced(target.epoch, digest))

        env.reserve(_EXPANSION * sum(step.file.size_bytes for step in target.steps))
        env.write(work)

    def _empty(self, env: Environment, txn: Any) -> None:
        for name in env.names(txn):
            txn.drop(env.table_to_write(name, txn), delete=False)

    def _read_stamp(self, env: Environment, txn: Any) -> Stamp:
        handle = env.table(STAMP_TABLE)
        raw = txn.get(STAMP_KEY, db=handle) if handle is not None else None
        if raw is None:
            return Stamp(self._identity)
        stamp = Stamp.decode(raw)
        # Somebody else's state is as good as none: the digest of no chain.
        return stamp if stamp.identity == self._identity else Stamp(stamp.identity, 0, "of another owner")

    def _write_stamp(self, env: Environment, txn: Any, stamp: Stamp) -> None:
        txn.put(STAMP_KEY, stamp.encode(), db=env.table_to_write(STAMP_TABLE, txn))

    # --- reading ----------------------------------------------------------------------------------------

    def _handle(self, table: str) -> Any:
        handle = self._handles.get(table)
        if handle is None and table not in self._missing:
            self._reader()
            handle = self._environment().table(table)
            if handle is None:
                self._missing.add(table)
            else:
                self._handles[table] = handle
        return handle

    def _reader(self) -> Any:
        if self._txn is None:
            raise InvariantError("state was read outside of an epoch")
        return self._txn

    def _environment(self) -> Environment:
        assert self._env is not None
        return self._env

    def _drop_private(self) -> None:
        if self._private is not None:
            close_environment(self._private, delete=True)
            self._private = None


def _apply_block(txn: Any, handle: Any, keys: list[bytes], values: list[bytes | None]) -> None:
    records = list(zip(keys, values, strict=True))
    puts = [record for record in records if record[1] is not None]
    if puts:
        with txn.cursor(db=handle) as cursor:
            cursor.putmulti(puts)
    if len(puts) < len(records):
        for key, value in records:
            if value is None:
                txn.delete(key, db=handle)

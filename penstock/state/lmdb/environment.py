"""LMDB environments of this process: opened once, grown when full, shared by path.

LMDB forbids opening an environment twice in one process, and an open environment must not be used after a
fork. So they are kept in a registry by process id and path. The map (LMDB's maximum size) is enlarged when a
transaction does not fit, and adopted when another process has enlarged it; both only while nobody in this
process reads, because a map must not move under a reader.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

import lmdb

from penstock.common.errors import LocalStateError, StateError

R = TypeVar("R")

FIRST_MAP_SIZE = 32 << 20
_SPARE_BYTES = 64 << 20
"""So much of the disk must stay free: a full disk would kill the process that writes into the map."""

_MAX_TABLES = 512
_MAX_READERS = 1024


class Environment:
    """One LMDB environment and its open tables."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.users = 0
        self._readers = 0
        os.makedirs(path, exist_ok=True)
        self._env = lmdb.open(
            path,
            map_size=FIRST_MAP_SIZE,
            max_dbs=_MAX_TABLES,
            max_readers=_MAX_READERS,
            sync=False,  # a cache: after a crash of the machine it is made anew
            writemap=True,  # 1,000 random updates of 1 M records: 2.5 ms, without it 4.9 ms
            metasync=False,
            meminit=False,
            readahead=False,
        )
        self._tables: dict[str, Any] = {}
        # Readers that died with their process would keep old pages alive for ever.
        self._env.reader_check()

    def write(self, work: Callable[[Any], R]) -> R:
        """Runs `work` in a write transaction; again, in a larger map, if it does not fit.

        Raises whatever `work` raises; nothing is written then.
        """
        while True:
            self._check_disk()
            known = dict(self._tables)
            try:
                with self._begin(write=True) as txn:
                    return work(txn)
            except lmdb.MapFullError:
                self._tables = known  # tables created in the failed transaction do not exist
                self._grow()
            except BaseException:
                self._tables = known
                raise

    def reserve(self, size: int) -> None:
        """Makes the map so large that `size` more bytes fit, to save retries; does nothing under a reader."""
        info, page = self._env.info(), self._env.stat()["psize"]
        needed = (info["last_pgno"] + 1) * page + size
        if needed > info["map_size"] and not self._readers:
            self._resize(max(needed, 2 * info["map_size"]))

    def read(self) -> Any:
        """A read transaction: sees what is committed now, until `end_read`. Every table in it is open.

        A handle can be used by transactions that began after the one that opened it was committed. So tables
        that another process has created are opened first, in a transaction of their own.
        """
        while True:
            txn = self._begin(write=False)
            unknown = [name for name in self.names(txn) if name not in self._tables]
            if not unknown:
                self._readers += 1
                return txn
            txn.abort()
            for name in unknown:
                self._tables[name] = self._env.open_db(name.encode(), create=False)

    def end_read(self, txn: Any) -> None:
        txn.abort()
        self._readers -= 1

    def names(self, txn: Any) -> list[str]:
        """The tables that a transaction sees."""
        with txn.cursor() as cursor:
            return [key.decode() for key in cursor.iternext(keys=True, values=False)]

    def table(self, name: str) -> Any:
        """The handle of a table, None if it did not exist when the transaction began."""
        return self._tables.get(name)

    def table_to_write(self, name: str, txn: Any) -> Any:
        """The handle of a table in a write transaction, created if need be."""
        handle = self._tables.get(name)
        if handle is None:
            try:
                handle = self._env.open_db(name.encode(), txn=txn, create=True)
            except lmdb.DbsFullError as error:
                what = f"an operator has more than {_MAX_TABLES} states"
                raise StateError(what, where=self.path) from error
            self._tables[name] = handle
        return handle

    def close(self) -> None:
        self._tables.clear()
        self._env.close()

    def _begin(self, *, write: bool) -> Any:
        while True:
            try:
                return self._env.begin(write=write)
            except lmdb.MapResizedError:
                self._resize(0)

    def _check_disk(self) -> None:
        disk = os.statvfs(self.path)
        free = disk.f_bavail * disk.f_frsize
        if free < _SPARE_BYTES:
            raise LocalStateError(
                f"the disk of the local state has only {free >> 20} MB left",
                where=self.path,
                do="make room, or set another local state directory",
            )

    def _grow(self) -> None:
        self._resize(self._env.info()["map_size"] * 2)

    def _resize(self, size: int) -> None:
        if self._readers:
            raise LocalStateError(
                "local state has to grow while another attempt of the same subtask reads it in this process",
                where=self.path,
                do="let the epoch be tried again",
            )
        self._env.set_mapsize(size)


_open: dict[tuple[int, str], Environment] = {}
_lock = threading.Lock()


def open_environment(path: str) -> Environment:
    """The environment at a path; every call must be paired with `close_environment`."""
    path = os.path.abspath(path)
    with _lock:
        key = (os.getpid(), path)
        environment = _open.get(key)
        if environment is None:
            environment = _open[key] = Environment(path)
        environment.users += 1
        return environment


def close_environment(environment: Environment, *, delete: bool = False) -> None:
    with _lock:
        environment.users -= 1
        if environment.users == 0:
            _open.pop((os.getpid(), environment.path), None)
            environment.close()
            if delete:
                shutil.rmtree(environment.path, ignore_errors=True)


@lru_cache(maxsize=1)
def boot_id() -> str:
    """Changes when the machine restarts; what was written without sync before is not trusted afterwards."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        pass
    try:
        command = ["sysctl", "-n", "kern.bootsessionuuid"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return f"process-{os.getpid()}"

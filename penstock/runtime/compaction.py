"""Has the keyed state of a subtask written anew beside the job, in a process of its own.

A chain of deltas that has outgrown its snapshot is replaced by a new snapshot. For a small state the task writes it
when its epoch begins. For a large one the epoch would wait for seconds, so the driver asks for it in the plan
(`KeyedStateRestore.compact`), the worker that has the subtask starts a process, and the epochs go on:

    epoch 7   plan asks           worker starts the process for the chain that the plan names
    epoch 8   plan asks           the process is at work
    epoch 9   plan asks           it is done: the report tells the file, and checkpoint 9 names it
    epoch 10  plan has the file

Only the worker knows of the process. If the worker is lost, the process notices and ends, and the next worker of the
subtask, which is asked just the same, begins anew. A finished file is reported until the plan has it; if the chain
was replaced in another way meanwhile, it is removed. If the process fails (a damaged file, say), the next epoch takes
the snapshot from the local copy, as small states do. A worker has one such process at a time: the subtasks of a job
tend to outgrow their snapshots together.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock.checkpoint.handles import FileRef
from penstock.checkpoint.packing import Compacted
from penstock.checkpoint.storage import CheckpointStorage
from penstock.state.backend import KeyedStateRestore
from penstock.state.compaction import Compaction, compact

LOG = logging.getLogger(__name__)

_NICENESS = 10
"""The job comes first: on a busy core it gets ten times as much."""
_LOOK_S = 1.0
_END_S = 10.0


class Compactor:
    """Of one operator subtask, in the worker that has its state.

    Args:
        prefix: Folder for the subtask's files in checkpoint storage.
    """

    def __init__(self, storage: CheckpointStorage, prefix: str) -> None:
        self._storage = storage
        self._prefix = prefix
        self._restore: KeyedStateRestore | None = None
        self._wanted: Compaction | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._file: FileRef | None = None
        self._failed = False

    def heeded(self, restore: KeyedStateRestore) -> KeyedStateRestore:
        """What the epoch begins with: it takes a snapshot itself if none could be written beside the last ones."""
        failed, self._failed = self._failed, False
        if restore.compact and failed:
            restore = replace(restore, compact=False, take_snapshot=True)
        self._restore = restore
        return restore

    def look(self, expiries: Mapping[str, int]) -> Compacted | None:
        """At the end of an epoch: starts what its plan has asked for, and tells what is ready.

        Args:
            expiries: See `Compaction`.
        """
        restore = self._restore
        assert restore is not None, "an epoch begins first"
        files = restore.handles[0].files if len(restore.handles) == 1 else ()
        if self._wanted is not None and files[: len(self._wanted.chain)] != self._wanted.chain:
            self._give_up(self._file is not None and self._file in files)
        if self._wanted is None and restore.compact and not _is_busy():
            try:
                self._start(restore, files, expiries)
            except OSError as error:  # no room for a process, or for what it is told
                self._fail(str(error))
        if self._process is not None and self._process.poll() is not None:
            self._take_result(self._process)
        if self._wanted is None or self._file is None:
            return None
        return Compacted(self._wanted.chain, self._file)

    def close(self) -> None:
        self._give_up(adopted=self._file is not None)  # who knows; a file that nobody names is swept

    def _start(
        self, restore: KeyedStateRestore, chain: tuple[FileRef, ...], expiries: Mapping[str, int]
    ) -> None:
        name = f"{self._prefix}/{restore.epoch:08d}-{uuid.uuid4().hex[:12]}.snapshot"
        groups = restore.first_key_group, restore.last_key_group
        self._wanted = Compaction(chain, groups, restore.epoch, name, dict(expiries))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with tempfile.TemporaryFile() as told:  # not a pipe: this must not wait until the process reads
            pickle.dump((os.getpid(), self._storage, self._wanted), told, protocol=5)
            told.seek(0)
            command = [sys.executable, "-m", __name__]
            self._process = subprocess.Popen(command, stdin=told, stdout=subprocess.PIPE, env=environment)
        global _newest
        _newest = self._process

    def _take_result(self, process: subprocess.Popen[bytes]) -> None:
        said = process.communicate()[0]
        self._process = None
        answer: Any = pickle.loads(said) if said else f"its process has ended with {process.returncode}"
        if isinstance(answer, FileRef):
            self._file = answer
        else:
            self._fail(answer)

    def _fail(self, reason: str) -> None:
        LOG.warning("keyed state is written in an epoch, because it could not be beside them: %s", reason)
        self._wanted, self._failed = None, True

    def _give_up(self, adopted: bool) -> None:
        """Forgets the chain; of a process that is still at work nothing stays."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.communicate(timeout=_END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.communicate()
        elif self._file is not None and not adopted:
            with contextlib.suppress(OSError):  # then it is swept when the job ends or starts again
                self._storage.discard(self._file)
        self._wanted = self._process = self._file = None


_newest: subprocess.Popen[bytes] | None = None
"""The process that this worker has started last, for whichever of its subtasks."""


def _is_busy() -> bool:
    return _newest is not None and _newest.poll() is None


def main() -> None:
    """The process: gets its task on stdin, answers the file, or what went wrong, on stdout."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # whatever is half-written is removed
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # for the driver, who ends the workers
    os.nice(_NICENESS)
    parent, storage, wanted = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    try:
        with tempfile.TemporaryDirectory(prefix="penstock-compaction-") as folder:
            answer: Any = compact(wanted, storage, folder)
    except Exception as error:
        answer = str(error) or type(error).__name__
    pickle.dump(answer, sys.stdout.buffer, protocol=5)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()

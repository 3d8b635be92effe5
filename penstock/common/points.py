"""The named points of the epoch protocol: where a crash would leave something half done.

Code that writes, renames, commits or deletes says so with `reach(Point.…)`, before and after. Nobody listens in a
real job, and then a call costs the look at one variable. Tests listen (`listen`), to kill the process, to raise or to
wait at a point: every point is crashed at in `tests/recovery/chaos`, which also tries them at random.
"""

from __future__ import annotations

import enum
from collections.abc import Callable


class Point(enum.Enum):
    """Where a process can be; the text says what has happened there."""

    # The driver, epoch by epoch.
    PLANNED = "the epoch is planned, no task has begun"
    REPORTED = "all tasks have reported, nothing is committed"
    METADATA_NEXT = "the checkpoint's metadata is about to be written"
    METADATA_WRITTEN = "the metadata is written, the driver does not know it yet"
    PUBLISH_NEXT = "the epoch is committed, its output is not visible"
    COMMITTER_NEXT = "a sink's committables are about to be committed"
    COMMITTER_DONE = "a sink's committables are committed, those of other sinks may be not"
    PUBLISHED = "all output is visible, sources have not been told"
    SOURCES_TOLD = "sources know that the epoch is committed"
    # The driver, now and then.
    RETAIN_NEXT = "old checkpoints are about to be deleted"
    RETAIN_METADATA_GONE = "metadata of old checkpoints is deleted, their files are not"
    RETAINED = "old checkpoints and the files that only they needed are deleted"
    RESTORE_FOUND = "the checkpoint to start from is found"
    RESTORE_SWEPT = "what attempts before the restore left behind is deleted"
    RESTORE_PUBLISHED = "output of the checkpoint to start from is visible"
    SAVEPOINT_NEXT = "a savepoint is about to be written"
    SAVEPOINT_PARTS = "the parts of a savepoint are written, its metadata is not"
    SAVEPOINT_SEALED = "a savepoint is complete, nobody has been told"
    END_NEXT = "the job has ended, its files are there"
    END_HALF = "the job has ended, some of its files are deleted"
    # Whoever writes a file of a checkpoint.
    FILE_NEXT = "a file is about to be written aside"
    FILE_ASIDE = "a file is written aside, not renamed"
    FILE_WRITTEN = "a file has its name"
    # A task.
    STATE_NEXT = "a subtask is about to bring its state to the committed one"
    LOCAL_NEXT = "a local copy has taken over changes in a transaction that is still open"
    STATE_READY = "a subtask has its committed state"
    SNAPSHOT_NEXT = "a subtask is about to write all of its state"
    SNAPSHOT_WRITTEN = "all state of a subtask is written"
    SINK_NEXT = "a sink's writer is about to close its files"
    SINK_PREPARED = "a sink's writer has handed its committables over"
    DELTA_NEXT = "a subtask is about to write what an epoch has changed"
    DELTA_WRITTEN = "what an epoch has changed is written"
    REPORT_NEXT = "a subtask is about to report"
    # Output of file sinks.
    RENAME_NEXT = "a finished file of a sink is about to get its name"
    RENAMED = "a finished file of a sink has its name"


Listener = Callable[[Point], None]

_listener: Listener | None = None


def listen(listener: Listener | None) -> None:
    """From now on every point that this process reaches is told to `listener`; None: to nobody."""
    global _listener
    _listener = listener


def reach(point: Point) -> None:
    """Says that the process is at a point; returns if nobody objects."""
    if _listener is not None:
        _listener(point)

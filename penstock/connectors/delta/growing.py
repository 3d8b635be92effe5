"""Following a Delta table: the files that its versions add, one version after the other.

    _delta_log/00000000000000000007.json      {"commitInfo": ...}
                                              {"add": {"path": "part-1.parquet", "dataChange": true, ...}}
                                              {"remove": {"path": "part-0.parquet", "dataChange": false, ...}}

A stream of rows cannot take rows back, so a version that removes rows ends the job, unless the options say otherwise
(they are those of Delta's own connector for Flink). Files that were only put together (OPTIMIZE: `dataChange` is
false) are neither new nor gone.
"""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from penstock.common.errors import ExternalSystemError, ValidationError
from penstock.connectors.delta.splits import DeltaFileSplit, files_of, refuse_deletion_vectors
from penstock.connectors.source import ReadLimit, SourceSplit, SplitEnumerator

if TYPE_CHECKING:
    from penstock.connectors.delta.source import DeltaSource

__all__ = ["Following", "GrowingFiles"]

LATEST = "latest"


@dataclass(frozen=True)
class Following:
    """How a table is followed.

    Attributes:
        starting_version: The first version whose files are read, or `latest`: those after the newest one. None: all
            files of the newest version come first.
        starting_timestamp: The same by time: the first version that is not older.
        ignore_deletes: Versions that only remove are passed over.
        ignore_changes: So are removals of others; what they add is read, changed rows among it.
    """

    interval_ms: int = 5000
    starting_version: str | None = None
    starting_timestamp: str | None = None
    ignore_deletes: bool = False
    ignore_changes: bool = False


class GrowingFiles(SplitEnumerator):
    """Its state is the version that was read last."""

    def __init__(self, source: DeltaSource, following: Following, restored: Any) -> None:
        self._source = source
        self._following = following
        self._last: int | None = restored
        self._next_look_ms = 0

    def discover(self) -> Sequence[SourceSplit]:
        now_ms = int(time.time() * 1000)
        if now_ms < self._next_look_ms:
            return ()
        self._next_look_ms = now_ms + self._following.interval_ms
        table = self._source.lake.opened()
        newest = int(table.version())
        found: list[SourceSplit] = []
        if self._last is None:
            self._last, found = self._first(table, newest)
        for version in range(self._last + 1, newest + 1):
            found += self._added(version)
            self._last = version
        return found

    def _first(self, table: Any, newest: int) -> tuple[int, list[SourceSplit]]:
        """The version before the first one that is followed, and the files to begin with."""
        follow = self._following
        if follow.starting_timestamp is not None:
            return self._before(table, follow.starting_timestamp), []
        if follow.starting_version == LATEST:
            return newest, []
        if follow.starting_version is None:
            return newest, list(files_of(self._source.lake, table))
        version = int(follow.starting_version)
        if version > newest:
            raise ValidationError(
                f"'startingVersion' is {version}, and the newest version is {newest}",
                where=self._source.lake.where,
            )
        return version - 1, []

    def _before(self, table: Any, timestamp: str) -> int:
        wanted_ms = dt.datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp() * 1000
        with self._source.lake.explained("cannot read the table's history"):
            history = table.history()
        older = [int(entry["version"]) for entry in history if entry["timestamp"] < wanted_ms]
        known = [int(entry["version"]) for entry in history]
        return max(older, default=min(known) - 1)

    # --- one version

    def _added(self, version: int) -> list[SourceSplit]:
        added, removed = self._changes(version)
        if removed and not self._may_remove(bool(added)):
            raise self._refused(version)
        if not added:
            return []
        partitions = self._partitions(version) if any(f.get("partitionValues") for f in added) else {}
        return [self._split(version, file, partitions) for file in added]

    def _changes(self, version: int) -> tuple[list[Mapping[str, Any]], bool]:
        """The files with new rows, and whether rows are gone."""
        lake = self._source.lake
        try:
            with lake.files().open_input_stream(f"_delta_log/{version:020}.json") as stream:
                actions = [json.loads(line) for line in stream.read().splitlines() if line.strip()]
        except FileNotFoundError:
            error = ExternalSystemError(
                f"version {version} is not in the table's log any more",
                where=lake.where,
                do="start without the checkpoint, and keep the log for longer ('delta.logRetentionDuration') than\n"
                "a job that follows it may be away",
            )
            error.retryable = False
            raise error from None
        added = [a["add"] for a in actions if "add" in a and a["add"].get("dataChange", True)]
        return added, any("remove" in a and a["remove"].get("dataChange", True) for a in actions)

    def _may_remove(self, adds: bool) -> bool:
        follow = self._following
        return follow.ignore_changes or (follow.ignore_deletes and not adds)

    def _refused(self, version: int) -> ExternalSystemError:
        error = ExternalSystemError(
            f"version {version} does not only add rows, and a stream of rows cannot take rows back",
            where=self._source.lake.where,
            do="follow tables that are only added to. 'ignoreDeletes' = 'true' passes over versions that remove;\n"
            "'ignoreChanges' = 'true' reads what others add, and with it rows that were only rewritten",
        )
        error.retryable = False
        return error

    def _partitions(self, version: int) -> dict[str, tuple[tuple[str, Any], ...]]:
        """The values of partition columns in their types, which the log's text does not have."""
        table = self._source.lake.opened(version)
        with self._source.lake.explained("cannot read the table's log"):
            found = pa.table(table.get_add_actions(flatten=False)).to_pylist()
        return {unquote(file["path"]): tuple((file.get("partition") or {}).items()) for file in found}

    def _split(self, version: int, file: Mapping[str, Any], partitions: Mapping[str, Any]) -> SourceSplit:
        if file.get("deletionVector"):
            raise refuse_deletion_vectors(self._source.lake)
        path = unquote(file["path"])
        return DeltaFileSplit(f"{version}:{path}", path, partitions.get(path, ()))

    # --- epochs

    def plan_read(self, split: SourceSplit, position: Any, now_ms: int) -> ReadLimit:
        return ReadLimit(split_ends=True)

    def next_wakeup_ms(self, now_ms: int) -> int | None:
        return self._next_look_ms

    @property
    def no_more_splits(self) -> bool:
        return False

    @property
    def remembers_splits(self) -> bool:
        return True

    def snapshot(self) -> Any:
        return self._last

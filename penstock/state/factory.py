"""Opens the keyed backend that a job's configuration names."""

from __future__ import annotations

import os
import re

from xxhash import xxh3_64_hexdigest

from penstock.common.codecs import Codec
from penstock.common.errors import ValidationError
from penstock.state.files import StateFiles
from penstock.state.keyed import DEFAULT_CACHED_ENTRIES, StoredKeyedBackend
from penstock.state.lmdb import LmdbStore
from penstock.state.lmdb.environment import boot_id
from penstock.state.memory import MemoryStore
from penstock.state.store import Store

_KINDS = {"lmdb": "lmdb", "rocksdb": "lmdb", "memory": "memory", "hashmap": "memory"}


def open_keyed_backend(
    kind: str,
    *,
    local_dir: str,
    job_id: str,
    uid: str,
    subtask: int,
    first_key_group: int,
    last_key_group: int,
    max_parallelism: int,
    key_codec: Codec,
    storage: StateFiles,
    file_prefix: str,
    cached_entries: int = DEFAULT_CACHED_ENTRIES,
) -> StoredKeyedBackend:
    """The backend of one operator subtask.

    Args:
        kind: `lmdb` or `memory`; Flink's `rocksdb` and `hashmap` mean these two.
        local_dir: Where local copies lie; one directory for all jobs of the host will do. Unused in memory.
        storage: Checkpoint storage, for deltas and snapshots.
        file_prefix: Folder in it for the files of this subtask.
        cached_entries: How many keys may stay decoded from epoch to epoch.
    """
    chosen = _KINDS.get(kind.lower())
    if chosen is None:
        raise ValidationError(
            f"no state backend is called {kind!r}",
            do=f"set state.backend.type to one of {', '.join(sorted(_KINDS))}",
        )
    store: Store
    arranged = None
    if chosen == "memory":
        store = MemoryStore()
    else:
        key_range = f"{first_key_group}-{last_key_group}"
        identity = f"{job_id}|{uid}|{subtask}|{key_range}|{max_parallelism}"
        folder = f"{_safe(uid)}-{subtask}-{key_range}"
        path = os.path.join(local_dir, _safe(job_id), folder)
        # Files from before the machine restarted are not trusted: they are written without sync.
        store, arranged = LmdbStore(path, identity), f"{path}-arranged-{boot_id()[:8]}"
    return StoredKeyedBackend(
        store,
        storage,
        key_codec=key_codec,
        max_parallelism=max_parallelism,
        first_key_group=first_key_group,
        last_key_group=last_key_group,
        file_prefix=file_prefix,
        cached_entries=cached_entries,
        arranged_folder=arranged,
    )


def _safe(name: str) -> str:
    """A file name for any uid: readable, and different for different uids."""
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:60]
    return plain if plain == name else f"{plain}-{xxh3_64_hexdigest(name.encode())[:8]}"

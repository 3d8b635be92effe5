"""A store of dicts. It lives and dies with its backend object, so it is rebuilt from files after a restart."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping

from penstock.state.chain import EMPTY, digests_of, steps_applied
from penstock.state.store import Store, Target


class _Table:
    """Records of one table. The order of the keys is made when somebody scans, from the one of the last scan."""

    def __init__(self) -> None:
        self.records: dict[bytes, bytes] = {}
        self._order: list[bytes] | None = None
        self._added: list[bytes] = []
        self._removed = 0

    def apply(self, keys: list[bytes], values: list[bytes | None]) -> None:
        records = self.records
        if self._order is None:
            for key, value in zip(keys, values, strict=True):
                if value is None:
                    records.pop(key, None)
                else:
                    records[key] = value
            return
        for key, value in zip(keys, values, strict=True):
            if value is None:
                self._removed += records.pop(key, None) is not None
            else:
                if key not in records:
                    self._added.append(key)
                records[key] = value
        if len(self._added) + self._removed > len(records):
            self._order, self._added, self._removed = None, [], 0

    def order(self) -> list[bytes]:
        records, order = self.records, self._order
        if order is None:
            order = sorted(records)
        elif self._added or self._removed:
            if self._removed:
                order = [key for key in order if key in records]
            # Sorting two sorted runs is a merge, and quicker than many insertions.
            order = sorted(order + self._added)
            if len(order) != len(records):  # a key was added, or removed, more than once
                order = sorted(records)
        self._order, self._added, self._removed = order, [], 0
        return order


class MemoryStore(Store):
    """Committed tables in memory."""

    def __init__(self) -> None:
        self._tables: dict[str, _Table] = {}
        self._digest = EMPTY
        self._aliases: dict[str, str] = {}

    def advance(self, target: Target, aliases: Mapping[str, str]) -> None:
        done = steps_applied(self._digest, target.steps, {**self._aliases, **aliases})
        if done is None:
            self._tables, self._digest, done = {}, EMPTY, 0
        digests = digests_of(target.steps)
        for number, step in enumerate(target.steps[done:], done):
            self._digest = "being changed"  # a file that cannot be read must not leave half a state behind
            for table, keys, values in target.blocks(step):
                self._table(table).apply(keys, values)
            self._digest = digests[number + 1]
        self._digest = digests[-1]
        self._aliases.clear()

    def add_alias(self, snapshot_id: str) -> None:
        self._aliases[snapshot_id] = self._digest

    def release(self) -> None:
        """Nothing to release."""

    def get(self, table: str, key: bytes) -> bytes | None:
        found = self._tables.get(table)
        return found.records.get(key) if found is not None else None

    def scan(self, table: str, prefix: bytes, start: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        found = self._tables.get(table)
        if found is None:
            return
        order, records = found.order(), found.records
        for position in range(bisect_left(order, max(prefix, start or b"")), len(order)):
            key = order[position]
            if not key.startswith(prefix):
                return
            yield key, records[key]

    def last_key(self, table: str, prefix: bytes) -> bytes | None:
        found = self._tables.get(table)
        if found is None:
            return None
        order = found.order()
        position = bisect_left(order, prefix + b"\xff" * 9) - 1
        return order[position] if position >= 0 and order[position].startswith(prefix) else None

    def tables(self) -> list[str]:
        return sorted(name for name, table in self._tables.items() if table.records)

    def close(self) -> None:
        self._tables.clear()
        self._digest = EMPTY

    def _table(self, name: str) -> _Table:
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = _Table()
        return table

"""Sources one after the other (FLIP-150): history from files, then what comes from a queue.

All sources but the last are bounded. The enumerator runs the enumerator of one source at a time and goes over
to the next when all splits of the present one are finished. It learns that from the positions: a reader that
has come to the end of a split says so in the split's last position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.common.errors import ValidationError
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    ReaderContext,
    ReadLimit,
    Source,
    SourceBatch,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
)

__all__ = ["HybridSource", "HybridSourceBuilder"]

SourceFactory = Callable[[SplitEnumerator], Source]
Link = Source | SourceFactory


@dataclass(frozen=True)
class HybridSplit(SourceSplit):
    """A split of the source number `index`; `source` only where a factory made that source."""

    index: int
    inner: SourceSplit
    source: Source | None = None


@dataclass(frozen=True)
class HybridPosition:
    """Where the inner reader stands in its split."""

    inner: Any
    finished: bool = False


@dataclass(frozen=True)
class _HybridState:
    index: int
    inner: Any
    made: Source | None
    open_splits: frozenset[str]


class HybridSource(Source):
    """Built with `HybridSource.builder(first).add_source(second).build()`."""

    def __init__(self, links: Sequence[Link]) -> None:
        self.links = tuple(links)

    @staticmethod
    def builder(first_source: Source) -> HybridSourceBuilder:
        """Begins with the source that is read first; it has to be bounded."""
        return HybridSourceBuilder(first_source)

    @property
    def boundedness(self) -> Boundedness:
        last = self.links[-1]
        return last.boundedness if isinstance(last, Source) else Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> SplitEnumerator:
        return _HybridEnumerator(self.links, context, restored)

    def create_reader(self) -> SourceReader:
        return _HybridReader(self.links)

    def produced_type(self) -> TypeInformation | None:
        first = self.links[0]
        return first.produced_type() if isinstance(first, Source) else None


class HybridSourceBuilder:
    """Collects the sources, in the order in which they are read."""

    def __init__(self, first_source: Source) -> None:
        self._links: list[Link] = []
        self.add_source(first_source)

    def add_source(self, source: Link) -> HybridSourceBuilder:
        """Adds a source, or a function that makes it when its turn comes.

        The function gets the enumerator of the source before, and runs in the driver: so a queue's start can
        depend on where the files ended.
        """
        if self._links:
            before = self._links[-1]
            if isinstance(before, Source) and before.boundedness is not Boundedness.BOUNDED:
                raise ValidationError(
                    "a source behind an unbounded one would never be read",
                    where="HybridSource, source " + str(len(self._links)),
                    do="put the unbounded source last",
                )
        self._links.append(source)
        return self

    def build(self) -> HybridSource:
        """The source that reads them one after the other."""
        return HybridSource(self._links)


class _HybridEnumerator(SplitEnumerator):
    def __init__(self, links: Sequence[Link], context: EnumeratorContext, restored: Any) -> None:
        self._links = links
        self._context = context
        self._index = 0
        self._made: Source | None = None
        self._open_splits: set[str] = set()
        self._asked: set[str] = set()
        # After a restart, splits that were finished in the very last epoch are not known to be so. Nobody
        # asks for them in the first round of planning: that tells.
        self._rounds_to_learn = 0
        inner_state = None
        if isinstance(restored, _HybridState):
            self._index, self._made, inner_state = restored.index, restored.made, restored.inner
            self._open_splits = set(restored.open_splits)
            self._rounds_to_learn = 2
        self._inner = self._source(None).create_enumerator(context, inner_state)

    def _source(self, previous: SplitEnumerator | None) -> Source:
        link = self._links[self._index]
        if isinstance(link, Source):
            self._made = None
            return link
        if self._made is None:
            assert previous is not None, "the first source is never a factory"
            self._made = link(previous)
        return self._made

    def discover(self) -> Sequence[SourceSplit]:
        self._learn_after_restart()
        found = self._discover_inner()
        while not found and self._is_over and self._index + 1 < len(self._links):
            previous = self._inner
            self._index += 1
            self._made = None
            self._inner = self._source(previous).create_enumerator(self._context)
            previous.close()
            found = self._discover_inner()
        return found

    def _discover_inner(self) -> list[HybridSplit]:
        splits = [
            HybridSplit(f"{self._index}/{inner.split_id}", self._index, inner, self._made)
            for inner in self._inner.discover()
        ]
        self._open_splits.update(split.split_id for split in splits)
        return splits

    @property
    def _is_over(self) -> bool:
        return self._inner.no_more_splits and not self._open_splits

    def _learn_after_restart(self) -> None:
        if self._rounds_to_learn == 0:
            return
        self._rounds_to_learn -= 1
        if self._rounds_to_learn == 0:
            self._open_splits &= self._asked

    def plan_read(self, split: SourceSplit, position: Any, now_ms: int) -> ReadLimit | None:
        assert isinstance(split, HybridSplit)
        self._asked.add(split.split_id)
        if position is not None and position.finished:
            return ReadLimit(split_ends=True)
        limit = self._inner.plan_read(split.inner, _inner_position(position), now_ms)
        if limit is None or limit.split_ends is not None:
            return limit
        source = split.source or self._links[split.index]
        assert isinstance(source, Source)
        return replace(limit, split_ends=source.boundedness is Boundedness.BOUNDED)

    def next_wakeup_ms(self, now_ms: int) -> int | None:
        if self._rounds_to_learn:
            return now_ms
        return self._inner.next_wakeup_ms(now_ms)

    @property
    def no_more_splits(self) -> bool:
        return self._index + 1 == len(self._links) and self._inner.no_more_splits

    def on_committed(self, positions: Mapping[str, Any]) -> None:
        prefix = f"{self._index}/"
        inner: dict[str, Any] = {}
        for split_id, position in positions.items():
            if position is None:
                continue
            if position.finished:
                self._open_splits.discard(split_id)
            if split_id.startswith(prefix):
                inner[split_id[len(prefix) :]] = position.inner
        self._inner.on_committed(inner)

    def snapshot(self) -> Any:
        return _HybridState(self._index, self._inner.snapshot(), self._made, frozenset(self._open_splits))

    def close(self) -> None:
        self._inner.close()


class _HybridReader(SourceReader):
    def __init__(self, links: Sequence[Link]) -> None:
        self._links = links
        self._context: ReaderContext | None = None
        self._readers: dict[int, SourceReader] = {}

    def open(self, context: ReaderContext) -> None:
        self._context = context

    def read(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[SourceBatch]:
        assert isinstance(split, HybridSplit)
        inner = _inner_position(position)
        if position is None or not position.finished:
            for batch in self._reader(split).read(split.inner, inner, limit):
                inner = batch.position
                yield replace(batch, position=HybridPosition(inner))
        if limit.split_ends:
            yield SourceBatch([], None, HybridPosition(inner, finished=True))

    def _reader(self, split: HybridSplit) -> SourceReader:
        if split.index not in self._readers:
            for index in [i for i in self._readers if i < split.index]:
                self._readers.pop(index).close()
            source = split.source or self._links[split.index]
            assert isinstance(source, Source)
            reader = self._readers[split.index] = source.create_reader()
            if self._context is not None:
                reader.open(self._context)
        return self._readers[split.index]

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()


def _inner_position(position: Any) -> Any:
    return None if position is None else position.inner

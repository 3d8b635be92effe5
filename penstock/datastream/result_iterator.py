"""Iterators over the elements of a running job."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from penstock.common.errors import ValidationError

__all__ = ["CloseableIterator", "DeferredIterator", "take"]


class CloseableIterator(Iterator[Any]):
    """Elements as the job commits them. Closing it cancels the job if it still runs."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __iter__(self) -> CloseableIterator:
        return self

    def __next__(self) -> Any:
        return next(self._elements())

    def next(self) -> Any:
        """The next element; raises StopIteration at the end."""
        return next(self)

    def close(self) -> None:
        """Ends the job and forgets what was not fetched."""
        if self._source is not None:
            self._source.close()

    def __enter__(self) -> CloseableIterator:
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        self.close()

    def _elements(self) -> Iterator[Any]:
        return self._source  # type: ignore[no-any-return]


class DeferredIterator(CloseableIterator):
    """An iterator whose job has yet to start: `collect_async`."""

    def __init__(self, sink: Any) -> None:
        super().__init__(None)
        self._sink = sink

    def attach(self, job: Any) -> None:
        """The job is running now."""
        self._source = self._sink.iterator(job)

    def _elements(self) -> Iterator[Any]:
        if self._source is None:
            raise ValidationError(
                "the job of this iterator has not been started", do="call env.execute_async() first"
            )
        return super()._elements()


def take(iterator: CloseableIterator, limit: int) -> list[Any]:
    """Up to `limit` elements; ends the job."""
    with iterator:
        return list(islice(iterator, limit))

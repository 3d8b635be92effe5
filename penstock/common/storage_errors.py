"""Errors of writing files, told with the place and what to do: a full disk, a folder that is gone, missing rights."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.common.errors import ExternalSystemError

__all__ = ["writing_to"]

_DO = {
    errno.ENOSPC: "make room there; the job goes on from its last checkpoint, and nothing is written twice",
    errno.EDQUOT: "raise the quota; the job goes on from its last checkpoint, and nothing is written twice",
    errno.EACCES: "let the user of the executors write there",
    errno.EROFS: "let the user of the executors write there",
    errno.ENOTDIR: "choose another path: a part of this one is a file, not a folder",
}


@contextmanager
def writing_to(place: str) -> Iterator[None]:
    """Tells failures of the operating system, or of an object store, as ours; trying again may help."""
    try:
        yield
    except OSError as error:
        do = _DO.get(error.errno or 0, "check the path, and that the user of the executors may write there")
        raise ExternalSystemError(f"cannot write to {place}: {error}", where=place, do=do) from error

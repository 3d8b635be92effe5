"""What a user's program raised, shown as `python program.py` would show it.

The frames of the command line and of runpy, which lie before the program's first one, say nothing about the program.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from penstock.common.errors import PenstockError

__all__ = ["program_errors"]

EXIT_FAILED = 1
_RUNPY = {"<frozen runpy>", runpy.__file__}


@contextmanager
def program_errors() -> Iterator[None]:
    """Around the program: shows what it raises through `sys.excepthook`, which may be its own, and leaves with 1.

    Errors of ours go on to the command line, which shows them without any frames; so does the end of a pipe.
    """
    try:
        yield
    except (PenstockError, BrokenPipeError):
        raise
    except Exception as error:
        frames = _of_program(error.__traceback__)
        sys.excepthook(type(error), error.with_traceback(frames), frames)
        sys.exit(EXIT_FAILED)


def _of_program(frames: TracebackType | None) -> TracebackType | None:
    """What follows the last frame of the runpy that runs the program; None if it did not get as far as to run."""
    started = False
    while frames is not None:
        in_runpy = frames.tb_frame.f_code.co_filename in _RUNPY
        if started and not in_runpy:
            return frames
        started = started or in_runpy
        frames = frames.tb_next
    return None

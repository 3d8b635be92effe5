"""What others ask of the epoch loop: savepoints, another parallelism, a checkpoint now."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class LoopRequest:
    """Somebody wants something between two epochs: `action` runs on the loop's thread.

    `done` is set sooner or later in any case: when the action ran, or when the loop ended without running it
    (`refused`).
    """

    def __init__(self, action: Callable[[], Any], ends_job: bool) -> None:
        self.action = action
        self.ends_job = ends_job
        self.done = threading.Event()
        self.refused = False
        self.answer: Any = None
        self.error: BaseException | None = None

    def serve(self) -> None:
        try:
            self.answer = self.action()
        except BaseException as error:
            self.error = error
        finally:
            self.done.set()

    def refuse(self) -> None:
        self.refused = True
        self.done.set()

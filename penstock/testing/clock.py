"""Time that a test advances itself."""

from __future__ import annotations

__all__ = ["TestClock"]


class TestClock:
    """Milliseconds since 1970, moved by hand.

    >>> clock = TestClock(1_000)
    >>> clock.advance(500)
    1500
    >>> clock()
    1500
    """

    __test__ = False  # not a test, whatever pytest thinks of the name

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        """The time in milliseconds."""
        return self.now_ms

    def advance(self, millis: int) -> int:
        """Moves time forward; returns the new time."""
        return self.set(self.now_ms + millis)

    def set(self, now_ms: int) -> int:
        """It is this time now."""
        if now_ms < self.now_ms:
            raise ValueError(f"time goes forward: {now_ms} is before {self.now_ms}")
        self.now_ms = now_ms
        return now_ms

"""Scalar functions that have to be waited for: many calls under way at a time, results in the order of the rows.

table.exec.async-scalar.max-concurrent-operations   how many calls at a time
table.exec.async-scalar.timeout                     how long a row may take, all its attempts together
table.exec.async-scalar.retry-strategy              FIXED_DELAY or NO_RETRY
table.exec.async-scalar.max-attempts, retry-delay   how often and after how long a failed call is repeated
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.configuration import Configuration
from penstock.common.options import option

__all__ = ["Waiting", "is_async"]

_PREFIX = "table.exec.async-scalar."


def is_async(function: Any) -> bool:
    """Whether a user's function, or the `eval` of it, is a coroutine function."""
    return inspect.iscoroutinefunction(getattr(function, "eval", function))


@dataclass(frozen=True)
class Waiting:
    """How answers are waited for."""

    at_a_time: int = 10
    timeout_ms: int = 180_000
    attempts: int = 3
    delay_ms: int = 100

    @staticmethod
    def of(config: Mapping[str, str]) -> Waiting:
        """What the configuration of a session says.

        Raises:
            ValidationError: A value cannot be read.
        """
        settings = Configuration.from_dict({k: v for k, v in config.items() if k.startswith(_PREFIX)})

        def value(name: str) -> Any:
            return settings.get(option(_PREFIX + name))

        once = value("retry-strategy") == "NO_RETRY"
        return Waiting(
            max(1, value("max-concurrent-operations")),
            value("timeout").to_millis(),
            1 if once else max(1, value("max-attempts")),
            value("retry-delay").to_millis(),
        )

    def results(self, call: Callable[..., Any], arguments: Sequence[Sequence[Any]]) -> list[Any]:
        """The answers to many calls, in their order. The first that fails for good ends all of them."""
        return asyncio.run(self._gather(call, arguments))

    async def _gather(self, call: Callable[..., Any], arguments: Sequence[Sequence[Any]]) -> list[Any]:
        answers: list[Any] = [None] * len(arguments)
        rows = iter(enumerate(arguments))

        async def work() -> None:
            for place, args in rows:  # the workers share the iterator: each takes the next row
                answers[place] = await self._answer(call, args)

        workers = [asyncio.ensure_future(work()) for _ in range(min(self.at_a_time, len(arguments)))]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        return answers

    async def _answer(self, call: Callable[..., Any], args: Sequence[Any]) -> Any:
        try:
            return await asyncio.wait_for(self._attempts(call, args), self.timeout_ms / 1000)
        except asyncio.TimeoutError:
            raise TimeoutError(f"Async function call has timed out for input: {list(args)}") from None

    async def _attempts(self, call: Callable[..., Any], args: Sequence[Any]) -> Any:
        for attempt in range(1, self.attempts + 1):
            try:
                return await call(*args)
            except Exception:
                if attempt == self.attempts:
                    raise
            await asyncio.sleep(self.delay_ms / 1000)
        return None

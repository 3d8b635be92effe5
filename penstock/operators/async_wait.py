"""Asynchronous functions: many requests to an outside system at a time.

The calls of a batch run in an event loop of the operator's own, at most `capacity` at once; the batch is done
when all have answered. So no call is under way when a watermark or the end of the epoch comes: watermarks keep
their place, and a checkpoint needs to hold nothing of it. Results keep the timestamps of their elements.

The timeout of an element covers all its retries, as in Flink.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Iterable
from typing import Any

from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.functions.async_function import AsyncRetryStrategy
from penstock.operators.dead_letters import bury, time_at
from penstock.operators.function_operator import FunctionOperator, bound
from penstock.operators.results import Results


class AsyncWaitOperator(FunctionOperator):
    """Runs an AsyncFunction.

    Args:
        function: Has `async_invoke(value)` and, for late answers, `timeout(value)`.
        timeout_ms: How long an element may take, retries included; 0: for ever.
        capacity: How many calls may be under way.
        ordered: Results in the order of the elements; otherwise in the order in which they are ready.
        retry_strategy: Which answers and failures are tried again, how often and when.
    """

    def __init__(
        self,
        function: Any,
        timeout_ms: int,
        capacity: int,
        ordered: bool,
        retry_strategy: AsyncRetryStrategy | None = None,
    ) -> None:
        super().__init__(function)
        if capacity <= 0:
            raise ValidationError(f"capacity of an async wait must be more than zero, got {capacity}")
        self.timeout_ms = timeout_ms
        self.capacity = capacity
        self.ordered = ordered
        self.retry_strategy = retry_strategy

    def open(self) -> None:
        # A thread of its own, because the caller's may have a running loop (a notebook's, say).
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="penstock-async", daemon=True)
        self._thread.start()
        super().open()
        self.results = Results(self.output)

    def close(self) -> None:
        super().close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def process_batch(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        asyncio.run_coroutine_threadsafe(self._run_batch(values, timestamps), self._loop).result()
        self.results.flush(timestamped=timestamps is not None)

    async def _run_batch(self, values: list[Any], given: list[int] | None) -> None:
        timestamps = given if given is not None else [0] * len(values)
        free = asyncio.Semaphore(self.capacity)
        answers: list[Any] = [None] * len(values)

        async def answer(index: int) -> None:
            try:
                answers[index] = _checked(await self._answer(values[index]))
                if not self.ordered:
                    self.results.add_all(answers[index], timestamps[index])
            except Exception as error:
                bury(error, self.context, self.function, values[index], time_at(given, index))
            finally:
                free.release()

        tasks: list[asyncio.Task[None]] = []
        try:
            for index in range(len(values)):
                await free.acquire()
                if any(task.done() and task.exception() for task in tasks[-self.capacity :]):
                    break
                tasks.append(asyncio.ensure_future(answer(index)))
            await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise
        if self.ordered:
            for items, timestamp in zip(answers, timestamps, strict=True):
                self.results.add_all(items, timestamp)

    async def _answer(self, value: Any) -> Any:
        if self.timeout_ms <= 0:
            return await self._attempts(value)
        task = asyncio.ensure_future(self._attempts(value))
        done, _ = await asyncio.wait({task}, timeout=self.timeout_ms / 1000)
        if done:
            return task.result()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        result = self.function.timeout(value)
        return await result if inspect.isawaitable(result) else result

    async def _attempts(self, value: Any) -> Any:
        invoke = bound(self.function, "async_invoke")
        strategy = self.retry_strategy
        attempt = 1
        while True:
            result, failure = None, None
            try:
                result = await invoke(value)
            except Exception as error:
                failure = error
            if strategy is None or not _again(strategy, attempt, result, failure):
                if failure is not None:
                    raise failure
                return result
            await asyncio.sleep(strategy.get_backoff_time_millis(attempt) / 1000)
            attempt += 1


def _checked(answer: Any) -> Any:
    """What a function answered, if it is a list: None or a bare value is a mistake, not "no results"."""
    if answer is None:
        raise TypeMismatchError(
            "The result of AsyncFunction cannot be none", do="return a list: [] where there is no result"
        )
    if isinstance(answer, (str, bytes)) or not isinstance(answer, Iterable):
        raise TypeMismatchError(
            f"The result of AsyncFunction should be of list type, got {answer!r}", do="return [result]"
        )
    return answer


def _again(strategy: AsyncRetryStrategy, attempt: int, result: Any, failure: Exception | None) -> bool:
    if not strategy.can_retry(attempt):
        return False
    predicate = strategy.get_retry_predicate()
    if failure is not None:
        retry_failure = predicate.exception_predicate()
        return retry_failure is not None and bool(retry_failure(failure))
    retry_result = predicate.result_predicate()
    return retry_result is not None and bool(retry_result(result))

"""`AsyncDataStream`: asks an outside system about each element, many questions at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.common.errors import TypeMismatchError
from penstock.common.typeinfo import TypeInformation
from penstock.datastream.builder import call_site, checked_millis, checked_parallelism, operator_step
from penstock.datastream.stream import DataStream
from penstock.functions.async_function import AsyncFunction, AsyncRetryStrategy
from penstock.functions.wrap import as_function

if TYPE_CHECKING:
    from penstock.operators.base import Operator

__all__ = ["AsyncDataStream"]

DEFAULT_CAPACITY = 100


class AsyncDataStream:
    """Adds asynchronous operations to streams.

    Args of all methods:
        data_stream: The elements.
        async_function: What to ask about each.
        timeout: How long an answer may take, all retries included.
        capacity: How many questions are open at a time.
        output_type: Type of the results.
    """

    @staticmethod
    def unordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction,
        timeout: Any,
        capacity: int = DEFAULT_CAPACITY,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Results in the order of the answers, never across a watermark."""
        return _async_wait(data_stream, async_function, timeout, capacity, output_type, ordered=False)

    @staticmethod
    def ordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction,
        timeout: Any,
        capacity: int = DEFAULT_CAPACITY,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Results in the order of the elements."""
        return _async_wait(data_stream, async_function, timeout, capacity, output_type, ordered=True)

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction,
        timeout: Any,
        async_retry_strategy: AsyncRetryStrategy,
        capacity: int = DEFAULT_CAPACITY,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Like `unordered_wait`, asking again when the strategy says so."""
        return _async_wait(
            data_stream, async_function, timeout, capacity, output_type, False, async_retry_strategy
        )

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction,
        timeout: Any,
        async_retry_strategy: AsyncRetryStrategy,
        capacity: int = DEFAULT_CAPACITY,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Like `ordered_wait`, asking again when the strategy says so."""
        return _async_wait(
            data_stream, async_function, timeout, capacity, output_type, True, async_retry_strategy
        )


def _async_wait(
    data_stream: DataStream,
    async_function: AsyncFunction,
    timeout: Any,
    capacity: int,
    output_type: TypeInformation | None,
    ordered: bool,
    retry_strategy: AsyncRetryStrategy | None = None,
) -> DataStream:
    where = call_site()
    if not isinstance(data_stream, DataStream):
        raise TypeMismatchError(f"expected a DataStream, got {data_stream!r}", where=where)
    if retry_strategy is not None and not isinstance(retry_strategy, AsyncRetryStrategy):
        raise TypeMismatchError(f"expected an AsyncRetryStrategy, got {retry_strategy!r}", where=where)
    function = as_function(async_function, AsyncFunction, where=where)
    # With retries a timeout of zero would leave no time for any; without them it means: no limit.
    timeout_ms = checked_millis(timeout, "timeout", minimum=0 if retry_strategy is None else 1)
    checked_parallelism(capacity, "capacity")

    def make() -> Operator:
        from penstock.operators.async_wait import AsyncWaitOperator

        return AsyncWaitOperator(function, timeout_ms, capacity, ordered, retry_strategy)

    environment = data_stream.get_execution_environment()
    # As in Flink, keys end here: the operator asks without keyed state.
    source = data_stream.transformation
    name = "async wait operator"
    return DataStream(environment, operator_step(environment, name, [source], make, output_type))

"""Asynchronous requests: many look-ups at a time, results in the order of the elements, one retried."""

import asyncio

from penstock.common import Time, Types
from penstock.datastream import AsyncDataStream, AsyncFunction, AsyncRetryStrategy, StreamExecutionEnvironment

CAPITALS = {"France": "Paris", "Japan": "Tokyo", "Peru": "Lima"}


class LookUp(AsyncFunction):
    def __init__(self) -> None:
        self.asked: set[str] = set()

    async def async_invoke(self, value: str) -> list:
        await asyncio.sleep(0.01)  # stands for a request to a database
        if value == "Japan" and value not in self.asked:
            self.asked.add(value)
            raise ConnectionError("try again")
        return [f"{value}: {CAPITALS[value]}"]

    def timeout(self, value: str) -> list:
        return [f"{value}: no answer"]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    again = AsyncRetryStrategy.fixed_delay(3, 20, None, lambda error: isinstance(error, ConnectionError))
    countries = env.from_collection(list(CAPITALS), Types.STRING())
    AsyncDataStream.ordered_wait_with_retry(
        countries, LookUp(), Time.seconds(5), again, capacity=10, output_type=Types.STRING()
    ).print()
    env.execute("capitals")


if __name__ == "__main__":
    main()

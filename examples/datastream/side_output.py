"""Side outputs: one function, two streams. Numbers go on, everything else is put aside."""

from collections.abc import Iterator
from typing import Any

from penstock.common import Types
from penstock.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment

REJECTED = OutputTag("rejected", Types.STRING())


class Parse(ProcessFunction):
    def process_element(self, value: str, ctx: ProcessFunction.Context) -> Iterator[Any]:
        try:
            yield int(value)
        except ValueError:
            yield REJECTED, value


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    parsed = env.from_collection(["1", "two", "3"], Types.STRING()).process(Parse(), Types.INT())
    parsed.print("number")
    parsed.get_side_output(REJECTED).print("rejected")
    env.execute("parse")


if __name__ == "__main__":
    main()

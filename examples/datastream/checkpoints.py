"""Checkpoints and restarts: a function fails once, the job restarts, and every number is counted once."""

import pathlib
import tempfile

from penstock.common import Configuration, Types
from penstock.datastream import MapFunction, StreamExecutionEnvironment


class FailsOnce(MapFunction):
    def __init__(self, marker: pathlib.Path) -> None:
        self.marker = marker

    def map(self, value: int) -> int:
        if value == 3 and not self.marker.exists():
            self.marker.touch()
            raise ConnectionError("the first time only")
        return value


def main() -> None:
    folder = pathlib.Path(tempfile.mkdtemp())
    settings = Configuration()
    settings.set_string("execution.checkpointing.dir", str(folder / "checkpoints"))
    settings.set_string("restart-strategy.type", "fixed-delay")
    settings.set_string("restart-strategy.fixed-delay.attempts", "2")
    settings.set_string("restart-strategy.fixed-delay.delay", "100 ms")
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(1).enable_checkpointing(1_000)
    numbers = env.from_collection([1, 2, 3, 4], Types.INT()).map(FailsOnce(folder / "failed"), Types.INT())
    numbers.key_by(lambda n: "all").sum().print()
    env.execute("counting through a failure")


if __name__ == "__main__":
    main()

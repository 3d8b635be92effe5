"""A machine that has sent a heartbeat must send the next one within ten seconds: a timeout tells that it did not."""

from collections.abc import Iterator
from typing import Any

from penstock.cep import (
    CEP,
    AfterMatchSkipStrategy,
    Pattern,
    PatternProcessFunction,
    TimedOutPartialMatchHandler,
)
from penstock.common import Duration, Types, WatermarkStrategy
from penstock.datastream import OutputTag, StreamExecutionEnvironment

HEARTBEATS = [
    ("press", 0),
    ("oven", 1_000),
    ("press", 8_000),
    ("press", 17_000),
    ("oven", 30_000),
    ("press", 40_000),
]
SILENT = OutputTag("silent", Types.STRING())


class Watch(PatternProcessFunction, TimedOutPartialMatchHandler):
    def process_match(self, match: Any, ctx: PatternProcessFunction.Context) -> Iterator[str]:
        yield f"{match['beat'][0][0]} is alive at {ctx.timestamp()}"

    def process_timed_out_match(self, match: Any, ctx: PatternProcessFunction.Context) -> None:
        ctx.output(SILENT, f"{match['beat'][0][0]} was silent at {ctx.timestamp()}")


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    by_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda beat, _: beat[1])
    beats = env.from_collection(HEARTBEATS, Types.TUPLE([Types.STRING(), Types.LONG()]))
    beats = beats.assign_timestamps_and_watermarks(by_time)

    # Each heartbeat is the end of one match and the beginning of the next.
    pattern = (
        Pattern.begin("beat", AfterMatchSkipStrategy.skip_to_next())
        .next("again")
        .within(Duration.of_seconds(10))
    )
    watched = CEP.pattern(beats.key_by(lambda beat: beat[0], Types.STRING()), pattern).process(
        Watch(), Types.STRING()
    )
    watched.print()
    watched.get_side_output(SILENT).print()
    env.execute("heartbeats")


if __name__ == "__main__":
    main()

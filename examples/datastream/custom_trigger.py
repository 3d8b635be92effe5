"""A trigger of one's own: a window fires at its end, and at once when an urgent element comes."""

from penstock.common import Duration, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment, WindowFunction
from penstock.datastream.window import TimeWindow, Trigger, TriggerResult, TumblingEventTimeWindows

EVENTS = [("note", 1_000), ("URGENT", 2_000), ("note", 3_000)]


class Urgent(Trigger):
    def on_element(
        self, element: tuple, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.FIRE if element[0] == "URGENT" else TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())


class Count(WindowFunction):
    def apply(self, key: str, window: TimeWindow, inputs: list) -> list:
        return [len(list(inputs))]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    by_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda e, _: e[1])
    events = env.from_collection(EVENTS).assign_timestamps_and_watermarks(by_time)
    windows = events.key_by(lambda e: "all").window(TumblingEventTimeWindows.of(Duration.of_minutes(1)))
    windows.trigger(Urgent()).apply(Count(), Types.INT()).print()  # 2 at once, 3 at the end
    env.execute("urgent events")


if __name__ == "__main__":
    main()

"""Time to live: state that is not touched for an hour is forgotten. Passes each visitor on once."""

from collections.abc import Iterator

from penstock.common import Time, Types
from penstock.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.state import StateTtlConfig, ValueStateDescriptor

VISITS = ["ann", "bob", "ann", "cy", "bob"]


class FirstVisit(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        seen = ValueStateDescriptor("seen", Types.BOOLEAN())
        seen.enable_time_to_live(
            StateTtlConfig.new_builder(Time.hours(1))
            .update_ttl_on_read_and_write()
            .never_return_expired()
            .build()
        )
        self.seen = runtime_context.get_state(seen)

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        if not self.seen.value():
            self.seen.update(True)
            yield value


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    visits = env.from_collection(VISITS, Types.STRING())
    visits.key_by(lambda visitor: visitor, Types.STRING()).process(FirstVisit(), Types.STRING()).print()
    env.execute("first visits")


if __name__ == "__main__":
    main()

"""Connected streams: two streams of different types share state by key. A ride counts once it was paid."""

from collections.abc import Iterator

from penstock.common import Types
from penstock.datastream import KeyedCoProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor

RIDES = [(1, "airport"), (2, "station"), (3, "museum")]
FARES = [(2, 9.5), (1, 31.0)]


class Match(KeyedCoProcessFunction):
    """Whichever comes first waits in state for the other."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.ride = runtime_context.get_state(ValueStateDescriptor("ride", Types.STRING()))
        self.fare = runtime_context.get_state(ValueStateDescriptor("fare", Types.DOUBLE()))

    def process_element1(self, value: tuple, ctx: KeyedCoProcessFunction.Context) -> Iterator[tuple]:
        self.ride.update(value[1])
        yield from self.matched()

    def process_element2(self, value: tuple, ctx: KeyedCoProcessFunction.Context) -> Iterator[tuple]:
        self.fare.update(value[1])
        yield from self.matched()

    def matched(self) -> Iterator[tuple]:
        ride, fare = self.ride.value(), self.fare.value()
        if ride is not None and fare is not None:
            yield ride, fare


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    rides = env.from_collection(RIDES, Types.TUPLE([Types.INT(), Types.STRING()]))
    fares = env.from_collection(FARES, Types.TUPLE([Types.INT(), Types.DOUBLE()]))
    (
        rides.connect(fares)
        .key_by(lambda ride: ride[0], lambda fare: fare[0], Types.INT())
        .process(Match(), Types.TUPLE([Types.STRING(), Types.DOUBLE()]))
        .print()
    )
    env.execute("rides and fares")


if __name__ == "__main__":
    main()

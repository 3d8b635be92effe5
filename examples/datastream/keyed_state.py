"""State per key: tells when a sensor's temperature has risen by more than one degree since the last alert."""

from collections.abc import Iterator

from penstock.common import Types
from penstock.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor

READINGS = [("kitchen", 20.0), ("cellar", 9.0), ("kitchen", 20.5), ("kitchen", 21.5), ("cellar", 9.2)]


class Rising(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.DOUBLE()))

    def process_element(self, value: tuple, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        sensor, temperature = value
        last = self.last.value()  # of this sensor: state follows the key
        if last is None:
            self.last.update(temperature)
        elif temperature > last + 1:
            self.last.update(temperature)
            yield f"{sensor}: {last} -> {temperature}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    readings = env.from_collection(READINGS, Types.TUPLE([Types.STRING(), Types.DOUBLE()]))
    readings.key_by(lambda r: r[0], Types.STRING()).process(Rising(), Types.STRING()).print()
    env.execute("rising temperatures")


if __name__ == "__main__":
    main()

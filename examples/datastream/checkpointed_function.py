"""Operator state: a function that buffers elements keeps its buffer in checkpoints (Java's CheckpointedFunction)."""

from penstock.common import Types
from penstock.datastream import (
    CheckpointedFunction,
    FlatMapFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.functions import FunctionInitializationContext, FunctionSnapshotContext
from penstock.datastream.state import ListStateDescriptor


class InThrees(FlatMapFunction, CheckpointedFunction):
    """Emits lists of three; the rest waits for more, across epochs, failures and restarts."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.saved = store.get_list_state(ListStateDescriptor("buffer", Types.INT()))
        self.buffer = list(self.saved.get())

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.saved.update(self.buffer)

    def flat_map(self, value: int) -> list:
        self.buffer.append(value)
        if len(self.buffer) < 3:
            return []
        full, self.buffer = self.buffer, []
        return [full]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.from_collection(list(range(8)), Types.INT()).flat_map(InThrees()).print()
    env.execute("in threes")


if __name__ == "__main__":
    main()

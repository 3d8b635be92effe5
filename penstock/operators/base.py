"""What an operator is, and what it may ask of the stage that runs it.

An operator gets batches (plain lists of values, and of timestamps or None), watermarks and the end of its
inputs, and pushes batches and watermarks to its `Output`. It never sees Spark, Arrow, files or the wall
clock. The stage calls it, always from one thread, in this order:

    setup(context, output)            once per process and subtask
    open()                            once per process and subtask, before the first element
    per epoch:  restore(...) if the committed state is not what this process holds
                begin_epoch()         once, first
                process_batch / on_watermark / on_idle / end_input    as they come
                on_processing_time()  once, at the epoch's processing time, before the elements
                finish()              all inputs ended, after the MAX watermark (in one epoch only)
                end_epoch()           once, last: flush what is buffered
                snapshot()            what must survive besides keyed and operator state
    close()                           when the job ends

Element order: within a channel as it was sent; a watermark comes after the elements it follows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.common.errors import InvariantError
from penstock.common.ids import MIN_WATERMARK, EpochId, OperatorUid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from penstock.checkpoint.storage import CheckpointStorage
    from penstock.metrics import MetricGroup
    from penstock.operators.dead_letters import DeadLetters
    from penstock.state.backend import KeyedStateBackend, OperatorStateBackend


_NO_EPOCH = EpochId(0)


class Output(ABC):
    """Where an operator's results go: the next operators of the stage and its exchanges."""

    @abstractmethod
    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Passes a batch on. `timestamps` is None if no element has one. The lists now belong to the
        receiver: do not change them afterwards."""

    def emit_table(self, table: pa.Table) -> None:
        """Passes changes in columns on (`delta/columns.py`); the table is not changed by anybody."""
        raise InvariantError(f"{type(self).__name__} takes no tables")

    @abstractmethod
    def emit_side(self, tag_id: str, values: list[Any], timestamps: list[int] | None) -> None:
        """Passes a batch to the side output `tag_id`; dropped if nobody asked for that output."""

    @abstractmethod
    def emit_watermark(self, watermark: int) -> None:
        """Passes a watermark to all outputs, side outputs too. Never goes backwards."""

    @abstractmethod
    def emit_idle(self, idle: bool) -> None:
        """Tells the outputs that they need not (or again must) wait for this operator's watermark."""


@dataclass
class EpochClock:
    """Time as an operator sees it: one processing time per epoch, chosen by the driver."""

    epoch: EpochId = _NO_EPOCH
    processing_time_ms: int = 0
    end_of_input: bool = False
    attempt: str = ""


@dataclass
class OperatorContext:
    """Everything an operator subtask may use. Made by the stage, or by a harness in tests."""

    uid: OperatorUid
    name: str
    subtask_index: int
    parallelism: int
    max_parallelism: int
    clock: EpochClock
    metrics: MetricGroup
    operator_state: OperatorStateBackend
    keyed_state: KeyedStateBackend | None = None
    job_id: str = ""
    job_name: str = ""
    attempt_number: int = 0
    batch_mode: bool = False
    configuration: Mapping[str, str] = field(default_factory=dict)
    job_parameters: Mapping[str, str] = field(default_factory=dict)
    storage: CheckpointStorage | None = None
    dead_letters: DeadLetters | None = None
    """Where elements go that nobody can process; None: they fail the job."""
    restored: bool = False
    """Whether the subtask goes on from something when it is opened, and does not begin."""


class Operator(ABC):
    """Base of all element operators: owns lifecycle and the current watermark.

    A concrete operator is left with its semantics. It is built in the driver by the API, pickled with the
    stage, and must not hold anything before `setup` that cannot be pickled.
    """

    input_count = 1

    context: OperatorContext
    output: Output
    current_watermark: int = MIN_WATERMARK

    def setup(self, context: OperatorContext, output: Output) -> None:
        self.context = context
        self.output = output

    def open(self) -> None:
        """Opens the user's function, gets state objects."""

    def begin_epoch(self) -> None:
        """A new epoch starts; keyed and operator state are ready."""

    @abstractmethod
    def process_batch(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        """Handles the elements of one input, in order."""

    def process_table(self, input_index: int, table: pa.Table) -> None:
        """Handles changes in columns; only operators over tables get any."""
        raise InvariantError(f"'{self.context.name}' takes elements, not tables")

    def on_watermark(self, watermark: int) -> None:
        """The minimum over the inputs' watermarks has moved to `watermark`. Fire what is due, then pass it on.

        Called only when it moved forward; override `advance` for the firing.
        """
        self.current_watermark = watermark
        self.advance(watermark)
        self.output.emit_watermark(watermark)

    def advance(self, watermark: int) -> None:
        """Fires event-time timers and windows up to `watermark`."""

    def on_idle(self, idle: bool) -> None:
        """All inputs became idle, or one became active again."""
        self.output.emit_idle(idle)

    def on_processing_time(self) -> None:
        """Fires processing-time timers due at `context.clock.processing_time_ms`."""

    def end_input(self, input_index: int) -> None:
        """The bounded input has ended; its MAX watermark came before."""

    def end_epoch(self) -> None:
        """Last call of an epoch: emit what is still buffered."""

    def finish(self) -> None:
        """All inputs have ended and the MAX watermark was handled: emit what is left."""

    def close(self) -> None:
        """Releases resources; closes the user's function."""

    def snapshot(self) -> Any:
        """Picklable state of the operator itself. What a subclass adds goes in a dict of its own."""
        return {"watermark": self.current_watermark}

    def restore(self, states: Sequence[Any]) -> None:
        """Takes over from former `snapshot()` results: one normally, several (or none) after rescaling."""
        self.current_watermark = min((s["watermark"] for s in states), default=MIN_WATERMARK)

    def initialize_again(self) -> None:
        """The state of an operator that is open was replaced: it ran elsewhere meanwhile, or ran in vain."""

    def function_state(self) -> Any:
        """What the user's function object carries from epoch to epoch (see functions/carried.py), or None."""
        return None

    def restore_function_state(self, state: Any) -> None:
        """Gives the user's function back what it carried; called after `open`."""

    def next_processing_timer(self) -> int | None:
        """The earliest processing time at which this operator wants an epoch, or None."""
        keyed = self.context.keyed_state
        return keyed.processing_timers.next_time() if keyed else None

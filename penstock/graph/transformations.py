"""The program as the user built it: a graph of transformations, from sinks back to sources.

Every method of `DataStream` adds one node here and nothing else happens until `execute()`. Partitioning,
union and side outputs are nodes too; they disappear in `stream_graph.py`, where they become properties of
edges between operators.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.common.typeinfo import TypeInformation
    from penstock.common.watermark_strategy import WatermarkStrategy
    from penstock.connectors.sink import Sink
    from penstock.connectors.source import Source
    from penstock.operators.base import Operator

_ids = itertools.count(1)


class ChainingStrategy(enum.Enum):
    """How an operator may be put into one task with its neighbours."""

    ALWAYS = 0
    NEVER = 1
    HEAD = 2


class PartitionerKind(enum.Enum):
    """How an element finds its target subtask."""

    FORWARD = "FORWARD"
    HASH = "HASH"
    REBALANCE = "REBALANCE"
    RESCALE = "RESCALE"
    SHUFFLE = "SHUFFLE"
    BROADCAST = "BROADCAST"
    GLOBAL = "GLOBAL"
    CUSTOM = "CUSTOM"
    CATALYST = "CATALYST"


@dataclass(frozen=True)
class Partitioner:
    """A partitioning scheme with what it needs.

    Attributes:
        kind: Which one.
        key_selector: value -> key, for HASH and CUSTOM.
        key_type: TypeInformation of the key (None: any picklable value), for HASH.
        function: (key, number of partitions) -> partition, for CUSTOM.
        key_columns: Columns of the key, for HASH over tables; () sends everything to one subtask.
        segment: What Catalyst computes on the way, for CATALYST: a table stays with its subtask.
    """

    kind: PartitionerKind
    key_selector: Callable[[Any], Any] | None = None
    key_type: TypeInformation | None = None
    function: Callable[[Any, int], int] | None = None
    key_columns: tuple[int, ...] | None = None
    segment: CatalystSegment | None = None


@dataclass(frozen=True)
class CatalystSegment:
    """Linear SQL that Catalyst runs between two operators of one subtask.

    Attributes:
        text: Spark SQL with `{view}` where the table before it is named.
        input_schema: Columns of that table, as Spark DDL.
        input_type: The same as visible columns of Flink's types; the hidden ones follow them.
        output_type: Visible columns of the result; the hidden ones follow them there too.
        prepare: Called in the driver with the Spark session before the text is planned.
        steps: The plan that the text says, for people and tests.
    """

    text: str
    input_schema: str
    input_type: Any
    output_type: Any
    prepare: Callable[[Any], None] | None = None
    steps: Sequence[Any] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Tasks need the types only."""
        return CatalystSegment, ("", "", self.input_type, self.output_type, None)


@dataclass(frozen=True)
class SlotResources:
    """What the slots of a sharing group shall have; memory is all of it, heap or not."""

    group: str
    cpu_cores: float
    memory_bytes: int
    external: tuple[tuple[str, float], ...] = ()


@dataclass(eq=False)
class Transformation:
    """One step of the program. `parallelism` None means the environment's default at `execute()`."""

    name: str
    inputs: Sequence[Transformation] = ()
    output_type: TypeInformation | None = None
    parallelism: int | None = None
    max_parallelism: int | None = None
    uid: str | None = None
    uid_hash: str | None = None
    description: str | None = None
    slot_sharing_group: str | None = None
    slot_resources: SlotResources | None = None
    chaining: ChainingStrategy = ChainingStrategy.ALWAYS
    buffer_timeout_ms: int | None = None
    call_site: str | None = None
    id: int = field(default_factory=lambda: next(_ids))


@dataclass(eq=False)
class SourceTransformation(Transformation):
    """Reads a source; the watermark strategy is applied per split, inside the source operator."""

    source: Source = None  # type: ignore[assignment]
    watermark_strategy: WatermarkStrategy | None = None
    changelog: bool = False
    """Whether a source of tables gives the kind of each change as its last column."""
    tags_splits: bool = False
    """Whether rows of tables carry their split's tag to the operator that makes watermarks."""


@dataclass(eq=False)
class OperatorTransformation(Transformation):
    """Runs an operator over one or more inputs.

    Attributes:
        operator_factory: Makes a fresh, picklable operator; called in the driver for each execution.
        key_selectors: Per input, the key selector if the operator's state is keyed, else None. The key is
            computed again by the receiver, as in Flink, so the selector must be deterministic.
        key_type: TypeInformation of the key.
        key_columns: For an operator over tables that keeps keyed state: per input the columns of the key.
        requires_broadcast_first: Hand over this input's elements before the others' of the same epoch
            (an input index), or None.
    """

    operator_factory: Callable[[], Operator] = None  # type: ignore[assignment]
    key_selectors: Sequence[Callable[[Any], Any] | None] = (None,)
    key_type: TypeInformation | None = None
    key_columns: Sequence[tuple[int, ...]] | None = None
    requires_broadcast_first: int | None = None

    @property
    def is_keyed(self) -> bool:
        return self.key_columns is not None or any(selector is not None for selector in self.key_selectors)


@dataclass(eq=False)
class PartitionTransformation(Transformation):
    """Says how elements travel from the input to whoever consumes this."""

    partitioner: Partitioner = None  # type: ignore[assignment]


@dataclass(eq=False)
class UnionTransformation(Transformation):
    """All inputs as one stream."""


@dataclass(eq=False)
class SideOutputTransformation(Transformation):
    """The elements that the input operator emitted with this tag."""

    tag_id: str = ""


@dataclass(eq=False)
class SinkTransformation(Transformation):
    """Writes its input to a sink."""

    sink: Sink = None  # type: ignore[assignment]
    changelog: bool = True
    """Whether a sink of tables wants to know the kind of each change."""

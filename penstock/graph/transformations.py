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


@dataclass(frozen=True)
class Partitioner:
    """A partitioning scheme with what it needs.

    Attributes:
        kind: Which one.
        key_selector: value -> key, for HASH and CUSTOM.
        key_type: TypeInformation of the key (None: any picklable value), for HASH.
        function: (key, number of partitions) -> partition, for CUSTOM.
    """

    kind: PartitionerKind
    key_selector: Callable[[Any], Any] | None = None
    key_type: TypeInformation | None = None
    function: Callable[[Any, int], int] | None = None


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
    chaining: ChainingStrategy = ChainingStrategy.ALWAYS
    buffer_timeout_ms: int | None = None
    call_site: str | None = None
    id: int = field(default_factory=lambda: next(_ids))


@dataclass(eq=False)
class SourceTransformation(Transformation):
    """Reads a source; the watermark strategy is applied per split, inside the source operator."""

    source: Source = None  # type: ignore[assignment]
    watermark_strategy: WatermarkStrategy | None = None


@dataclass(eq=False)
class OperatorTransformation(Transformation):
    """Runs an operator over one or more inputs.

    Attributes:
        operator_factory: Makes a fresh, picklable operator; called in the driver for each execution.
        key_selectors: Per input, the key selector if the operator's state is keyed, else None. The key is
            computed again by the receiver, as in Flink, so the selector must be deterministic.
        key_type: TypeInformation of the key.
        requires_broadcast_first: Hand over this input's elements before the others' of the same epoch
            (an input index), or None.
    """

    operator_factory: Callable[[], Operator] = None  # type: ignore[assignment]
    key_selectors: Sequence[Callable[[Any], Any] | None] = (None,)
    key_type: TypeInformation | None = None
    requires_broadcast_first: int | None = None

    @property
    def is_keyed(self) -> bool:
        return any(selector is not None for selector in self.key_selectors)


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

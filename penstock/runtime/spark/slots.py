"""Slots: where a job's tasks run, so that they find their state where they left it.

A slot is a place for one task at a time: an executor, and there a *lane*, which is a Python worker process of its own
(up to `MOST_LANES` of them). The subtasks of a slot (`runtime/layout.py`) come back to the executor and the process
that ran them in the epoch before, which has their state in memory. Spark knows neither by itself: it gives a task to
any executor with a free core, and there to any idle Python process.

*The executor* is asked for as a preferred location. Spark only has RDDs with locations where data lies; one that
passes rows through and whose partitions can be set from outside is `CoalescedRDD` (`located`). Spark waits for a
preferred executor (`spark.locality.wait`) and runs the task elsewhere if it does not get it: nothing depends on it.

*The process* is found by its environment: Spark keeps idle Python workers apart by the variables that they were
started with. Each lane has a variable of its own, and so its own process (`in_lane`).
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext

LANE_VARIABLE = "PENSTOCK_LANE"
MOST_LANES = 16
"""Of an executor. Each lane has a process of Spark's that forks its workers, about 150 MB; with more cores slots
share lanes, and find their state in memory less often."""
_LOOK_SECONDS = 1.0
_environment = threading.Lock()


@dataclass(frozen=True)
class Executor:
    """An executor as Spark names it."""

    id: str
    host: str

    @property
    def location(self) -> str:
        return f"executor_{self.host}_{self.id}"


@dataclass(frozen=True)
class Slot:
    """A process of an executor; no executor where there is only one, the driver's."""

    lane: int
    executor: Executor | None = None


def assign(before: Sequence[Slot], executors: Sequence[Executor], cores: int) -> tuple[Slot, ...]:
    """The slots for the executors that there are now, changed as little as can be.

    A slot whose executor is gone goes to the one that has fewest; so does one of an executor that had taken over
    more than it has cores, once there is room elsewhere. New cores become new slots.

    >>> a, b = Executor("0", "h"), Executor("1", "h")
    >>> assign((), [a, b], 1)
    (Slot(lane=0, executor=Executor(id='0', host='h')), Slot(lane=0, executor=Executor(id='1', host='h')))
    >>> [slot.executor.id for slot in assign(assign((), [a, b], 1), [b], 1)]
    ['1', '1']
    """
    load: Counter[Executor | None] = Counter(dict.fromkeys(executors, 0))
    owners: list[Executor | None] = []
    for slot in before:
        keeps = slot.executor in load and load[slot.executor] < cores
        owners.append(slot.executor if keeps else None)
        if keeps:
            load[slot.executor] += 1
    while len(owners) < cores * len(executors):
        owners.append(None)
    for index, owner in enumerate(owners):
        if owner is None:
            least = min(executors, key=lambda e: load[e])
            owners[index] = least
            load[least] += 1
    lanes: Counter[Executor | None] = Counter()
    slots = []
    for owner in owners:
        slots.append(Slot(lanes[owner] % MOST_LANES, owner))
        lanes[owner] += 1
    return tuple(slots)


class Slots:
    """The slots of one job; `current` asks Spark now and then which executors there are."""

    def __init__(self, context: SparkContext, clock: Callable[[], float] = time.monotonic) -> None:
        self._context = context
        self._clock = clock
        self._local = context.master.startswith("local") and not context.master.startswith("local-cluster")
        self._cpus = int(context.getConf().get("spark.task.cpus") or 1)
        self._looked: float | None = None
        self._seen = ""
        self._slots: tuple[Slot, ...] = ()
        self._tasks = 0

    def current(self) -> tuple[Slot, ...]:
        """The slots now; without any executor yet as many as Spark says it will have, anywhere."""
        now = self._clock()
        if self._looked is None or (not self._local and now - self._looked >= _LOOK_SECONDS):
            self._looked = now
            self._look()
        if not self._slots:
            count = self._at_once(self._context.defaultParallelism)
            return tuple(Slot(number % MOST_LANES) for number in range(count))
        return self._slots

    def tasks_at_once(self) -> int:
        """How many tasks Spark can run now. Slots stay when an executor is lost; this becomes fewer."""
        slots = self.current()
        return self._tasks or len(slots)

    def _look(self) -> None:
        if self._local:
            return
        jsc: Any = self._context._jsc
        seen = jsc.sc().getExecutorIds().toString()
        if seen == self._seen:
            return
        executors, cores = self._executors(jsc.sc())
        if executors:
            self._tasks = self._at_once(cores) * len(executors)
            self._slots = assign(self._slots, executors, self._at_once(cores))
            self._seen = seen

    def _at_once(self, cores: int) -> int:
        return max(1, cores // self._cpus)

    def _executors(self, spark: Any) -> tuple[list[Executor], int]:
        """The executors, and the cores of the smallest of them."""
        listed = spark.statusStore().executorList(True)
        found, cores = [], []
        for index in range(listed.size()):
            told = listed.apply(index)
            if told.id() != "driver":
                found.append(Executor(told.id(), told.hostPort().rpartition(":")[0]))
                cores.append(told.totalCores())
        return sorted(found, key=lambda e: (len(e.id), e.id)), min(cores, default=1)


def located(context: SparkContext, rows: RDD[Any], slots: Sequence[Slot]) -> RDD[Any]:
    """The same rows; partition i is preferably computed where slot i is, those behind the last slot anywhere."""
    from pyspark import RDD

    jvm: Any = context._jvm
    wanted = [slot.executor.location if slot.executor else None for slot in slots]
    if not any(wanted):
        return rows
    base = rows._jrdd.rdd()
    count = base.getNumPartitions()
    passing = base.coalesce(count, False, jvm.scala.Option.empty(), None)
    partitions = passing.partitions()
    gateway: Any = context._gateway
    for index in range(count):
        parents = gateway.new_array(jvm.int, 1)
        parents[0] = index
        location = jvm.scala.Option.apply(wanted[index] if index < len(wanted) else None)
        partitions[index] = jvm.org.apache.spark.rdd.CoalescedRDDPartition(index, base, parents, location)
    return RDD(passing.toJavaRDD(), context, rows._jrdd_deserializer)


def pruned(context: SparkContext, rows: RDD[Any], partitions: Sequence[int]) -> RDD[Any]:
    """Some partitions of an RDD, which keep their order."""
    from pyspark import RDD

    jvm: Any = context._jvm
    wanted = jvm.PythonUtils.toSeq(list(partitions)).toSet()
    some = jvm.org.apache.spark.rdd.PartitionPruningRDD.create(rows._jrdd.rdd(), wanted)
    return RDD(some.toJavaRDD(), context, rows._jrdd_deserializer)


@contextmanager
def in_lane(context: SparkContext, lane: int) -> Iterator[None]:
    """Python functions that are handed to the JVM in this block run in the processes of a lane.

    No lane has the processes that Spark uses for everybody else: of those there may be any number.
    """
    with _environment:
        before = context.environment
        context.environment = {**before, LANE_VARIABLE: str(lane)}
        try:
            yield
        finally:
            context.environment = before


def lanes_of(slots: Sequence[Slot]) -> dict[int, list[int]]:
    """The slots of each lane."""
    found: dict[int, list[int]] = {}
    for index, slot in enumerate(slots):
        found.setdefault(slot.lane, []).append(index)
    return found

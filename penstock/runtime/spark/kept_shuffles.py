"""Shuffles that are run again with the same RDDs.

A job's RDDs are made once and run for every epoch. Spark keeps the map output of a shuffle it has run and would
skip the stage before it the next time, so the output is forgotten between two epochs, with the same call that
Spark's own cleaner uses when an RDD is garbage. That asks every executor and waits for it, for each shuffle: it is
done while the driver commits the epoch.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext

Row = tuple[int, Any]

_GROUPED_ITEMS = 256
"""Rows for one target that are pickled together: small parcels share the fixed cost, large ones are few anyway."""
_ASKING = ThreadPoolExecutor(4, "penstock-shuffles")
"""Threads for the jobs of all sessions, since each has a connection to the JVM and a thread there. They start when
they are needed."""


def keyed_bytes(rows: Iterable[Row]) -> Iterator[bytes]:
    """Rows as Spark's shuffle wants them from Python: a target, then the pickle of rows for it, in turn."""
    from pyspark.serializers import CPickleSerializer

    dumps = CPickleSerializer().dumps
    waiting: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        mine = waiting[row[0]]
        mine.append(row)
        if len(mine) >= _GROUPED_ITEMS:
            yield struct.pack("!q", row[0])
            yield dumps(waiting.pop(row[0]))
    for target, mine in waiting.items():
        yield struct.pack("!q", target)
        yield dumps(mine)


def shuffled(context: SparkContext, keyed: RDD[Any], partitions: int) -> tuple[RDD[Any], int]:
    """The rows of `keyed_bytes` at the partitions they are for, and the number of the shuffle.

    Left to itself Spark takes Kryo for numbers and bytes and sets it up anew in every task that writes or reads; that
    was a third of the CPU time that small tasks take in the JVM. Java's serializer has nothing to set up, and bytes
    are bytes.
    """
    from pyspark import RDD
    from pyspark.serializers import BatchedSerializer, CPickleSerializer

    jvm: Any = context._jvm
    pairs = jvm.PairwiseRDD(keyed._jrdd.rdd()).asJavaPairRDD()
    moved = pairs.partitionBy(jvm.PythonPartitioner(partitions, 0))
    moved.rdd().setSerializer(jvm.org.apache.spark.serializer.JavaSerializer(context._jsc.sc().conf()))
    number = moved.rdd().dependencies().apply(0).shuffleId()
    rows: RDD[Any] = RDD(jvm.PythonRDD.valueOfPair(moved), context, BatchedSerializer(CPickleSerializer()))
    return rows, number


class ShuffleCleaner:
    """Forgets what a job's shuffles have produced; `available` is False in a session without Spark's cleaner.

    Not for several threads.
    """

    def __init__(self, context: SparkContext) -> None:
        cleaner: Any = context._jsc.sc().cleaner()  # type: ignore[union-attr]
        self._cleaner = cleaner.get() if cleaner.isDefined() else None
        self._begun: Future[None] | None = None

    @property
    def available(self) -> bool:
        return self._cleaner is not None

    def begin(self, shuffles: Sequence[int]) -> None:
        """Forgets while the caller does something else; `forget` has to follow before the shuffles run again."""
        if self.available and shuffles:
            self._begun = _ASKING.submit(self._forget, tuple(shuffles))

    def forget(self, shuffles: Sequence[int]) -> None:
        """Waits until all executors have done it: a late order would throw away the next epoch's output.

        What was begun and has failed is done again here.
        """
        begun, self._begun = self._begun, None
        if begun is None or begun.exception() is not None:
            self._forget(shuffles)

    def _forget(self, shuffles: Sequence[int]) -> None:
        for number in shuffles:
            assert self._cleaner is not None
            self._cleaner.doCleanupShuffle(number, True)

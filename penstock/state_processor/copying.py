"""Keyed state of an old savepoint or checkpoint in a new savepoint: as it is, or in other key groups.

A copy is a task per share. Moving to another number of key groups sends every record to the task that owns its new
key group, where Spark sorts them, on disk if they are many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cloudpickle

from penstock.checkpoint.contents import KeyedShare, OperatorContents
from penstock.checkpoint.filesystem import filesystem_for
from penstock.checkpoint.savepoint import KeyedParts, operator_folder
from penstock.checkpoint.savepoint_parts import write_parts
from penstock.checkpoint.savepoint_rows import RowMaker, SavepointRow
from penstock.common.errors import NotSupportedError
from penstock.common.key_groups import key_group_for, subtask_for_key_group
from penstock.state.encoding import group_bytes
from penstock.state.files import ARRANGED
from penstock.state.records import RecordReader
from penstock.state.schema import ARRANGEMENT, StateSchema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Schemas = dict[bytes, StateSchema]


@dataclass(frozen=True)
class Copy:
    """A share to copy, under the uid that it has in the new savepoint."""

    root: str
    uid: str
    number: int
    share: KeyedShare
    schemas: Schemas


def copies_of(operator: OperatorContents, uid: str, root: str) -> list[Copy]:
    """The files of an operator, and where they go."""
    schemas = operator.schemas()
    return [Copy(root, uid, number, share, schemas) for number, share in enumerate(operator.shares)]


def copy_keyed(copy: Copy) -> KeyedParts:
    """Writes the parts of one share."""
    files, root = filesystem_for(copy.root)
    rows = _rows(RowMaker(copy.uid, copy.schemas), copy.share)
    parts = write_parts(files, operator_folder(root, copy.uid), f"part-{copy.number}", rows)
    return KeyedParts(copy.schemas, tuple(parts))


def _rows(maker: RowMaker, share: KeyedShare) -> Iterator[SavepointRow]:
    for record in share.records():
        yield maker.row(*record)
    for name, key, stream in share.arranged():
        yield maker.arranged(ARRANGED + name, key, stream)


def check_can_move(operator: OperatorContents) -> None:
    """Refuses state that is kept by key group: which keys its rows are of, only the operator knows.

    Raises:
        NotSupportedError: There is such state.
    """
    for schema in operator.schemas().values():
        if schema.kind == ARRANGEMENT or schema.by_group:
            raise NotSupportedError(
                f"another max parallelism for state {schema.name!r} of operator {operator.uid!r}",
                "its rows are kept in columns by key group",
                do="remove the operator from the savepoint, or keep its max parallelism",
            )


def move_keyed(
    spark: SparkSession, operator: OperatorContents, uid: str, root: str, max_parallelism: int
) -> KeyedParts:
    """Writes the keyed state of an operator in other key groups."""
    schemas = operator.schemas()
    tasks = min(max_parallelism, max(spark.sparkContext.defaultParallelism, len(operator.shares)))
    packed = cloudpickle.dumps(schemas)
    shares = [cloudpickle.dumps(share) for share in operator.shares]
    if not shares:
        return KeyedParts(schemas)

    def move(share: bytes) -> Iterator[tuple[tuple[str, bytes], bytes]]:
        reader = RecordReader(cloudpickle.loads(packed))
        for table, key, raw in cloudpickle.loads(share).records():
            group = key_group_for(reader.parts(table, key, raw).key, max_parallelism)
            yield (table, group_bytes(group) + key[2:]), raw

    def owner(place: tuple[str, bytes]) -> int:
        return subtask_for_key_group(int.from_bytes(place[1][:2], "big"), max_parallelism, tasks)

    def write(number: int, records: Iterator[tuple[tuple[str, bytes], bytes]]) -> Iterator[Any]:
        maker = RowMaker(uid, cloudpickle.loads(packed))
        files, folder = filesystem_for(root)[0], operator_folder(root, uid)
        rows = (maker.row(table, key, raw) for (table, key), raw in records)
        yield write_parts(files, folder, f"part-{number}", rows)

    moved = spark.sparkContext.parallelize(shares, len(shares)).flatMap(move)
    sorted_parts = moved.repartitionAndSortWithinPartitions(tasks, owner).mapPartitionsWithIndex(write)
    return KeyedParts(schemas, tuple(part for parts in sorted_parts.collect() for part in parts))

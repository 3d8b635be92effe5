"""What a compiled expression is made of: a tree of nodes, each of which gives a datum for a batch of rows.

Nodes are plain data and hold functions by name, so a tree can be pickled, and it keeps the sharing inside it.

Most expressions cannot fail and are evaluated for all rows. A division or a CAST of text can, and then it must see
the rows that Spark would evaluate it for and no others: `CASE WHEN b <> 0 THEN a / b END`. Such nodes say
`may_fail`, and what stands around them (CASE, COALESCE, AND, OR) evaluates them in a smaller batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.sql.arrow.values import Datum, array, is_scalar


class Batch:
    """The rows an expression is evaluated for: columns of one length, and what shared nodes gave already."""

    def __init__(self, columns: Sequence[pa.Array | pa.ChunkedArray], rows: int) -> None:
        self.rows = rows
        self._columns = columns
        self._found: dict[int, Datum] = {}

    def column(self, index: int) -> pa.Array:
        return one_array(self._columns[index])

    def find(self, node: Node) -> Datum | None:
        return self._found.get(id(node))

    def keep(self, node: Node, datum: Datum) -> None:
        self._found[id(node)] = datum

    def take(self, indices: Any) -> Batch:
        """Some rows of this batch, by their numbers in a numpy array."""
        return _Part(self, pa.array(indices))


class _Part(Batch):
    """Rows of another batch; a column is only copied when somebody asks for it."""

    def __init__(self, whole: Batch, indices: pa.Array) -> None:
        super().__init__((), len(indices))
        self._whole, self._indices = whole, indices
        self._taken: dict[int, pa.Array] = {}

    def column(self, index: int) -> pa.Array:
        if index not in self._taken:
            self._taken[index] = self._whole.column(index).take(self._indices)
        return self._taken[index]

    def find(self, node: Node) -> Datum | None:
        found = super().find(node)
        if found is None:
            found = self._whole.find(node)
            if found is not None and not is_scalar(found):
                found = found.take(self._indices)
                self.keep(node, found)
        return found


def one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column without chunks."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


@dataclass(frozen=True, eq=False)
class Node:
    """A part of an expression.

    Attributes:
        type: The Arrow type of what it gives.
        may_fail: Whether there are values for which it raises.
    """

    type: pa.DataType
    may_fail: bool

    def evaluate(self, batch: Batch) -> Datum:
        """The values for a batch, which has at least one row."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Column(Node):
    """A column of the input."""

    index: int

    def evaluate(self, batch: Batch) -> Datum:
        found = batch.column(self.index)
        return found if found.type == self.type else found.cast(self.type)


@dataclass(frozen=True, eq=False)
class Constant(Node):
    """The same value in every row."""

    value: pa.Scalar

    def evaluate(self, batch: Batch) -> Datum:
        return self.value


@dataclass(frozen=True, eq=False)
class Apply(Node):
    """A kernel over the values of other nodes.

    A kernel gets data of which at least one is a column, and gives a column of the same length. Where all
    arguments are constant it is called once, with columns of one row.
    """

    kernel: Callable[..., Datum]
    args: tuple[Node, ...]

    def evaluate(self, batch: Batch) -> Datum:
        data = [arg.evaluate(batch) for arg in self.args]
        if all(is_scalar(d) for d in data):
            return self.kernel(*(array(d, 1) for d in data))[0]
        return self.kernel(*data)


@dataclass(frozen=True, eq=False)
class Shared(Node):
    """A node that may stand in several places and is then evaluated once per batch.

    Attributes:
        uses: How many places there are, in a list because it grows while the expressions are compiled.
    """

    node: Node
    uses: list[int]

    def evaluate(self, batch: Batch) -> Datum:
        if self.uses[0] == 1:
            return self.node.evaluate(batch)
        found = batch.find(self)
        if found is None:
            found = self.node.evaluate(batch)
            batch.keep(self, found)
        return found


def constant(value: Any, data_type: pa.DataType) -> Constant:
    return Constant(data_type, False, pa.scalar(value, data_type))


def apply(kernel: Callable[..., Datum], data_type: pa.DataType, *args: Node, fails: bool = False) -> Apply:
    """A kernel over nodes; `fails` if the kernel itself may raise."""
    return Apply(data_type, fails or any(a.may_fail for a in args), kernel, args)


def merged(parts: Sequence[tuple[Any, Datum]], rows: int) -> pa.Array:
    """Puts together what was evaluated in parts: pairs of row numbers and their values, every row in one of them."""
    places = np.empty(rows, np.int64)
    places[np.concatenate([indices for indices, _ in parts])] = np.arange(rows)
    return pa.concat_arrays([array(datum, len(indices)) for indices, datum in parts]).take(pa.array(places))

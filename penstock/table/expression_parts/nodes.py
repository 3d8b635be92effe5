"""The tree of an expression as the program wrote it: names are not looked up, nothing has a type yet.

Functions have the names that Flink gives them in its Table API (`plus`, `charLength`, `REGEXP_COUNT`); how each
becomes a function of the SQL registry is in `table/resolving/`. `str()` gives Flink's short form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.common.datatypes import DataType, DayTimeIntervalType, YearMonthIntervalType


@dataclass(frozen=True)
class Node:
    """Base of all nodes."""

    def children(self) -> tuple[Node, ...]:
        """The expressions it is made of, in order."""
        return ()


@dataclass(frozen=True)
class Name(Node):
    """A column, or what stands for columns: `*`, the alias of a window."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Value(Node):
    """A constant with its type; intervals are whole milliseconds or months, as everywhere in the algebra."""

    value: Any
    type: DataType

    def __str__(self) -> str:
        if self.value is None:
            return "null"
        if isinstance(self.value, str):
            return "'" + self.value.replace("'", "''") + "'"
        if isinstance(self.value, bool):
            return str(self.value).lower()
        return str(self.value)

    @property
    def is_interval(self) -> bool:
        """Whether it is a length of time."""
        return isinstance(self.type, (DayTimeIntervalType, YearMonthIntervalType))


@dataclass(frozen=True)
class Symbol(Node):
    """A word that steers a function: a unit of time, what to do on an error."""

    word: str

    def __str__(self) -> str:
        return self.word


@dataclass(frozen=True)
class Rows(Node):
    """A number of rows: the size of a window."""

    count: int

    def __str__(self) -> str:
        return str(self.count)


@dataclass(frozen=True)
class TypeNode(Node):
    """A type in the place of an argument."""

    type: DataType

    def __str__(self) -> str:
        return self.type.as_summary()


@dataclass(frozen=True)
class Apply(Node):
    """A built-in function, by Flink's name."""

    function: str
    args: tuple[Node, ...] = ()

    def children(self) -> tuple[Node, ...]:
        """The arguments."""
        return self.args

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.args))})"


@dataclass(frozen=True)
class CallByName(Node):
    """`call("path", …)`: a function that the catalogs or the registry are asked for."""

    path: str
    args: tuple[Node, ...] = ()

    def children(self) -> tuple[Node, ...]:
        """The arguments."""
        return self.args

    def __str__(self) -> str:
        return f"{self.path}({', '.join(map(str, self.args))})"


@dataclass(frozen=True)
class CallOf(Node):
    """A call of a user's function that has no name in any catalog. With `takes_row` its arguments are one row."""

    function: Any
    name: str
    args: tuple[Node, ...] = ()
    takes_row: bool = False

    def children(self) -> tuple[Node, ...]:
        """The arguments."""
        return self.args

    def __str__(self) -> str:
        return f"*{self.name}*({', '.join(map(str, self.args))})"


@dataclass(frozen=True)
class TableNode(Node):
    """A table inside an expression: `col("a").in_(table)`."""

    table: Any

    def __str__(self) -> str:
        return str(self.table)


@dataclass(frozen=True)
class SqlText(Node):
    """An expression written in SQL."""

    text: str

    def __str__(self) -> str:
        return f"[{self.text}]"


@dataclass(frozen=True)
class Bound(Node):
    """UNBOUNDED_ROW and its like: where an OVER window begins or ends."""

    word: str

    def __str__(self) -> str:
        return self.word


def walk_nodes(node: Node) -> list[Node]:
    """The node and everything inside it, outermost first."""
    found = [node]
    for child in node.children():
        found += walk_nodes(child)
    return found

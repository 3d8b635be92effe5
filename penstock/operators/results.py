"""Results of user functions on their way out: main elements, and side outputs told apart by their tag.

A user function returns a generator, a list, any iterable, or None. An item that is a pair whose first part is
an `OutputTag` goes to that side output. `Results` gathers a batch's worth; the hot operators keep the lists
in locals and call `add_side` only for the rare tagged item.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.functions.output_tag import OutputTag
from penstock.operators.base import Output


class Results:
    """What one batch or one round of timers produced, in order.

    `timestamps` is always filled; `flush` drops it when told that the elements have none.
    """

    __slots__ = ("_output", "side", "timestamps", "values")

    def __init__(self, output: Output) -> None:
        self._output = output
        self.values: list[Any] = []
        self.timestamps: list[int] = []
        self.side: dict[str, tuple[list[Any], list[int]]] = {}

    def add_all(self, items: Iterable[Any] | None, timestamp: int) -> None:
        """Takes everything a user function returned for one element or timer."""
        if items is None:
            return
        values, timestamps = self.values, self.timestamps
        for item in items:
            if type(item) is tuple and len(item) == 2 and isinstance(item[0], OutputTag):
                self.add_side(item[0].tag_id, item[1], timestamp)
            else:
                values.append(item)
                timestamps.append(timestamp)

    def add(self, value: Any, timestamp: int) -> None:
        self.values.append(value)
        self.timestamps.append(timestamp)

    def add_many(self, values: list[Any], timestamp: int) -> None:
        """Takes results of which none is for a side output."""
        self.values += values
        self.timestamps += [timestamp] * len(values)

    def add_side(self, tag_id: str, value: Any, timestamp: int) -> None:
        values, timestamps = self.side.setdefault(tag_id, ([], []))
        values.append(value)
        timestamps.append(timestamp)

    def flush(self, timestamped: bool = True) -> None:
        """Emits what was gathered, if anything, and starts anew."""
        if self.values:
            values, timestamps = self.values, self.timestamps
            self.values, self.timestamps = [], []
            self._output.emit(values, timestamps if timestamped else None)
        if self.side:
            side, self.side = self.side, {}
            for tag_id, (values, timestamps) in side.items():
                self._output.emit_side(tag_id, values, timestamps if timestamped else None)

"""Rolling reduce of a keyed stream: one running result per element, or one per key in BATCH mode."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any

from penstock.common.ids import MAX_TIMESTAMP
from penstock.common.typeinfo import Types
from penstock.operators.dead_letters import POISONED, bury, time_at
from penstock.operators.function_operator import bound
from penstock.operators.keyed import KeyedOperator
from penstock.operators.map import without_poison
from penstock.state.descriptors import ValueStateDescriptor

if TYPE_CHECKING:
    from penstock.common.typeinfo import TypeInformation


class ReduceOperator(KeyedOperator):
    """Keeps the reduced value of each key.

    Args:
        function: ReduceFunction or callable (a, b) -> c.
        key_selector: value -> key.
        state_type: Type of the elements, None if not declared.
    """

    def __init__(self, function: Any, key_selector: Any, state_type: TypeInformation | None = None) -> None:
        super().__init__(function, key_selector)
        self.state_type = state_type

    def open(self) -> None:
        super().open()
        descriptor = ValueStateDescriptor("_reduce_state", self.state_type or Types.PICKLED_BYTE_ARRAY())
        self._reduced = self.runtime_context.get_state(descriptor)

    def process_elements(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        if self.context.batch_mode:
            self._reduce_run(values, timestamps)
            return
        reduce, select = bound(self.function, "reduce"), self.key_selectors[0]
        assert select is not None
        set_key, read, write = self.backend.set_current_key, self._reduced.value, self._reduced.update
        out: list[Any] = []
        append = out.append
        rest, poisoned = iter(values), False
        while True:
            try:
                for value in rest:
                    set_key(select(value))
                    reduced = read()
                    reduced = value if reduced is None else reduce(reduced, value)
                    write(reduced)
                    append(reduced)
                break
            except Exception as error:
                bury(error, self.context, self.function, value, time_at(timestamps, len(out)))
                append(POISONED)
                poisoned = True
        if poisoned:
            out, timestamps = without_poison(out, timestamps)
        self.output.emit(out, timestamps)

    def _reduce_run(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Reduces elements of one key without a look at the state for each of them."""
        reduce = bound(self.function, "reduce")
        self.backend.set_current_key(self._run_key)
        reduced = self._reduced.value()
        times = repeat(None) if timestamps is None else timestamps
        rest = zip(values, times)  # noqa: B905 - `repeat` has no end
        while True:
            try:
                for value, time in rest:  # noqa: B007 - for whoever is buried
                    reduced = value if reduced is None else reduce(reduced, value)
                break
            except Exception as error:
                bury(error, self.context, self.function, value, time)
        self._reduced.update(reduced)

    def on_key_finished(self) -> None:
        reduced = self._reduced.value()
        if reduced is not None:
            self.results.add(reduced, MAX_TIMESTAMP)

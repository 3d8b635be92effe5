"""The order of the memory store's keys, which is only made when somebody scans."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.state.memory.store import _Table

KEYS = st.integers(0, 12).map(lambda n: bytes([n]))
CHANGES = st.dictionaries(KEYS, st.one_of(st.none(), st.just(b"v")), max_size=6)


@given(st.lists(st.tuples(CHANGES, st.booleans()), max_size=12))
def test_whatever_was_applied_between_scans_the_order_is_that_of_the_records(
    steps: list[tuple[dict[bytes, bytes | None], bool]],
) -> None:
    table, model = _Table(), {}
    for changes, scans in steps:
        table.apply(list(changes), list(changes.values()))
        for key, value in changes.items():
            if value is None:
                model.pop(key, None)
            else:
                model[key] = value
        if scans:
            assert table.order() == sorted(model)
    assert table.records == model and table.order() == sorted(model)

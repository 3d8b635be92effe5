"""State in columns is cut by key groups: what one subtask has kept, two go on from, and one again after them."""

from __future__ import annotations

import pytest

from penstock.checkpoint.storage import MemoryFiles
from penstock.common.codecs import compile_codec
from penstock.common.ids import MIN_WATERMARK
from penstock.common.key_groups import key_group_range, subtask_for_key
from penstock.delta.base import INSERT, Batch, DeltaContext
from penstock.state.backend import KeyedStateRestore, next_handle
from penstock.state.factory import open_keyed_backend
from tests.delta.columnar import test_group_aggregate_columns as groups
from tests.delta.columnar import test_session_windows as sessions
from tests.delta.columnar import test_sliced_windows as windows
from tests.delta.harness import GROUPS
from tests.delta.time.streams import at

CASES = {
    "groups": (
        lambda: groups.columnar((0,), groups.DISTINCT),
        lambda n: (f"k{n % 40}", 1, n % 7, "x", True, None, None),
    ),
    "hopping": (lambda: windows.columnar(windows.hop(12, 4)), lambda n: (f"k{n % 40}", n, None, True, at(n // 10))),
    "sessions": (lambda: sessions.columnar(), lambda n: (f"k{n % 40}", n, at(n // 2))),
}  # fmt: skip
ENCODE = compile_codec(None).encode_key


def run(make, epochs, parallelisms):
    """The changes of each epoch, which runs at its parallelism."""
    files, handles, found, watermark = MemoryFiles(), (), [], MIN_WATERMARK
    for epoch, (rows, until, parallelism) in enumerate(
        [(*e, p) for e, p in zip(epochs, parallelisms, strict=True)]
    ):
        left, output = [], []
        for subtask in range(parallelism):
            owned = key_group_range(subtask, GROUPS, parallelism)
            backend = open_keyed_backend(
                "memory", local_dir="", job_id="job", uid="delta", subtask=subtask, first_key_group=owned[0],
                last_key_group=owned[-1], max_parallelism=GROUPS, key_codec=compile_codec(None), storage=files,
                file_prefix=f"delta{subtask}",
            )  # fmt: skip
            restore = KeyedStateRestore(epoch, owned[0], owned[-1], handles, False)
            snapshot = backend.begin_epoch(restore, 0)
            operator = make()
            operator.open(DeltaContext(backend, subtask, parallelism, GROUPS, watermark=watermark))
            operator.begin_epoch()
            mine = [r for r in rows if subtask_for_key(ENCODE((r[0],)), GROUPS, parallelism) == subtask]
            if mine:
                operator.process(0, Batch(mine, [INSERT] * len(mine), [watermark] * len(mine)))
            operator.advance(until)
            operator.end_epoch()
            output += zip(operator.output.rows, operator.output.kinds, strict=True)
            left.append(next_handle(restore, snapshot, epoch + 1, backend.end_epoch(epoch + 1)))
        handles, watermark = tuple(left), until
        found.append(sorted(map(repr, output)))
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_parallelism_does_not_show(name):
    make, row = CASES[name]
    epochs = [([row(n) for n in range(n0, n0 + 100)], n0 // 10 + 5) for n0 in range(0, 400, 100)]
    epochs.append(([], 1 << 40))
    alone = run(make, epochs, [1, 1, 1, 1, 1])
    assert alone == run(make, epochs, [1, 2, 2, 3, 1])
    assert any(alone[1:])

"""How the change of one row of a keyed result is told."""

from __future__ import annotations

from penstock.delta.base import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Batch, Row
from penstock.delta.rows import same_row


def emit_change(
    output: Batch,
    before: Row | None,
    after: Row | None,
    with_before: bool = True,
    watermark: int | None = None,
) -> None:
    """+I, -U +U or -D for a row that was `before` and is `after`; nothing if that is the same.

    `watermark` is the one before the row that caused the change, where time goes on to the next operator.
    """
    if before is None:
        if after is not None:
            output.append(after, INSERT, watermark)
    elif after is None:
        output.append(before, DELETE, watermark)
    elif not same_row(before, after):
        if with_before:
            output.append(before, UPDATE_BEFORE, watermark)
        output.append(after, UPDATE_AFTER, watermark)

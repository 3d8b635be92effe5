"""Small types for ids and counts, so that an epoch is never mistaken for a subtask."""

from __future__ import annotations

from typing import NewType

EpochId = NewType("EpochId", int)
"""Number of an epoch, which is also the number of the checkpoint that ends it. The first one is 1."""

KeyGroup = NewType("KeyGroup", int)
"""`hash(key) % max_parallelism`: the unit in which keyed state moves between subtasks."""

SubtaskIndex = NewType("SubtaskIndex", int)
"""Which of the P parallel instances of an operator, from 0."""

OperatorUid = NewType("OperatorUid", str)
"""The stable name under which an operator's state is kept and restored."""

DEFAULT_MAX_PARALLELISM = 128

MIN_TIMESTAMP = -(2**63)
MAX_TIMESTAMP = 2**63 - 1
MIN_WATERMARK = MIN_TIMESTAMP
MAX_WATERMARK = MAX_TIMESTAMP

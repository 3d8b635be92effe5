"""State in columns: rows of an operator's input, sorted by key, in a few immutable batches.

`runs.py` is a batch and how batches are merged, `arrangement.py` what an operator holds, `store.py` what brings the
arrangements of a backend through epochs.
"""

from penstock.state.arranged.arrangement import Arrangement
from penstock.state.arranged.store import ArrangementStore

__all__ = ["Arrangement", "ArrangementStore"]

"""Numbers that tell equal rows of Arrow columns from different ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

Codes = np.ndarray[Any, Any]


def group_codes(columns: Sequence[pa.Array | pa.ChunkedArray], rows: int) -> Codes:
    """A number per row, from 0 and without gaps, equal for equal values of all columns; NULL equals NULL.

    >>> group_codes([pa.array(["b", "a", "b", None])], 4).tolist()
    [0, 1, 0, 2]
    """
    codes: Codes = np.zeros(rows, np.int64)
    for column in columns:
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        encoded = whole.dictionary_encode(null_encoding="encode")
        found = np.asarray(encoded.indices).astype(np.int64)
        if len(columns) == 1:
            return found
        _, codes = np.unique(codes * max(len(encoded.dictionary), 1) + found, return_inverse=True)
    return codes

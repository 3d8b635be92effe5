"""How an expression fails: as a job does, with the text that Spark's expression raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from penstock.common.errors import JobExecutionError


def failure(reason: str) -> JobExecutionError:
    return JobExecutionError(f"the query failed: {reason}")


def checked(kernel: Callable[..., Any], *data: Any) -> Any:
    """An arithmetic kernel of Arrow that fails where a 64-bit number is not enough."""
    try:
        return kernel(*data)
    except pa.ArrowInvalid:
        raise failure("long overflow") from None

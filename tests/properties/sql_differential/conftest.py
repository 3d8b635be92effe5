from __future__ import annotations

import os

import pytest

from tests.conformance.quick_spark import start_quick_spark


@pytest.fixture(scope="session", autouse=True)
def quick_spark() -> None:
    """For hundreds of programs, where no other test has started Spark before: some times as fast."""
    if os.environ.get("PENSTOCK_IN_DRIVER"):
        start_quick_spark(tiny=True)

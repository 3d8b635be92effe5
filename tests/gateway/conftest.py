"""A gateway inside the test, whose streaming jobs run in this process without Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.gateway import GatewayService
from penstock.runtime.in_process import InProcessEpochs
from penstock.sql.streaming import jobs
from tests.gateway.client import GatewayUser


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Iterator[GatewayUser]:
    monkeypatch.setattr(jobs, "make_runner", InProcessEpochs)
    with GatewayUser(GatewayService(prepare=lambda: None)) as user:
        yield user

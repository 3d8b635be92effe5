"""A program can run in this process: the same stages and epochs, no Spark."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest

from penstock.runtime import submit
from penstock.runtime.in_process import InProcessEpochs


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Runs the jobs of a test in this process."""
    run_here = functools.partial(submit.submit_job, make_runner=InProcessEpochs)
    monkeypatch.setattr(submit, "submit_job", run_here)
    yield

"""A large state is written into a savepoint, and read from it, by Spark's tasks."""

from __future__ import annotations

import pathlib
from itertools import islice
from typing import Any

import pytest

from penstock.common import Types
from penstock.common.configuration import Configuration
from penstock.connectors.collect import CollectSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.graph.transformations import SinkTransformation
from penstock.runtime import submit
from penstock.runtime.spark import workers
from tests.state_processor.conftest import everything

pytestmark = pytest.mark.spark


def test_parts_are_written_and_read_by_tasks(
    spark: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []
    run = workers.run_in_tasks

    def counting(context: Any, function: Any, items: Any) -> list[Any]:
        sent.append(len(items))
        return run(context, function, items)

    monkeypatch.setattr(submit, "_LARGE_STATE_BYTES", 0)
    monkeypatch.setattr(submit, "run_in_tasks", counting)

    def job(parallelism: int, settings: dict[str, str]) -> tuple[Any, CollectSink]:
        env = StreamExecutionEnvironment.get_execution_environment()
        stream, sink = everything(env, parallelism), CollectSink(Types.LONG())
        end = SinkTransformation("collect", (stream._transformation,), parallelism=1, sink=sink)
        configuration = Configuration.from_dict({"execution.epoch.max-records": "20", **settings})
        return submit.submit_job([end], configuration, "large"), sink

    first, sink = job(2, {})
    rows = sink.iterator(first)
    seen = list(islice(rows, 30))
    path = first.stop_with_savepoint(directory=str(tmp_path))
    seen += list(rows)
    second, sink = job(1, {"execution.state-recovery.path": path})
    seen += list(islice(sink.iterator(second), 20))
    second.cancel()
    assert sorted(seen) == list(range(len(seen)))
    assert sent == [2, 2]

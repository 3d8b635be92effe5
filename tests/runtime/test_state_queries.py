"""Committed state of a running job, looked up by key, from Python and SQL."""

from __future__ import annotations

import pathlib
from itertools import islice
from typing import Any

import pytest

from penstock.common import Types
from penstock.common.errors import CheckpointError, JobEndedError, TypeMismatchError, ValidationError
from penstock.connectors.collect import CollectSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.job_handle import job_client
from penstock.graph.transformations import SinkTransformation
from penstock.sql.streaming import jobs
from penstock.table import EnvironmentSettings, TableEnvironment
from penstock.testing import PAUSE
from tests.connectors.scripted import in_this_process, play
from tests.runtime.in_process import start
from tests.runtime.test_savepoints import endless_counts
from tests.state_processor.conftest import everything, key_of


def test_a_key_is_looked_up_while_the_job_runs() -> None:
    job, sink = endless_counts(2)
    rows = sink.iterator(job)
    list(islice(rows, 60))
    counts = job_client(job).query_state("counts", "count")
    first, epoch = counts.get(3), counts.epoch
    list(islice(rows, 200))
    later = counts.get(3)
    assert 10 <= first < later and counts.epoch > epoch and counts.get(17) is None
    assert [entry.key for entry in counts.between(1, 4)] == [1, 2, 3]
    assert [entry.key for entry in counts.between(limit=2)] == [0, 1]
    assert {entry.key for entry in counts.scan()} == set(range(5))
    with pytest.raises(TypeMismatchError):
        counts.get("three")
    with pytest.raises(ValidationError, match="cannot be compared"):
        counts.between("a", "b")
    with pytest.raises(CheckpointError, match="has no keyed state 'nothing'"):
        job.query_state("counts", "nothing")
    job.cancel()
    with pytest.raises(JobEndedError, match="no state of job"):
        counts.get(3)


def test_every_kind_of_state_is_looked_up() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream, sink = everything(env), CollectSink(Types.LONG())
    end = SinkTransformation("collect", (stream._transformation,), parallelism=1, sink=sink)
    job = start([end], {"execution.epoch.max-records": "20"})
    list(islice(sink.iterator(job), 40))
    seen = job.query_state("all", "seen").get(key_of(2))
    assert seen == list(range(2, seen[-1] + 1, 5))
    person = job.query_state("all", "person").get(key_of(2))
    assert person["age"] >= seen[-1] and person["age"] % 5 == 2
    stock = job.query_state("all", "stock").get(key_of(4))
    assert set(stock) == {"i0", "i1"} and all(n % 5 == 4 for n in stock.values())
    job.cancel()


def test_a_query_sees_the_state_of_a_job_and_of_its_checkpoints(tmp_path: pathlib.Path) -> None:
    retained = {
        "execution.checkpointing.dir": str(tmp_path),
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    }
    job, sink = endless_counts(2, retained)
    list(islice(sink.iterator(job), 60))

    def ask(of: str, more: str = "") -> list[Any]:
        env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        env.get_config().set("execution.checkpointing.dir", str(tmp_path))
        query = f"SELECT `key`, `value` FROM penstock_state('{of}', 'counts', 'count'{more})"
        with in_this_process():
            return sorted(tuple(row) for row in env.execute_sql(query).collect())

    running = ask("test job")
    assert [key for key, _ in running] == [0, 1, 2, 3, 4] and all(count >= 10 for _, count in running)
    assert [key for key, _ in ask(job.job_id, ", 3")] == [3]
    assert ask(job.job_id, ", 30") == []
    assert [key for key, _ in ask(job.job_id, ", '3'")] == [3]
    with pytest.raises(TypeMismatchError, match=r"'three' is no key of state 'count'.*LONG"):
        ask(job.job_id, ", 'three'")
    job.cancel()
    assert [key for key, _ in ask(job.job_id)] == [0, 1, 2, 3, 4]
    assert [key for key, _ in ask(str(tmp_path / job.job_id))] == [0, 1, 2, 3, 4]
    with pytest.raises(CheckpointError, match="there is no job 'nobody'"):
        ask("nobody")
    with pytest.raises(ValidationError, match="penstock_state has 5 arguments"):
        ask(job.job_id, ", 1, 2")


def test_tables_between_the_operators_of_a_sql_job_are_read() -> None:
    play("orders", [[(1, 10, 5), (2, 20, 6), PAUSE, (3, 10, 7), PAUSE, PAUSE]])
    play("customers", [[(10, "a"), (20, "b")]])
    started = []
    submit = jobs.submit

    def noting(*arguments: Any) -> Any:
        started.append(submit(*arguments))
        return started[-1]

    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    scripted = "WITH ('connector' = 'scripted', 'script' = '{}')"
    env.execute_sql(f"CREATE TABLE orders (id INT, customer INT, amount INT) {scripted.format('orders')}")
    env.execute_sql(f"CREATE TABLE customers (id INT, name STRING) {scripted.format('customers')}")
    seen: dict[str, list[Any]] = {}

    def look(plan: Any, partition: int) -> None:
        if plan.epoch == 4 and not seen and started:
            job = started[0]
            uids = {n.name.split("(")[0]: n.uid for n in job.coordinator.job.graph.nodes}
            from penstock.sql.state_relation import state_relation

            for kind, state in (("Join", "left"), ("Aggregate", "groups")):
                rows = state_relation({}, [job.job_id, uids[kind], state])
                seen[kind] = [tuple(row.values()) for row in rows.data.table.to_pylist()]

    with in_this_process(look), pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "submit", noting)
        query = (
            "SELECT c.name, SUM(o.amount) FROM orders o JOIN customers c ON o.customer = c.id GROUP BY c.name"
        )
        list(env.execute_sql(query).collect())
    assert sorted(row[:2] for row in seen["Join"]) == [(10, 5), (10, 7), (20, 6)]
    assert {row[0] for row in seen["Aggregate"]} == {"a", "b"}

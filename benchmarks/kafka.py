"""Kafka in, Kafka out, exactly once: penstock and Flink 2.3 with its own connector, against the same broker.

    totals        JSON in, a filter, COUNT, SUM and MAX per key over 10,000 keys, JSON out (`upsert-kafka`)
    windows       the same per key and 10 seconds of event time: `kafka`, rows only
    source        JSON in, nothing out (`blackhole`)
    sink          rows that are made on the spot (`datagen`), JSON out
    datastream    `totals` by a program: json, key_by, KeyedProcessFunction with state, json; on PyFlink in both modes

The broker is one node on this machine; topics have four partitions. Transactions on both sides wherever something is
written: Flink takes a checkpoint every second, penstock one per epoch, both on disk. Each engine has a process to
itself and runs each job once on a tenth of the messages before the run that counts, from INSERT to the end of its
job, so to the last commit. Results of `totals` and `windows` are read back, committed messages only, and compared.
usage: kafka.py [--messages 2000000] [--jobs totals,sink] [--engines "penstock,Flink,PyFlink process"]
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from typing import Any

from batch_sql import maven_jars
from engines.flink_cluster import cancel_jobs, flink_cluster
from side_by_side import flink_python, script, told_by

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from tests.servers.kafka import KafkaServer  # fetches the broker's jars with Maven, once

SQL, PROGRAM = "engines/nexmark_flink_api.py", "engines/kafka_flink_api.py"
CONNECTOR = ("org.apache.flink:flink-sql-connector-kafka:5.0.0-2.2",)
JOBS = ("totals", "windows", "source", "sink", "datastream")
ENGINES = ("penstock", "Flink", "Flink mini-batch", "PyFlink process", "PyFlink thread")
FEW = 50_000
"""Messages for PyFlink's functions, which take a thousand times as long as the rest."""
PARTITIONS, KEYS = 4, 10_000
START_S = 1_767_225_600  # 2026-01-01
MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "50000",
}
CHECKPOINTS = {"parallelism.default": "2", "execution.checkpointing.interval": "1 s"}

Seconds = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=2_000_000)
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--engines", default=",".join(ENGINES))
    arguments = parser.parse_args()
    jobs, count = arguments.jobs.split(","), arguments.messages
    broker = KafkaServer()
    try:
        topics = {n: produced(broker, n) for n in sorted({count // 10, count, FEW // 10, FEW})}
        engines = {e: Engine(e, broker, topics, count) for e in arguments.engines.split(",")}
        seconds = {name: engine.run(jobs) for name, engine in engines.items()}
        check_results(broker, engines, seconds, jobs)
    finally:
        broker.stop()
    report(count, jobs, seconds)


def produced(broker: KafkaServer, count: int) -> str:
    """A topic with so many messages."""
    from confluent_kafka import Producer

    topic = broker.create(f"in-{count}", PARTITIONS)
    producer = Producer({"bootstrap.servers": broker.servers, "linger.ms": 20, "compression.type": "none"})
    for number, message in enumerate(messages(count)):
        producer.produce(topic, message, partition=number % PARTITIONS)
        if not number % 1000:
            producer.poll(0)
            while len(producer) > 50_000:
                producer.poll(0.05)
    assert producer.flush(60) == 0, "the broker does not take the messages"
    return topic


def messages(count: int) -> Iterator[bytes]:
    """10,000 messages a second of event time, at most a second out of order."""
    for n in range(count):
        at = n // 10 + n * 7919 % 1000  # milliseconds
        text = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(START_S + at // 1000))
        key, value = n * 2_654_435_761 % KEYS, n * 40_503 % 1_000_003
        yield f'{{"id":{n},"k":"user-{key}","v":{value},"ts":"{text}.{at % 1000:03}"}}'.encode()


class Engine:
    """Runs the jobs on one engine; knows the topics that it has written."""

    def __init__(self, name: str, broker: KafkaServer, topics: dict[int, str], count: int) -> None:
        self.name = name
        self.written: dict[str, str] = {}
        self._broker = broker
        self._topics = topics
        self._count = count

    def run(self, jobs: list[str]) -> Seconds:
        with tempfile.TemporaryDirectory() as folder:
            if self.name == "penstock":
                return self._run(pathlib.Path(folder), jobs, script("x")[:1], dict(os.environ))
            with flink_cluster(flink_python(), maven_jars(CONNECTOR)) as (launcher, environment):
                try:
                    return self._run(pathlib.Path(folder), jobs, launcher, environment)
                finally:
                    cancel_jobs(environment)

    def _run(
        self, folder: pathlib.Path, jobs: list[str], launcher: list[str], environment: dict[str, str]
    ) -> Seconds:
        seconds: Seconds = {}
        if not self.name.startswith("PyFlink"):
            seconds = self._run_sql(folder, [j for j in jobs if j != "datastream"], launcher, environment)
        if "datastream" in jobs and not self.name.startswith("Flink"):
            seconds["datastream"] = self._run_program(folder, launcher, environment)
        return seconds

    def _run_sql(
        self, folder: pathlib.Path, jobs: list[str], launcher: list[str], environment: dict[str, str]
    ) -> Seconds:
        seconds: Seconds = {}
        settings = {**CHECKPOINTS, "execution.checkpointing.dir": f"file://{folder}/checkpoints"}
        settings |= MINI_BATCH if self.name.endswith("mini-batch") else {}
        for job in jobs:
            scripts = {job: [self._statements(job, n) for n in (self._count // 10, self._count)]}
            task = folder / f"{job}.json"
            task.write_text(json.dumps({"scripts": scripts, "settings": settings}))
            said = told_by(f"{self.name} {job}", [*launcher, *script(SQL, task)[1:]], environment)
            if "error" in said:
                raise SystemExit(f"{self.name} {job}: {said['error']}")
            seconds[job] = said["seconds"]
        return seconds

    def _run_program(self, folder: pathlib.Path, launcher: list[str], environment: dict[str, str]) -> float:
        """Seconds as if all engines had read as much."""
        count = FEW if self.name.startswith("PyFlink") else self._count
        mode = self.name.split()[-1]
        runs = [x for n in (count // 10, count) for x in (self._topics[n], self._sink("datastream"))]
        command = script(PROGRAM, self._broker.servers, mode, folder / "program", *runs)[1:]
        said = told_by(f"{self.name} datastream", [*launcher, *command], environment)
        return float(said["seconds"]) * self._count / count

    def _sink(self, job: str) -> str:
        self.written[job] = self._broker.create(f"out-{job}-{uuid.uuid4().hex[:8]}", PARTITIONS)
        return self.written[job]

    def _statements(self, job: str, count: int) -> list[str]:
        servers = f"'properties.bootstrap.servers' = '{self._broker.servers}'"
        read = f"""CREATE TABLE messages (id BIGINT, k STRING, v BIGINT, ts TIMESTAMP(3),
            WATERMARK FOR ts AS ts - INTERVAL '2' SECOND) WITH ('connector' = 'kafka', {servers},
            'topic' = '{self._topics[count]}', 'format' = 'json', 'scan.startup.mode' = 'earliest-offset',
            'scan.bounded.mode' = 'latest-offset')"""
        if job == "source":
            columns = "id BIGINT, k STRING, v BIGINT, ts TIMESTAMP(3)"
            nothing = f"CREATE TABLE target ({columns}) WITH ('connector' = 'blackhole')"
            return [read, nothing, "INSERT INTO target SELECT * FROM messages"]
        topic = self._sink(job)
        target = f"""{servers}, 'topic' = '{topic}', 'sink.delivery-guarantee' = 'exactly-once',
            'sink.transactional-id-prefix' = '{topic}', 'properties.transaction.timeout.ms' = '600000'"""
        rows = f"'connector' = 'kafka', 'format' = 'json', {target}"
        if job == "sink":
            made = f"""CREATE TABLE messages (id BIGINT, k INT, v BIGINT) WITH ('connector' = 'datagen',
                'number-of-rows' = '{count}', 'rows-per-second' = '100000000', 'fields.k.min' = '0',
                'fields.k.max' = '{KEYS - 1}', 'fields.v.min' = '0', 'fields.v.max' = '1000000')"""
            sink = f"CREATE TABLE target (id BIGINT, k INT, v BIGINT) WITH ({rows})"
            return [made, sink, "INSERT INTO target SELECT * FROM messages"]
        if job == "totals":
            upserts = f"'connector' = 'upsert-kafka', 'key.format' = 'raw', 'value.format' = 'json', {target}"
            sink = f"""CREATE TABLE target (k STRING, n BIGINT, total BIGINT, highest BIGINT,
                PRIMARY KEY (k) NOT ENFORCED) WITH ({upserts})"""
            query = "SELECT k, COUNT(*), SUM(v), MAX(v) FROM messages WHERE v >= 100000 GROUP BY k"
            return [read, sink, f"INSERT INTO target {query}"]
        sink = f"""CREATE TABLE target (k STRING, ws TIMESTAMP(3), n BIGINT, total BIGINT, highest BIGINT)
            WITH ({rows})"""
        query = """SELECT k, window_start, COUNT(*), SUM(v), MAX(v)
            FROM TABLE(TUMBLE(TABLE messages, DESCRIPTOR(ts), INTERVAL '10' SECOND))
            WHERE v >= 100000 GROUP BY k, window_start, window_end"""
        return [read, sink, f"INSERT INTO target {query}"]


def check_results(
    broker: KafkaServer, engines: dict[str, Engine], seconds: dict[str, Seconds], jobs: list[str]
) -> None:
    """Ends the program where engines have written different things."""
    for job in ("totals", "windows"):
        found = {e: last_of_each(broker, engines[e].written[job]) for e in seconds if job in seconds[e]}
        first = next(iter(found.values()), None)
        wrong = [engine for engine, values in found.items() if values != first]
        if wrong:
            raise SystemExit(f"{job}: {', '.join(wrong)} has written something else than {next(iter(found))}")


def last_of_each(broker: KafkaServer, topic: str) -> dict[Any, Any]:
    """The last message of each key; of messages without keys, how many times each is there."""
    last: dict[Any, Any] = {}
    for message in broker.read(topic):
        value = json.loads(message.value())
        if message.key() is None:
            text = json.dumps(value, sort_keys=True)
            last[text] = last.get(text, 0) + 1
        else:
            last[message.key()] = value
    return last


def report(count: int, jobs: list[str], seconds: dict[str, Seconds]) -> None:
    load = os.getloadavg()[0]
    print(f"\nKafka, {count:,} messages  ({os.cpu_count()} cores, {platform.machine()}, load {load:.1f})")
    others = [engine for engine in seconds if engine != "penstock"] if "penstock" in seconds else []
    print(f"{'messages/s':12s}" + "".join(f"{e:>18s}" for e in seconds) + "   penstock is")
    for job in jobs:
        rates = {engine: count / taken[job] for engine, taken in seconds.items() if job in taken}
        line = "".join(f"{rates[e]:18,.0f}" if e in rates else f"{'-':>18s}" for e in seconds)
        ratios = [f"{rates['penstock'] / rates[e]:.2f} x {e}" for e in others if e in rates]
        print(f"{job:12s}{line}   {', '.join(ratios)}")
    print(json.dumps({"title": "kafka", "messages": count, "load": load, "seconds": seconds}))


if __name__ == "__main__":
    main()

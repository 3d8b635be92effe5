"""A job from Kafka to Kafka goes on although its processes and the broker are killed with SIGKILL, by turns.

Messages keep coming meanwhile. A reader of committed messages sees every one once, and those of a key in order: of a
SQL table, of a program.
"""

from __future__ import annotations

import os
import pathlib
import random
import signal
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import partial

import pytest
from processes import (
    KILLS,
    SEED,
    Start,
    client_processes,
    epochs_done,
    log_of,
    start,
    stop,
    wait_for,
    wait_for_result,
    workers,
)

from tests.servers.kafka import KafkaServer

KEYS, PARTITIONS = 8, 3
ALL_KILLS = max(20, 4 * KILLS)
"""20 in `make recovery`, 200 in `make chaos`."""
VICTIMS = ("driver", "worker", "worker", "broker", "worker", "client", "worker")
"""By turns. Workers are back at once; clients are the processes in which the driver's Kafka clients live."""
ROUNDS_PER_S = 30
RECORDS_PER_EPOCH = 1000
JOB = pathlib.Path(__file__).with_name("kafka_job.py")

pytestmark = [pytest.mark.spark, pytest.mark.chaos, pytest.mark.timeout(600 + 60 * ALL_KILLS)]


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaServer]:
    """One of its own: it dies."""
    server = KafkaServer()
    yield server
    server.stop()


class Feeder:
    """Sends a message of every key, and again, until it is told to stop; broken connections do not stop it."""

    def __init__(self, broker: KafkaServer) -> None:
        from confluent_kafka import Producer

        self.sent = 0
        self._ended = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": broker.servers,
                "enable.idempotence": True,
                "linger.ms": 5,
                "log_level": 0,
                "message.timeout.ms": 0,  # it never gives a message up
                "queue.buffering.max.messages": 1_000_000,
            }
        )
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def _send(self) -> None:
        while not self._ended.wait(1 / ROUNDS_PER_S):
            for key in range(KEYS):
                self._producer.produce("in", f"{key},{self.sent}", partition=key % PARTITIONS)
            self._producer.poll(0)
            self.sent += 1

    def stop(self) -> int:
        """How many messages each key has, all of them delivered."""
        self._ended.set()
        self._thread.join()
        assert self._producer.flush(120) == 0
        return self.sent


def test_every_message_comes_once_and_in_order_whoever_is_killed(
    broker: KafkaServer, tmp_path: pathlib.Path
) -> None:
    begin, feeder = program(broker, tmp_path), Feeder(broker)
    try:
        job, killed = run_killing(broker, tmp_path, begin)
    finally:
        sent = feeder.stop()
    outputs = {"out-sql": ",", "out-program": ":"}
    try:
        wait_for_result(
            [KEYS * sent] * 2, lambda: [len(broker.read(topic)) for topic in outputs], job, tmp_path
        )
    finally:
        stop(job)
    assert sum(killed.values()) == ALL_KILLS and min(killed.values()) > 0, killed
    expected = [(n, n + 1) for n in range(sent)]
    for topic, separator in outputs.items():
        by_key = messages_by_key(broker, topic, separator)
        wrong = {key: found for key, found in by_key.items() if found != expected}
        assert sorted(by_key) == list(range(KEYS))
        assert not wrong, {topic: {key: (len(found), len(set(found))) for key, found in wrong.items()}}


def program(broker: KafkaServer, folder: pathlib.Path) -> Start:
    for topic in ("in", "out-sql", "out-program"):
        broker.create(topic, PARTITIONS)
    return partial(start, folder, JOB, broker.servers, "in", "out", folder / "chk", RECORDS_PER_EPOCH)


def run_killing(
    broker: KafkaServer, folder: pathlib.Path, begin: Start
) -> tuple[subprocess.Popen[bytes], dict[str, int]]:
    """Runs the program while somebody is killed after every epoch or two; the job that is left, how many of whom."""
    chance = random.Random(SEED)
    killed = dict.fromkeys(VICTIMS, 0)
    job = begin()
    try:
        for number in range(ALL_KILLS):
            before, more = epochs_done(folder), chance.randint(1, 2)
            going = wait_for(
                lambda b=before, m=more, j=job: epochs_done(folder) >= b + m and bool(workers(j.pid)),
                job,
                folder,
            )
            assert going, f"the job ended after {number} kills\n{log_of(folder)}"
            time.sleep(chance.uniform(0, 0.4))
            victim = VICTIMS[number % len(VICTIMS)]
            job = kill(victim, job, broker, begin, chance)
            killed[victim] += 1
    except BaseException:
        stop(job)
        raise
    return job, killed


def kill(
    victim: str, job: subprocess.Popen[bytes], broker: KafkaServer, begin: Start, chance: random.Random
) -> subprocess.Popen[bytes]:
    """Kills one, and starts anew what does not come back by itself."""
    if victim == "driver":
        stop(job)
        return begin()
    if victim == "broker":
        broker.kill()
        broker.start()
        return job
    alive = workers(job.pid) if victim == "worker" else client_processes(job.pid)
    if alive:
        os.kill(chance.choice(alive), signal.SIGKILL)
    return job


def messages_by_key(broker: KafkaServer, topic: str, separator: str) -> dict[int, list[tuple[int, int]]]:
    by_key = defaultdict(list)
    for message in broker.read(topic):
        key, number, count = map(int, message.value().decode().split(separator))
        by_key[key].append((number, count))
    return by_key

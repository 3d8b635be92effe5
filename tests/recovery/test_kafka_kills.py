"""A job from Kafka to Kafka goes on although driver, Python workers and broker are killed with SIGKILL, by turns.

A reader of committed messages sees every one once, and those of a key in order: of a SQL table, of a program.
"""

from __future__ import annotations

import os
import pathlib
import random
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import partial

import pytest
from processes import KILLS, SEED, Start, epochs_done, log_of, start, stop, wait_for, workers

from tests.servers.kafka import KafkaServer

KEYS, PARTITIONS = 8, 3
ALL_KILLS = 4 * KILLS
"""20 in `make recovery`, 200 in `make chaos`."""
DRIVERS_IN = 7
"""One in so many victims is the driver, and one the broker; the others are workers, who are back at once."""
PER_KEY = 150 * ALL_KILLS
RECORDS_PER_EPOCH = 150
JOB = pathlib.Path(__file__).with_name("kafka_job.py")

pytestmark = [pytest.mark.spark, pytest.mark.chaos, pytest.mark.timeout(300 + 60 * ALL_KILLS)]


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaServer]:
    """One of its own: it dies."""
    server = KafkaServer()
    yield server
    server.stop()


def test_every_message_comes_once_and_in_order_whoever_is_killed(
    broker: KafkaServer, tmp_path: pathlib.Path
) -> None:
    begin = program(broker, tmp_path)
    killed = run_killing(broker, tmp_path, begin)
    assert sum(killed.values()) == ALL_KILLS and min(killed.values()) > 0, killed
    expected = [(n, n + 1) for n in range(PER_KEY)]
    for topic, separator in (("out-sql", ","), ("out-program", ":")):
        by_key = messages_by_key(broker, topic, separator)
        wrong = {key: found for key, found in by_key.items() if found != expected}
        assert sorted(by_key) == list(range(KEYS))
        assert not wrong, {topic: {key: (len(found), len(set(found))) for key, found in wrong.items()}}


def program(broker: KafkaServer, folder: pathlib.Path) -> Start:
    broker.create("in", PARTITIONS)
    for topic in ("out-sql", "out-program"):
        broker.create(topic, PARTITIONS)
    for partition in range(PARTITIONS):
        keys = [k for k in range(KEYS) if k % PARTITIONS == partition]
        broker.send("in", [f"{k},{n}".encode() for n in range(PER_KEY) for k in keys], partition)
    return partial(start, folder, JOB, broker.servers, "in", "out", folder / "chk", RECORDS_PER_EPOCH)


def run_killing(broker: KafkaServer, folder: pathlib.Path, begin: Start) -> dict[str, int]:
    """Runs the program to its end while somebody is killed after every epoch or two; how many of whom."""
    chance = random.Random(SEED)
    killed = dict.fromkeys(("driver", "broker", "worker"), 0)
    job = begin()
    try:
        for number in range(ALL_KILLS):
            before, more = epochs_done(folder), chance.randint(1, 2)
            going = wait_for(
                lambda b=before, m=more, j=job: epochs_done(folder) >= b + m and bool(workers(j.pid)),
                job,
                folder,
            )
            assert going, f"the job ended after {number} kills: give it more to do\n{log_of(folder)}"
            time.sleep(chance.uniform(0, 0.4))
            victim = {0: "driver", 3: "broker"}.get(number % DRIVERS_IN, "worker")
            job = kill(victim, job, broker, begin, chance)
            killed[victim] += 1
        assert job.wait(600) == 0, log_of(folder)
    finally:
        stop(job)
    return killed


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
    alive = workers(job.pid)
    if alive:
        os.kill(chance.choice(alive), signal.SIGKILL)
    return job


def messages_by_key(broker: KafkaServer, topic: str, separator: str) -> dict[int, list[tuple[int, int]]]:
    by_key = defaultdict(list)
    for message in broker.read(topic):
        key, number, count = map(int, message.value().decode().split(separator))
        by_key[key].append((number, count))
    return by_key

"""The options that are known here, and names for those that the layers read.

The table itself, `options.txt`, has Flink's keys with type, default, values and older spellings. Options of
its section `jvm` tune Flink's own processes: programs may set them, and nothing happens.

>>> option("parallelism.default").default
1
"""

from __future__ import annotations

import functools
from importlib import resources

from penstock.common.config_options import ConfigOption
from penstock.common.errors import ValidationError

__all__ = [
    "CheckpointingOptions",
    "DeadLetterOptions",
    "EpochOptions",
    "ExecutionOptions",
    "PipelineOptions",
    "StateOptions",
    "WorkerOptions",
    "begins_as_known",
    "belongs_to_others",
    "has_effect",
    "is_known",
    "is_meant_for_us",
    "known_keys",
    "option",
    "option_of",
]

# Keys that a program makes up itself: everything below these belongs to it.
_OPEN_PREFIXES = (
    "metrics.reporter.",
    "penstock.dead-letter.properties.",
    "penstock.dead-letter.table.",
    "penstock.log.level.",
    "pipeline.global-job-parameters.",
    "python.job-options.",
)

# First parts of keys that only Flink's programming interfaces and we give out, all of which are in the table.
_COMPLETE = (
    "execution.",
    "materialized-table.",
    "parallelism.",
    "penstock.",
    "pipeline.",
    "restart-strategy.",
    "sql-client.",
    "state.",
    "table.",
)

# Keys of others: Spark, workers, metrics, Flink's processes, and state backends and catalogs with their own options.
_OTHERS = (
    "spark.",
    "python.",
    "metrics.",
    "security.",
    "jobmanager.",
    "taskmanager.",
    "env.",
    "fs.",
    "s3.",
    "state.backend.changelog.",
    "state.backend.forst.",
    "state.backend.latency-track.",
    "state.backend.rocksdb.",
    "state.changelog.",
    "state.latency-track.",
    "state.size-track.",
    "table.exec.emit.",
    "table.exec.hive.",
    "table.exec.iceberg.",
)

# Keys of Flink 1.x that have no successor; programs still set them.
_FORMER = frozenset(
    {
        "pipeline.auto-type-registration",
        "pipeline.default-kryo-serializers",
        "pipeline.registered-kryo-types",
        "pipeline.registered-pojo-types",
        "pipeline.time-characteristic",
        "state.backend.async",
        "table.exec.legacy-transformation-uids",
        "table.exec.range-sort.enabled",
        "table.exec.shuffle-mode",
        "table.planner",
    }
)


@functools.lru_cache(maxsize=1)
def _table() -> dict[str, tuple[str, ConfigOption]]:
    """Key to (section, option), read once."""
    table, section = {}, ""
    text = resources.files("penstock.common").joinpath("options.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            parsed = _parse(line)
            table[parsed.key] = (section, parsed)
    return table


def _parse(line: str) -> ConfigOption:
    cells = [cell.strip() for cell in line.split("|")]
    cells += ["-"] * (5 - len(cells))
    key, kind, default, values, older = (None if cell == "-" else cell for cell in cells)
    assert key is not None and kind is not None, line
    return ConfigOption(key, kind, default, (values or "").split(",") if values else (), _split(older))


def _split(text: str | None) -> list[str]:
    return text.split(",") if text else []


def option(key: str) -> ConfigOption:
    """The known option with this key."""
    try:
        return _table()[key][1]
    except KeyError:
        raise ValidationError(f"no option with the key '{key}' is known") from None


def option_of(key: str) -> ConfigOption | None:
    """The known option that is set with this key, today's or an older one."""
    return _by_any_key().get(key)


@functools.lru_cache(maxsize=1)
def _by_any_key() -> dict[str, ConfigOption]:
    options = [known for _, known in _table().values()]
    older = {key: known for known in options for key in known.fallback_keys}
    return {**older, **{known.key: known for known in options}}


def known_keys() -> list[str]:
    """All keys of the table, older spellings too."""
    return [key for _, known in _table().values() for key in (known.key, *known.fallback_keys)]


def begins_as_known(key: str) -> bool:
    """Whether an option has the same first part.

    >>> begins_as_known("rest.prot"), begins_as_known("jdbc.url")
    (True, False)
    """
    return key.partition(".")[0] in _first_parts()


@functools.lru_cache(maxsize=1)
def _first_parts() -> frozenset[str]:
    return frozenset(key.partition(".")[0] for key in known_keys())


def belongs_to_others(key: str) -> bool:
    """Whether the key is none of our business, however much it looks like a known one."""
    return key in _FORMER or key.startswith(_OTHERS)


def is_meant_for_us(key: str) -> bool:
    """Whether the key begins as ours do and can only have been meant for us."""
    return key.startswith(_COMPLETE)


def is_known(key: str) -> bool:
    """Whether an option has this key, today or in older programs."""
    return key in _by_any_key() or key.startswith(_OPEN_PREFIXES)


def has_effect(key: str) -> bool:
    """Whether setting the key can change anything here."""
    return key in _table() and _table()[key][0] != "jvm"


class ExecutionOptions:
    """How jobs run."""

    RUNTIME_MODE = option("execution.runtime-mode")
    BUFFER_TIMEOUT = option("execution.buffer-timeout.interval")
    PARALLELISM = option("parallelism.default")
    RESTART_STRATEGY = option("restart-strategy.type")


class EpochOptions:
    """How large an epoch is: ours, Flink has no such thing."""

    TARGET = option("execution.epoch.target")
    MAX_RECORDS = option("execution.epoch.max-records")
    LOG = option("penstock.log.epochs")


class WorkerOptions:
    """The Python processes in which operators run: ours."""

    MEMORY_LIMIT = option("execution.worker.memory-limit")


class DeadLetterOptions:
    """Where elements go on which functions raise, and records that cannot be decoded: ours."""

    PATH = option("penstock.dead-letter.path")
    TOPIC = option("penstock.dead-letter.topic")
    MAX_PER_EPOCH = option("penstock.dead-letter.max-per-epoch")
    MAX_PER_MINUTE = option("penstock.dead-letter.max-per-minute")
    ONLY = option("penstock.dead-letter.only")

    PROPERTIES = "penstock.dead-letter.properties."
    """What begins so is a setting of the Kafka client that writes to the topic."""
    TABLE = "penstock.dead-letter.table."
    """What begins so is an option of the table, as in its WITH clause."""


class PipelineOptions:
    """What belongs to the program: its name, its parallelism, its parameters."""

    NAME = option("pipeline.name")
    MAX_PARALLELISM = option("pipeline.max-parallelism")
    AUTO_WATERMARK_INTERVAL = option("pipeline.auto-watermark-interval")
    AUTO_GENERATE_UIDS = option("pipeline.auto-generate-uids")
    OBJECT_REUSE = option("pipeline.object-reuse")
    OPERATOR_CHAINING = option("pipeline.operator-chaining.enabled")
    GLOBAL_JOB_PARAMETERS = option("pipeline.global-job-parameters")


class CheckpointingOptions:
    """Where and when checkpoints are written, and what stays of them."""

    INTERVAL = option("execution.checkpointing.interval")
    MODE = option("execution.checkpointing.mode")
    DIRECTORY = option("execution.checkpointing.dir")
    SAVEPOINT_DIRECTORY = option("execution.checkpointing.savepoint-dir")
    TIMEOUT = option("execution.checkpointing.timeout")
    MIN_PAUSE = option("execution.checkpointing.min-pause")
    NUM_RETAINED = option("execution.checkpointing.num-retained")
    INCREMENTAL = option("execution.checkpointing.incremental")
    TOLERABLE_FAILURES = option("execution.checkpointing.tolerable-failed-checkpoints")
    EXTERNALIZED_RETENTION = option("execution.checkpointing.externalized-checkpoint-retention")


class StateOptions:
    """Where state lives, and what a job starts from."""

    BACKEND = option("state.backend.type")
    RECOVERY_PATH = option("execution.state-recovery.path")
    CLAIM_MODE = option("execution.state-recovery.claim-mode")
    IGNORE_UNCLAIMED = option("execution.state-recovery.ignore-unclaimed-state")
    SNAPSHOT_MIN_GROWTH = option("penstock.snapshot.min-growth")
    SNAPSHOT_BACKGROUND_SIZE = option("penstock.snapshot.background-size")

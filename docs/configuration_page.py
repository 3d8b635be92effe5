"""Writes docs/configuration.md: the keys that count here, from the table of options and the code that reads it.

    python docs/configuration_page.py        writes the page; a test compares it with what it would write

A key counts if a module of penstock names it. Keys that are accepted and change nothing are listed by name only. What
ours mean is said here; the meaning of Flink's is Flink's.
"""

from __future__ import annotations

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[1]
PAGE = ROOT / "docs" / "configuration.md"

OURS = {
    "execution.epoch.target": "How long an epoch should take; latency is one to two of them.",
    "execution.epoch.max-records": "A fixed number of records per subtask and epoch instead.",
    "execution.worker.memory-limit": "What a Python worker may use; beyond it the epoch is tried again with less.",
    "sql-client.display.show-types": "Types below the names of columns.",
    "penstock.progress-line": "Whether a job that is waited for at a terminal shows how it comes along.",
    "penstock.rest.token-file": "File with a token that requests of REST and the SQL gateway must bring.",
    "penstock.session.dir": "Folder of a session (`penstock cluster`): its programs, their logs and archives.",
    "penstock.changelog.detail": "Which changes of a result are shown: each one, or what an epoch's come to.",
    "penstock.dead-letter.path": "Folder for elements on which functions raise.",
    "penstock.dead-letter.topic": "Kafka topic for them.",
    "penstock.dead-letter.max-per-epoch": "More of them in an epoch fail the job.",
    "penstock.dead-letter.max-per-minute": "More of them in a minute fail the job.",
    "penstock.dead-letter.only": "Names or uids of the operators whose elements may go there.",
    "penstock.log.epochs": "A line of the log for every epoch, at level INFO.",
    "penstock.log.level": "What is logged under the command line; `penstock.log.level.<logger>` of one logger.",
    "penstock.snapshot.background-size": "Keyed state of a subtask from this size on is written anew beside epochs.",
    "penstock.snapshot.min-growth": "Fewer changed bytes are no reason to write a subtask's keyed state anew.",
    "penstock.state.decimals": "What BIG_DEC and BIG_INT are in `penstock_state`: 38 digits, or texts with all.",
    "penstock.web.sample.enable": "Whether the dashboard may show rows of a vertex.",
}

_PROCESSES = (
    "Flink's own processes and their memory. Spark's driver and executors are there instead: `spark.*` keys."
)
_PLANS = "How Flink plans queries and batch jobs. Spark plans those of batch mode: `spark.sql.*` keys."
_CHECKPOINTS = (
    "How Flink's checkpoints travel and are stored. Here the end of an epoch is one, with nothing under way."
)
_CALLS = "Asynchronous calls other than of scalar functions: they have no settings here."
WITHOUT_EFFECT = {
    "": _PROCESSES,
    "execution.batch": _PLANS,
    "execution.sort": _PLANS,
    "slow-task-detector.": _PLANS,
    "table.": "SQL: what is Flink's own way to run or to store something.",
    "table.optimizer.": _PLANS,
    "table.exec.resource.": "Memory and parallelism of operators: `parallelism.default` counts for queries too.",
    "table.exec.async-": _CALLS,
    "table.exec.mini-batch.": "An epoch is a mini-batch: `execution.epoch.target` is its length.",
    "table.exec.spill": _PLANS,
    "table.exec.sort.": _PLANS,
    "table.exec.local-hash-agg.": _PLANS,
    "execution.checkpointing.": _CHECKPOINTS,
    "execution.state-recovery.": _CHECKPOINTS,
    "execution.async-state.": "Asynchronous state: state is in the worker's own files here, and read at once.",
    "events.": "Events and traces: only metrics have reporters here.",
    "traces.": "Events and traces: only metrics have reporters here.",
    "python.": "How Flink's Java processes talk to Python ones. Here everything runs in Python.",
    "pipeline.": "Serializers, classes and names of Java's; types decide how values are encoded.",
    "pipeline.watermark-alignment.": "Buffers of Flink's alignment of watermarks.",
    "metrics.": "Metrics that are not there: the machine's resources, Flink's query service.",
    "rest.": "REST: threads, caches and retries of Flink's server and client.",
    "rest.flamegraph.": "Flame graphs and the profiler of Flink's dashboard.",
    "rest.profiling.": "Flame graphs and the profiler of Flink's dashboard.",
    "materialized-table.": "Materialized tables, which are not supported.",
    "workflow-scheduler.": "Materialized tables, which are not supported.",
}
"""Why a key does nothing, by the beginning of its name; the longest one counts."""

_HEAD = """# Configuration

Set keys with `-D key=value` (`penstock run`, `penstock sql`), in the environment's `Configuration`, or by `SET` in
SQL. A key that is mistyped is told with what was probably meant; a value that cannot be read is refused before
anything runs. Every `spark.*` key goes to the Spark session.

This page is made from the code (`make docs-pages`).
"""

_KEPT = """
Most of them decide something. Some can only be set and read back, because what they tune is not there; the method
that sets such a key says so (*kept, without effect*).
"""


def written() -> str:
    """The page as the code has it."""
    sections = _sections()
    used = _named_in_code()
    ours = sections.pop("penstock")
    parts = [_HEAD, "## Penstock's own", _table(ours, OURS)]
    silent = [key for key, *_ in sections.pop("jvm")]
    rows = sorted(row for group in sections.values() for row in group)
    parts += ["## Flink's keys that are read here", _KEPT, _table([row for row in rows if row[0] in used])]
    silent = sorted({*silent, *(row[0] for row in rows if row[0] not in used)})
    parts += [
        "## Accepted, without effect",
        "They tune what is not there. Programs may set them; nothing changes, and nobody is told.",
        *_by_reason(silent),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _by_reason(keys: list[str]) -> list[str]:
    """A paragraph and a list for each reason for which keys do nothing."""
    groups: dict[str, list[str]] = {}
    for key in keys:
        prefix = max((p for p in WITHOUT_EFFECT if key.startswith(p)), key=len, default="")
        groups.setdefault(WITHOUT_EFFECT[prefix], []).append(key)
    order = list(dict.fromkeys(WITHOUT_EFFECT.values()))
    return [
        f"**{reason}**\n\n" + "\n".join(f"- `{key}`" for key in groups[reason])
        for reason in sorted(groups, key=order.index)
    ]


def _sections() -> dict[str, list[tuple[str, str, str, str]]]:
    found: dict[str, list[tuple[str, str, str, str]]] = {}
    section = ""
    for line in (ROOT / "penstock" / "common" / "options.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            cells = [cell.strip() for cell in line.split("|")]
            key, kind, default, values = (cells + ["-"] * 4)[:4]
            found.setdefault(section, []).append((key, kind, default, values))
    return found


def _named_in_code() -> set[str]:
    """Keys that some module writes out, as a whole or as a prefix and a rest that it joins."""
    names: set[str] = set()
    for path in (ROOT / "penstock").rglob("*.py"):
        if path.name != "pyflink_api.py":
            names |= _names_in(path.read_text(encoding="utf-8"))
    return names | {f"restart-strategy.{name}" for name in names}


def _names_in(text: str) -> set[str]:
    """
    >>> sorted(_names_in('P = "a.b."; get(P + "c"); get("x.y"); get(f"m.{kind}"); KINDS = {"jm": 1}; MODE = "mode"'))
    ['a.b.c', 'a.b.jm', 'a.b.mode', 'c', 'jm', 'm.c', 'm.jm', 'm.mode', 'mode', 'x.y']
    """
    names = set(re.findall(r"[\"'`]([a-z][\w-]*(?:\.[\w-]+)*)[\"'`]", text))
    prefixes = set(re.findall(r"[\"'`]([a-z][\w-]*(?:\.[\w-]+)*\.)[\"'`{]", text))
    rests = {name for name in names if "." not in name} | set(re.findall(r"\}([a-z][\w.-]*)[\"']", text))
    return names | {prefix + rest for prefix in prefixes for rest in rests}


def _table(rows: list[tuple[str, str, str, str]], meaning: dict[str, str] | None = None) -> str:
    head = "| key | type | default |" + (" meaning |" if meaning else "")
    lines = [head, "| --- | --- | --- |" + (" --- |" if meaning else "")]
    for key, kind, default, values in rows:
        shown = "none" if default == "-" else f"`{default}`"
        told = values.replace(",", ", ") if values != "-" else kind
        lines.append(f"| `{key}` | {told} | {shown} |" + (f" {meaning[key]} |" if meaning else ""))
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")

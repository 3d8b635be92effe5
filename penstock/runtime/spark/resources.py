"""What slot sharing groups ask for (FLIP-53, 156), and whether Spark gives it to every task.

A slot of penstock is a task of Spark, and a task runs subtasks of all stages (`runtime/layout.py`). So the groups of
a job come to one resource profile, that of the application, which has the most that any of them asks for:

    CPU cores                   spark.task.cpus
    heap, off-heap, managed     the memory of an executor with its overhead, divided by the tasks it runs at a time
    external resources          spark.task.resource.<name>.amount

Of a session on a cluster that penstock starts itself it sets what nobody has set. Then it looks at what the session
has, and refuses a job that would get less, with the settings that it lacks.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping

from penstock.common.errors import NotSupportedError
from penstock.graph.transformations import SlotResources

__all__ = ["check_resources", "most_of", "settings_for"]

_MIB = 1 << 20
_LEAST_OVERHEAD_MIB = 384
_OVERHEAD_SHARE = 0.1
_UNITS = {"k": 1 << 10, "m": _MIB, "g": 1 << 30, "t": 1 << 40}


def most_of(groups: Iterable[SlotResources | None]) -> SlotResources | None:
    """The largest of each resource; None if no group asks for any.

    >>> most_of([SlotResources("a", 1.0, 100), None, SlotResources("b", 0.5, 300, (("gpu", 1.0),))])
    SlotResources(group='a, b', cpu_cores=1.0, memory_bytes=300, external=(('gpu', 1.0),))
    """
    found = sorted({group for group in groups if group is not None}, key=lambda group: group.group)
    if not found:
        return None
    external: dict[str, float] = {}
    for name, amount in (pair for group in found for pair in group.external):
        external[name] = max(amount, external.get(name, 0.0))
    return SlotResources(
        ", ".join(dict.fromkeys(group.group for group in found)),
        max(group.cpu_cores for group in found),
        max(group.memory_bytes for group in found),
        tuple(sorted(external.items())),
    )


def settings_for(wanted: SlotResources, options: Mapping[str, str]) -> dict[str, str]:
    """Settings of a session on a cluster, with those that `wanted` needs and nobody has set.

    How many of an external resource an executor has, and how it finds them, is the cluster's business.
    """
    cpus = math.ceil(wanted.cpu_cores)
    settings = dict(options)
    if cpus > 1:
        settings.setdefault("spark.task.cpus", str(cpus))
    tasks = max(
        1, int(settings.get("spark.executor.cores", "1")) // int(settings.get("spark.task.cpus", "1"))
    )
    if wanted.memory_bytes * tasks > _executor_bytes(settings):
        settings.setdefault(
            "spark.executor.memoryOverhead", f"{math.ceil(wanted.memory_bytes * tasks / _MIB)}m"
        )
    for name, amount in wanted.external:
        if f"spark.executor.resource.{name}.amount" in settings:
            settings.setdefault(f"spark.task.resource.{name}.amount", f"{amount:g}")
    return settings


def check_resources(wanted: SlotResources, session: Mapping[str, str], local: bool) -> None:
    """Whether every task of a session gets what the groups ask for.

    Args:
        session: All settings of the session.
        local: Tasks run in this process and its workers, with the memory of this machine.

    Raises:
        NotSupportedError: It gets less.
    """
    cpus = int(session.get("spark.task.cpus", "1"))
    if wanted.cpu_cores > cpus:
        raise _refusal(wanted, f"{wanted.cpu_cores:g} CPU cores", f"a task of this Spark session has {cpus}",
                       f"spark.task.cpus={math.ceil(wanted.cpu_cores)}")  # fmt: skip
    tasks = max(1, int(session.get("spark.executor.cores", "1")) // cpus)
    if local:
        tasks, has = 1, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    else:
        has = _executor_bytes(session)
    if wanted.memory_bytes * tasks > has:
        whose = "this machine" if local else f"an executor, which runs {tasks} at a time,"
        needs = math.ceil(wanted.memory_bytes * tasks / _MIB)
        raise _refusal(wanted, f"{wanted.memory_bytes // _MIB} MB of memory for each task",
                       f"{whose} has {has // _MIB} MB", f"spark.executor.memoryOverhead={needs}m", local)  # fmt: skip
    for name, amount in wanted.external:
        given = float(session.get(f"spark.task.resource.{name}.amount", "0"))
        if amount > given:
            raise _refusal(
                wanted, f"{amount:g} {name}", f"a task of this Spark session has {given:g}",
                f"spark.task.resource.{name}.amount={amount:g} and spark.executor.resource.{name}.amount", local,
            )  # fmt: skip


def _refusal(
    wanted: SlotResources, what: str, because: str, setting: str, only_clusters: bool = False
) -> NotSupportedError:
    do = f"set {setting}, or ask for less"
    if only_clusters:
        do = f"run it on a cluster with {setting}, or ask for less"
    return NotSupportedError(f"slot sharing group {wanted.group} with {what}", because, do=do)


def _executor_bytes(settings: Mapping[str, str]) -> int:
    """What an executor has for its JVM and the Python processes beside it, with Spark's defaults."""
    memory = _bytes(settings.get("spark.executor.memory", "1g"))
    least = max(_LEAST_OVERHEAD_MIB * _MIB, int(_OVERHEAD_SHARE * memory))
    overhead = settings.get("spark.executor.memoryOverhead")
    return memory + (least if overhead is None else _bytes(overhead, _MIB))


def _bytes(text: str, unit: int = 1) -> int:
    """A size as Spark writes it.

    >>> _bytes("512m"), _bytes("2", 1 << 20)
    (536870912, 2097152)
    """
    digits = text.strip().lower().removesuffix("b")
    if digits and digits[-1] in _UNITS:
        return int(digits[:-1]) * _UNITS[digits[-1]]
    return int(digits) * unit

"""The executors of the running Spark application: where tasks run, with how many cores and how much memory.

Spark's own status store knows them, whether or not its web pages are on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.runtime.spark.context import running_context

if TYPE_CHECKING:
    from pyspark import SparkContext

__all__ = ["Executor", "JvmInfo", "executors", "jvm_info", "jvm_threads"]


@dataclass(frozen=True)
class Executor:
    """One process of Spark that runs tasks; on one machine that is the driver itself."""

    id: str
    host: str
    port: int
    cores: int
    active_tasks: int
    memory_bytes: int
    memory_used_bytes: int
    added_ms: int
    logs: dict[str, str]


@dataclass(frozen=True)
class JvmInfo:
    """The driver's JVM."""

    version: str
    arch: str
    options: tuple[str, ...]
    classpath: tuple[str, ...]
    values: dict[str, float]
    """Under Flink's names: Status.JVM.Memory.Heap.Used and so on."""


def _context() -> SparkContext | None:
    """The context, unless it is still on its way up."""
    context = running_context()
    return context if getattr(context, "_jsc", None) is not None else None


def executors() -> list[Executor]:
    """Those that are alive; none if Spark does not run."""
    context = _context()
    if context is None:
        return []
    found = context._jsc.sc().statusStore().executorList(True)
    listed = [_executor(found.apply(i)) for i in range(found.size())]
    workers = [each for each in listed if each.id != "driver"]
    return workers or listed


def _executor(summary: Any) -> Executor:
    host, _, port = summary.hostPort().rpartition(":")
    logs = summary.executorLogs()
    names = logs.keysIterator()
    found = {}
    while names.hasNext():
        name = names.next()
        found[name] = logs.apply(name)
    return Executor(
        summary.id(),
        host,
        int(port) if port.isdigit() else -1,
        summary.totalCores(),
        summary.activeTasks(),
        summary.maxMemory(),
        summary.memoryUsed(),
        summary.addTime().getTime(),
        found,
    )


def jvm_info() -> JvmInfo | None:
    """What the driver's JVM says of itself; None if there is none."""
    context = _context()
    if context is None:
        return None
    factory = context._jvm.java.lang.management.ManagementFactory
    runtime, memory = factory.getRuntimeMXBean(), factory.getMemoryMXBean()
    heap, other = memory.getHeapMemoryUsage(), memory.getNonHeapMemoryUsage()
    values: dict[str, float] = {
        "Status.JVM.Memory.Heap.Used": heap.getUsed(),
        "Status.JVM.Memory.Heap.Committed": heap.getCommitted(),
        "Status.JVM.Memory.Heap.Max": heap.getMax(),
        "Status.JVM.Memory.NonHeap.Used": other.getUsed(),
        "Status.JVM.Memory.NonHeap.Committed": other.getCommitted(),
        "Status.JVM.Memory.NonHeap.Max": other.getMax(),
        "Status.JVM.Threads.Count": factory.getThreadMXBean().getThreadCount(),
        "Status.JVM.ClassLoader.ClassesLoaded": factory.getClassLoadingMXBean().getTotalLoadedClassCount(),
        "Status.JVM.CPU.Load": factory.getOperatingSystemMXBean().getSystemLoadAverage(),
    }
    for collector in factory.getGarbageCollectorMXBeans():
        name = collector.getName().replace(" ", "_")
        values[f"Status.JVM.GarbageCollector.{name}.Count"] = collector.getCollectionCount()
        values[f"Status.JVM.GarbageCollector.{name}.Time"] = collector.getCollectionTime()
    system = context._jvm.java.lang.System
    return JvmInfo(
        f"{runtime.getVmName()} - {runtime.getVmVendor()} - {runtime.getVmVersion()}",
        system.getProperty("os.arch"),
        tuple(runtime.getInputArguments()),
        tuple(str(runtime.getClassPath()).split(":")),
        values,
    )


def jvm_threads() -> list[tuple[str, str]]:
    """Name and stack of each thread of the driver's JVM."""
    context = _context()
    if context is None:
        return []
    found = context._jvm.java.lang.management.ManagementFactory.getThreadMXBean().dumpAllThreads(True, True)
    return [(info.getThreadName(), info.toString()) for info in found if info is not None]

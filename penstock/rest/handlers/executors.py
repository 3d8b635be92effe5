"""TaskManagers, which are Spark's executors, and the JobManager, which is the driver: memory, threads, logs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
import traceback
from typing import Any

from penstock.common.secrets import masked
from penstock.rest.context import ServerContext
from penstock.rest.handlers.slots import free_slots
from penstock.rest.messages import Answer, Request, RestError, not_found
from penstock.rest.views import metrics as m
from penstock.runtime.history import now_ms
from penstock.runtime.spark.executors import Executor, executors, jvm_info, jvm_threads

_KEPT_SECONDS = 2.0
_MEBI = 1 << 20
_LOG_BYTES = 4 * _MEBI
_known: tuple[float, list[Executor]] = (0.0, [])


def known_executors() -> list[Executor]:
    """Asked for again after some seconds only: each answer is a dozen calls to the JVM."""
    global _known
    moment, found = _known
    if time.monotonic() - moment > _KEPT_SECONDS:
        found = executors()
        _known = (time.monotonic(), found)
    return found


def taskmanagers(context: ServerContext, request: Request) -> Answer:
    free = _free(context)
    return Answer({"taskmanagers": [_executor(each, free.get(each.id, 0)) for each in known_executors()]})


def _free(context: ServerContext) -> dict[str, int]:
    """Slots that no job holds, by executor."""
    return free_slots(known_executors(), context.directory.overviews(running_only=True))


def _executor(each: Executor, slots_left: int) -> dict[str, Any]:
    total = {
        "cpuCores": float(each.cores),
        "taskHeapMemory": each.memory_bytes // _MEBI,
        "taskOffHeapMemory": 0,
        "managedMemory": 0,
        "networkMemory": 0,
        "extendedResources": {},
    }
    free = {
        **total,
        "cpuCores": float(slots_left),
        "taskHeapMemory": max(0, each.memory_bytes - each.memory_used_bytes) // _MEBI,
    }
    return {
        "id": each.id,
        "path": f"spark://{each.host}:{each.port}/executor/{each.id}",
        "dataPort": each.port,
        "jmxPort": -1,
        "timeSinceLastHeartbeat": now_ms(),
        "slotsNumber": each.cores,
        "freeSlots": slots_left,
        "assignedTasks": each.active_tasks,
        "totalResource": total,
        "freeResource": free,
        "hardware": _hardware(each),
        "memoryConfiguration": {
            "frameworkHeap": 0,
            "taskHeap": each.memory_bytes,
            "frameworkOffHeap": 0,
            "taskOffHeap": 0,
            "networkMemory": 0,
            "managedMemory": 0,
            "jvmMetaspace": 0,
            "jvmOverhead": 0,
            "totalFlinkMemory": each.memory_bytes,
            "totalProcessMemory": each.memory_bytes,
        },
    }


def _hardware(each: Executor) -> dict[str, int]:
    """Of the machine, where that is this one."""
    local = each.id == "driver"
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if local else 0
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES") if local else 0
    return {"cpuCores": each.cores, "physicalMemory": physical, "freeMemory": free, "managedMemory": 0}


def _find(request: Request) -> Executor:
    wanted = request.parameters["taskmanagerid"]
    for each in known_executors():
        if wanted in (each.id, each.host):
            return each
    raise not_found(f"Could not find TaskExecutor {wanted}")


def taskmanager(context: ServerContext, request: Request) -> Answer:
    each = _find(request)
    values = _executor_metrics(each)
    return Answer(
        {
            **_executor(each, _free(context).get(each.id, 0)),
            "allocatedSlots": [
                {"jobId": port.job_id, "resource": {}, "assignedTasks": 0}
                for port in context.directory.running()
            ],
            "metrics": {
                "heapUsed": int(values.get("Status.JVM.Memory.Heap.Used", 0)),
                "heapCommitted": int(values.get("Status.JVM.Memory.Heap.Committed", 0)),
                "heapMax": int(values.get("Status.JVM.Memory.Heap.Max", 0)),
                "nonHeapUsed": int(values.get("Status.JVM.Memory.NonHeap.Used", 0)),
                "nonHeapCommitted": int(values.get("Status.JVM.Memory.NonHeap.Committed", 0)),
                "nonHeapMax": int(values.get("Status.JVM.Memory.NonHeap.Max", 0)),
                **dict.fromkeys(_UNKNOWN_BUFFERS, 0),
                "garbageCollectors": _collectors(values),
            },
        }
    )


_UNKNOWN_BUFFERS = (
    "directCount", "directUsed", "directMax", "mappedCount", "mappedUsed", "mappedMax",
    "nettyShuffleMemorySegmentsAvailable", "nettyShuffleMemorySegmentsUsed", "nettyShuffleMemorySegmentsTotal",
    "nettyShuffleMemoryAvailable", "nettyShuffleMemoryUsed", "nettyShuffleMemoryTotal",
)  # fmt: skip


def _collectors(values: dict[str, Any]) -> list[dict[str, Any]]:
    prefix = "Status.JVM.GarbageCollector."
    names = sorted({key[len(prefix) :].rpartition(".")[0] for key in values if key.startswith(prefix)})
    return [
        {"name": n, "count": int(values[f"{prefix}{n}.Count"]), "time": int(values[f"{prefix}{n}.Time"])}
        for n in names
    ]


def _executor_metrics(each: Executor) -> dict[str, Any]:
    """Of the driver everything that its JVM tells, of others what Spark knows about them."""
    own = {
        "Status.Flink.Memory.Managed.Used": 0,
        "Status.Flink.Memory.Managed.Total": 0,
        "Status.Spark.Memory.Storage.Used": each.memory_used_bytes,
        "Status.Spark.Memory.Storage.Total": each.memory_bytes,
        "Status.Spark.Tasks.Active": each.active_tasks,
    }
    info = jvm_info() if each.id == "driver" else None
    return {**own, **(info.values if info else {})}


def taskmanager_metrics(context: ServerContext, request: Request) -> Answer:
    return Answer(m.listed(_executor_metrics(_find(request)), request.several("get")))


def all_taskmanager_metrics(context: ServerContext, request: Request) -> Answer:
    wanted = request.several("taskmanagers")
    chosen = [each for each in known_executors() if wanted is None or each.id in wanted]
    values = [_executor_metrics(each) for each in chosen]
    return Answer(m.aggregated(values, request.several("get"), aggregations(request)))


def aggregations(request: Request) -> list[str] | None:
    kinds = request.several("agg")
    for kind in kinds or ():
        if kind.lower() not in m.AGGREGATIONS:
            raise RestError(
                400,
                "Bad request, could not parse parameters: Cannot resolve query parameter (agg) from value "
                f'"{kind}".',
            )
    return [kind.lower() for kind in kinds] if kinds else None


def jobmanager_metrics(context: ServerContext, request: Request) -> Answer:
    info = jvm_info()
    found = known_executors()
    values = {
        **(info.values if info else {}),
        "numRunningJobs": len(context.directory.running()),
        "numRegisteredTaskManagers": len(found),
        "taskSlotsTotal": sum(each.cores for each in found),
        "taskSlotsAvailable": sum(_free(context).values()),
        "Status.Python.Threads.Count": threading.active_count(),
    }
    return Answer(m.listed(values, request.several("get")))


def jobmanager_config(context: ServerContext, request: Request) -> Answer:
    shown = masked(context.configuration.to_dict())
    return Answer([{"key": key, "value": value} for key, value in sorted(shown.items())])


def jobmanager_environment(context: ServerContext, request: Request) -> Answer:
    info = jvm_info()
    if info is None:
        return Answer({"jvm": {"version": f"Python {sys.version.split()[0]}", "arch": os.uname().machine,
                               "options": []}, "classpath": []})  # fmt: skip
    options = [f"{name}={masked({name: value})[name]}" if eq else name
               for name, eq, value in (o.partition("=") for o in info.options)]  # fmt: skip
    jvm = {"version": info.version, "arch": info.arch, "options": options}
    return Answer({"jvm": jvm, "classpath": list(info.classpath)})


def jobmanager_threads(context: ServerContext, request: Request) -> Answer:
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    infos = [
        {
            "threadName": f"python {names.get(ident, ident)}",
            "stringifiedThreadInfo": "".join(traceback.format_stack(frame)),
        }
        for ident, frame in sys._current_frames().items()
    ]
    infos += [{"threadName": name, "stringifiedThreadInfo": text} for name, text in jvm_threads()]
    return Answer({"threadInfos": infos})


def taskmanager_threads(context: ServerContext, request: Request) -> Answer:
    """Stacks of the Python workers, by py-spy where it is installed; then the JVM's, where it is this machine's."""
    each = _find(request)
    infos = [
        {"threadName": f"python worker {pid}", "stringifiedThreadInfo": stack_of(pid)}
        for pid in sorted(_worker_pids(context))
    ]
    if each.id == "driver":
        infos += [{"threadName": name, "stringifiedThreadInfo": text} for name, text in jvm_threads()]
    return Answer({"threadInfos": infos})


def _worker_pids(context: ServerContext) -> set[int]:
    from penstock.rest.ports import LocalJob

    host = os.uname().nodename
    local = [port for port in context.directory.running() if isinstance(port, LocalJob)]
    places = {place for port in local for place in port.job.statistics.workers.values()}
    return {pid for name, pid in places if name == host and pid and pid != os.getpid()}


def stack_of(pid: int) -> str:
    """What a Python process of this machine is doing."""
    tool = shutil.which("py-spy", path=f"{os.path.dirname(sys.executable)}:{os.environ.get('PATH', '')}")
    if tool is None:
        return "stacks of Python workers need py-spy: pip install py-spy"
    try:
        done = subprocess.run([tool, "dump", "--pid", str(pid)], capture_output=True, text=True, timeout=10)
    except subprocess.TimeoutExpired:
        return f"py-spy had no answer from process {pid} after 10 seconds"
    return done.stdout or done.stderr


def jobmanager_logs(context: ServerContext, request: Request) -> Answer:
    assert context.log_dir is not None or not context.log_files
    found = [(name, os.stat(os.path.join(context.log_dir or "", name))) for name in context.log_files]
    return Answer(
        {"logs": [{"name": n, "size": s.st_size, "mtime": int(s.st_mtime * 1000)} for n, s in found]}
    )


def jobmanager_log(context: ServerContext, request: Request) -> Answer:
    """A log file as text, the last part of it if it is long. Only names that are listed can be asked for."""
    wanted = request.parameters.get("logfile")
    names = context.log_files
    if wanted is None:
        wanted = next((name for name in names if name.endswith(".log")), "")
    if wanted not in names:
        raise not_found(f"This file does not exist in JobManager log dir: {wanted or '(no log file)'}.")
    with open(os.path.join(context.log_dir or "", wanted), "rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - _LOG_BYTES))
        return Answer(content=file.read(), content_type="text/plain; charset=UTF-8")


def taskmanager_logs(context: ServerContext, request: Request) -> Answer:
    """Spark keeps the logs of executors; on one machine they are the driver's."""
    each = _find(request)
    if each.id == "driver":
        return jobmanager_logs(context, request)
    return Answer({"logs": [{"name": name, "size": -1, "mtime": each.added_ms} for name in each.logs]})


def taskmanager_log_url(context: ServerContext, request: Request) -> Answer:
    each = _find(request)
    url = each.logs.get("stdout") or f"{request.base}/taskmanagers/{each.id}/logs"
    return Answer({"url": url})


def jobmanager_log_url(context: ServerContext, request: Request) -> Answer:
    return Answer({"url": f"{request.base}/#/job-manager/logs"})

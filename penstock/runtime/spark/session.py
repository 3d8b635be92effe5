"""The one SparkSession: the user's where there is one, else ours.

A session that penstock creates is quiet (no log lines, no progress bars), gives tasks this Python, and talks
to Python workers over Unix sockets: over TCP each hand-over waits for a delayed acknowledgement, which on
the 2-core test machine made an epoch with one exchange take 197 ms instead of 127 ms.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from penstock.runtime.spark.java import prepare_java
from penstock.runtime.spark.jit import spare_optimizer
from penstock.runtime.spark.quiet import filtered_stderr, log4j_configuration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.maxResultSize": "0",
    "spark.python.worker.reuse": "true",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.shuffle.partitions": "8",
    "spark.scheduler.mode": "FAIR",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.cleaner.periodicGC.interval": "5min",
}


def get_spark(options: Mapping[str, str] | None = None) -> SparkSession:
    """The active session of this process, or a new local one.

    Args:
        options: `spark.*` settings for a session that has to be created. Where one runs already, only its
            runtime SQL settings could still change, so they are left alone.
    """
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    prepare_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {**_DEFAULTS, "spark.driver.memory": _default_memory(), **(options or {})}
    settings.setdefault("spark.master", os.environ.get("PENSTOCK_MASTER", f"local[{os.cpu_count() or 2},4]"))
    settings.setdefault(
        "spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={log4j_configuration()}"
    )
    builder = SparkSession.builder.appName("penstock")
    for key, value in settings.items():
        builder = builder.config(key, value)
    with filtered_stderr():
        session = builder.getOrCreate()
    spare_optimizer(session.sparkContext)
    return session


def _default_memory() -> str:
    """A quarter of the machine, between 1 and 8 GiB: Python workers and LMDB's page cache need the rest."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{max(1, min(8, total // 2**30 // 4))}g"

"""The one SparkSession: the user's where there is one, else ours.

A session that penstock creates is quiet (no log lines, no progress bars), gives tasks this Python, and talks
to Python workers over Unix sockets: over TCP each hand-over waits for a delayed acknowledgement, which on
the 2-core test machine made an epoch with one exchange take 197 ms instead of 127 ms.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

from penstock.runtime.spark.interrupts import context_of
from penstock.runtime.spark.java import prepare_java
from penstock.runtime.spark.jit import spare_optimizer
from penstock.runtime.spark.launch import JvmLaunch, launch
from penstock.runtime.spark.quiet import filtered_stderr, log4j_configuration, quiet_loggers
from penstock.runtime.spark.worker_python import fit_workers

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

    Raises:
        MissingDependencyError: The session is the program's own, and its workers cannot run our functions.
    """
    global _early
    quiet_loggers()
    early, _early = _early, None
    active = _active_session()
    if active is None and early is not None and early.fits(options or {}):
        return early.session()
    if early is not None:
        early.abandon()
    if active is None:
        return StartingSession(options or {}).session()
    fit_workers(active.sparkContext)
    return active


def start_early(options: Mapping[str, str]) -> None:
    """Lets a JVM come up for a session that the program will surely ask for, with these options.

    If it asks for another one, or has changed what a JVM and its workers inherit (variables, the working directory),
    or brings its own session, the JVM is given up.
    """
    global _early
    if _early is None and _active_session() is None:
        _early = StartingSession(options)


class StartingSession:
    """A new session whose JVM is on its way; what is imported or planned in the meantime costs no time.

    Args:
        options: `spark.*` settings.
        stderr: Where the JVM's complaints, and what functions print in workers, go.
    """

    def __init__(self, options: Mapping[str, str], stderr: int = 2) -> None:
        java = prepare_java()
        if "spark.pyspark.python" not in options:
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        self._settings = _settings(options)
        self._stderr = stderr
        self._launched = launch(self._settings, java, stderr)
        self._inherited = _inherited()

    def fits(self, options: Mapping[str, str]) -> bool:
        """Whether a session that is started now would be the same."""
        return self._settings == _settings(options) and self._inherited == _inherited()

    def abandon(self) -> None:
        """Ends the JVM; nobody has seen it."""
        if self._launched is not None:
            self._launched.abandon()

    def session(self) -> SparkSession:
        """The session, when it is there; where the program has made one meanwhile, that one."""
        from pyspark import SparkConf, SparkContext
        from pyspark.sql import SparkSession

        has_jvm = self._launched is not None and _adopt(self._launched)
        builder = SparkSession.builder.appName("penstock")
        for key, value in self._settings.items():
            builder = builder.config(key, value)
        with contextlib.nullcontext() if has_jvm else filtered_stderr(self._stderr):
            context_of(
                lambda: SparkContext.getOrCreate(
                    SparkConf().setAppName("penstock").setAll(list(self._settings.items()))
                )
            )
            session = builder.getOrCreate()
        spare_optimizer(session.sparkContext)
        fit_workers(session.sparkContext)
        return session


_early: StartingSession | None = None


def _inherited() -> tuple[dict[str, str], str]:
    return dict(os.environ), os.getcwd()


def _active_session() -> SparkSession | None:
    if "pyspark.sql" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def _settings(options: Mapping[str, str]) -> dict[str, str]:
    """The settings of a session of ours: defaults under what was asked for."""
    settings = {**_DEFAULTS, "spark.driver.memory": _default_memory(), **options}
    settings.setdefault("spark.master", os.environ.get("PENSTOCK_MASTER", f"local[{os.cpu_count() or 2},4]"))
    settings.setdefault(
        "spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={log4j_configuration()}"
    )
    if settings["spark.master"].startswith("local"):  # elsewhere penstock may come with the job's files
        settings.setdefault("spark.python.daemon.module", "penstock.runtime.spark.daemon")
    elif "spark.executor.cores" in settings:
        # Else a JVM outside of a container has threads to compile and collect garbage for all cores of its host.
        # Under what users and spark-defaults.conf say in `extraJavaOptions`.
        settings.setdefault(
            "spark.executor.defaultJavaOptions",
            f"-XX:ActiveProcessorCount={settings['spark.executor.cores']}",
        )
    return settings


def _adopt(launched: JvmLaunch) -> bool:
    """Makes the JVM the one that PySpark talks to; if it did not come up, PySpark starts one and tells why."""
    from pyspark import SparkContext

    gateway = launched.connect()
    if gateway is not None:
        SparkContext._ensure_initialized(gateway=gateway)
    return gateway is not None


def _default_memory() -> str:
    """A quarter of the machine, between 1 and 8 GiB: Python workers and LMDB's page cache need the rest."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{max(1, min(8, total // 2**30 // 4))}g"

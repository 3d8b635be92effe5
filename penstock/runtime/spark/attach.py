"""Joining the Spark application of another process: its JVM, its context, its executors, a SQL session of one's own.

PySpark is a client of a JVM, and a JVM can have several. The one that made the application says where it listens
(`gateway_of`), and others become its clients with `attach`. What they must not do is end the application or cancel
the jobs of others; both are what PySpark does on `stop()` and on Ctrl-C.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

__all__ = ["attach", "cancel_jobs", "gateway_of"]


def gateway_of(context: SparkContext) -> tuple[int, str]:
    """Where the JVM listens, and the secret that it wants to hear. Whoever has both can run anything there."""
    parameters = context._gateway.gateway_parameters
    return int(parameters.port), str(parameters.auth_token)


def attach(port: int, secret: str) -> SparkSession:
    """A new SQL session in the application whose JVM listens there; it becomes the session of this process."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    os.environ.update(PYSPARK_GATEWAY_PORT=str(port), PYSPARK_GATEWAY_SECRET=secret)
    try:
        gateway = launch_gateway()
    finally:
        del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
    SparkContext._ensure_initialized(gateway=gateway)
    jvm = SparkContext._jvm
    running = jvm.org.apache.spark.SparkContext.getOrCreate()
    shared = jvm.JavaSparkContext(running)
    with _handlers_kept():
        context = SparkContext(gateway=gateway, jsc=shared, conf=SparkConf(_jconf=running.conf()))
    _make_harmless(context)
    java_session = jvm.org.apache.spark.sql.classic.SparkSession.builder().sparkContext(running).getOrCreate()
    return SparkSession(context, java_session.newSession())


def _make_harmless(context: Any) -> None:
    """The application belongs to another process: it is not ended here, nor are jobs of others."""
    context.stop = lambda: None
    context.cancelAllJobs = lambda: None


@contextlib.contextmanager
def _handlers_kept() -> Any:
    """PySpark's handler of Ctrl-C would cancel the jobs of all."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def cancel_jobs(context: SparkContext, job_id: str) -> None:
    """Cancels what runs on Spark for a job whose process has gone."""
    context.cancelJobGroup(job_id)

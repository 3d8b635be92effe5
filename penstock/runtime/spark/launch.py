"""Starts Spark's JVM without waiting for it, so that Python can import what it needs in the meantime.

PySpark's own way is a shell script, a JVM that prints a command line, and then the JVM; and Python waits. Here the
command line is remembered (`launch_command.py`), classes come from an archive (`class_archive.py`), and the process
is known before it answers. Whatever is unusual (a spark-env.sh, arguments in PYSPARK_SUBMIT_ARGS, a gateway that is
there already, a JVM that does not come up) is left to PySpark.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from typing import Any

from penstock.runtime.spark.class_archive import archive_options
from penstock.runtime.spark.launch_command import spark_command, spark_environment, spark_home
from penstock.runtime.spark.quiet import noise_filter

__all__ = ["JvmLaunch", "launch"]

_PYSPARKS_OWN = ("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_REMOTE", "SPARK_TESTING")
_POLL_SECONDS = 0.02


class JvmLaunch:
    """A JVM on its way: a process, and a file in which it will say where it listens."""

    def __init__(self, process: subprocess.Popen[bytes], folder: str) -> None:
        self._process = process
        self._folder = folder

    def connect(self) -> Any | None:
        """PySpark's gateway to the JVM, when that is ready; None if it did not come up."""
        from pyspark.java_gateway import launch_gateway
        from pyspark.serializers import UTF8Deserializer, read_int

        path = os.path.join(self._folder, "connection")
        try:
            while self._process.poll() is None and not os.path.isfile(path):
                time.sleep(_POLL_SECONDS)
            if not os.path.isfile(path):
                return None
            with open(path, "rb") as file:
                port, secret = read_int(file), UTF8Deserializer().loads(file)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)
        os.environ.update(PYSPARK_GATEWAY_PORT=str(port), PYSPARK_GATEWAY_SECRET=secret)
        try:
            gateway = launch_gateway()
        finally:
            del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
        gateway.proc = self._process  # its stdin is open for as long as this process lives; then the JVM ends
        return gateway

    def abandon(self) -> None:
        """Ends the process, which has no session yet."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def launch(settings: Mapping[str, str], java: str, stderr: int = 2) -> JvmLaunch | None:
    """Starts a JVM for a session with these settings; None where PySpark has to do it.

    Args:
        settings: `spark.*` of the session.
        java: Java's folder.
        stderr: Where the JVM's complaints go, without the usual noise.
    """
    home = spark_home()
    if home is None or any(name in os.environ for name in _PYSPARKS_OWN) or _has_gateway():
        return None
    command = spark_command(home, java, settings)
    if command is None:
        return None
    folder = tempfile.mkdtemp()
    environment = {
        **spark_environment(home),
        "_PYSPARK_DRIVER_CONN_INFO_PATH": os.path.join(folder, "connection"),
    }
    words = [command[0], *archive_options(command, java), *command[1:]]
    filtered = noise_filter(stderr)
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stderr=filtered,
            env=environment,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),  # Ctrl-C is for this process
        )
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        return None
    finally:
        os.close(filtered)
    return JvmLaunch(process, folder)


def _has_gateway() -> bool:
    module = sys.modules.get("pyspark.core.context")
    return module is not None and module.SparkContext._gateway is not None

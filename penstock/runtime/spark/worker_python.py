"""Which Python runs a session's workers: the program's own, unless somebody chose another one that fits.

PySpark starts workers with `PYSPARK_PYTHON`, or else with whatever `python3` is on the path, which often is not the
Python of the program (a virtual environment that was not activated, a notebook). penstock sets it in sessions
that it makes. A session of the program's own is looked at before it runs anything of ours:

    nobody chose                      local: workers get the program's Python; on a cluster `python3` of the hosts
    spark.pyspark.python              is used; PySpark itself reads it only under spark-submit
    PYSPARK_PYTHON, and it differs    it is asked for its version and for penstock, and refused if they do not fit
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from penstock.common.errors import MissingDependencyError

if TYPE_CHECKING:
    from pyspark import SparkContext

__all__ = ["fit_workers", "refuse_version"]

_QUESTION = "import sys; print('%d.%d' % sys.version_info[:2]); import penstock.runtime.worker"
_PATIENCE_SECONDS = 60


def fit_workers(context: SparkContext) -> None:
    """Gives the workers of a session a Python that can run what the program sends.

    Raises:
        MissingDependencyError: The Python that somebody chose cannot.
    """
    chosen = context.getConf().get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON")
    local = context.master.startswith("local")
    if chosen is None:
        if local and context.pythonExec != sys.executable:
            context.pythonExec = sys.executable
        return
    context.pythonExec = chosen
    if local:
        _check(chosen)


@functools.cache
def _check(executable: str) -> None:
    """Asked once: a Python that fits goes on to fit."""
    found = shutil.which(executable)
    if found is None:
        raise _unfit(f"workers are to run '{executable}', and there is no such program")
    if os.path.abspath(found) == os.path.abspath(sys.executable):
        return
    answer = subprocess.run(
        [found, "-c", _QUESTION],
        capture_output=True,
        text=True,
        timeout=_PATIENCE_SECONDS,
    )
    version = answer.stdout.strip()
    if version != _own_version():
        raise _unfit(
            f"workers are to run Python {version or '(unknown)'}, the program runs {_own_version()}", found
        )
    if answer.returncode != 0:
        reason = (answer.stderr.strip().splitlines() or ["it does not say why"])[-1]
        raise _unfit(f"the Python of the workers cannot run penstock: {reason}", found)


def _own_version() -> str:
    return "{}.{}".format(*sys.version_info[:2])


def refuse_version(error: Exception) -> None:
    """Says what to do where PySpark found another Python on the executors of a cluster."""
    if "PYTHON_VERSION_MISMATCH" in str(error):
        raise _unfit(f"executors do not run Python {_own_version()}, which the program runs") from error


def _unfit(what: str, found: str | None = None) -> MissingDependencyError:
    return MissingDependencyError(
        what,
        where=f"{found or 'the SparkSession'} (PYSPARK_PYTHON or spark.pyspark.python)",
        do="run workers with the program's Python; before the session is made:\n"
        'import os, sys; os.environ["PYSPARK_PYTHON"] = sys.executable\n'
        "(on a cluster: the path of such a Python on its hosts, docs/cluster.md)",
    )

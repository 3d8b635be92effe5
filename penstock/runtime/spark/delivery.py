"""Brings penstock to executors that do not have it, or have another version.

An executor imports penstock in its Python workers. On a cluster nobody may have installed it there, so a job looks
first: a small Spark job asks the workers which version they have. Where one has none, or not the driver's, penstock's
own files go with the program's, as an archive that Spark puts first on the workers' path. What penstock needs
(pyarrow, lmdb, msgspec …) has compiled parts and cannot be sent like that: it has to be installed, or be in the
environment that `spark.archives` brings.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import zipfile
from typing import TYPE_CHECKING, Any

import penstock
from penstock.common.errors import MissingDependencyError
from penstock.runtime.spark.worker_python import refuse_version

if TYPE_CHECKING:
    from pyspark import SparkContext

_PROBE = '''
def probe(_):
    """The version of penstock here, or None; and what it needs and cannot be imported."""
    import importlib
    missing = []
    for name in ("pyarrow", "lmdb", "msgspec", "xxhash", "zstandard"):
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    try:
        return importlib.import_module("penstock").__version__, missing
    except ImportError:
        return None, missing
'''
_delivered: set[str] = set()
"""Applications whose executors have penstock."""


def deliver(context: SparkContext) -> None:
    """Makes sure that workers can import this penstock; on a local master they are as the driver is.

    Raises:
        MissingDependencyError: A package that penstock needs is not installed where executors run.
    """
    application = str(context.applicationId)
    if context.master.startswith("local[") or context.master == "local" or application in _delivered:
        return
    versions, missing = _ask(context)
    if missing:
        raise MissingDependencyError(
            f"executors of {context.master} have no {', '.join(sorted(missing))}",
            do="install penstock on the cluster's hosts, or pack an environment that has it and set spark.archives\n"
            "and spark.pyspark.python (docs/cluster.md)",
        )
    if versions != {penstock.__version__}:
        context.addPyFile(archive())
    _delivered.add(application)


def archive() -> str:
    """A zip of penstock's package, in a folder of its own, which goes when the program ends."""
    package = os.path.dirname(os.path.abspath(penstock.__file__))
    place = tempfile.mkdtemp(prefix="penstock-delivery-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    path = os.path.join(place, "penstock.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for folder, _, names in os.walk(package):
            for name in names:
                if not name.endswith(".pyc"):
                    file = os.path.join(folder, name)
                    packed.write(file, os.path.relpath(file, os.path.dirname(package)))
    return path


def _ask(context: SparkContext) -> tuple[set[str | None], set[str]]:
    """The versions that workers have, and the packages that some lack."""
    # Made from text, so that it travels by value: a function of ours would be looked up in penstock.
    namespace: dict[str, Any] = {"__name__": "penstock_probe"}
    exec(_PROBE, namespace)
    tasks = max(2, context.defaultParallelism)
    try:
        told = context.parallelize(range(tasks), tasks).map(namespace["probe"]).collect()
    except Exception as error:
        refuse_version(error)
        raise
    return {version for version, _ in told}, {name for _, names in told for name in names}

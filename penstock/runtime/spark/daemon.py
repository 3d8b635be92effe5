"""The process that Spark forks its Python workers from, with everything imported that a worker needs.

Imports take 0.8 s of CPU time (penstock, pyarrow, numpy, and pandas, which pyarrow looks for at its first array). In
PySpark's daemon each worker pays for them after the fork; here they are paid for once. What was imported is then put
out of the garbage collector's sight: it never becomes garbage, a collection after each task looks at the task's
objects only, and workers share its memory. Who needs workers first may name more modules (`workers.want_imports`).

Penstock names this module in the settings of a local session of its own (`session.py`); a user's session keeps
PySpark's.
"""

from __future__ import annotations

import gc
import importlib
import os

from pyspark.daemon import manager

from penstock.runtime.spark.workers import MORE_IMPORTS

__all__ = ["prepare"]

_NEEDED = ("pandas", "pyarrow.compute", "penstock.runtime.spark.acts", "penstock.runtime.tables.delta")


def prepare() -> None:
    """Imports what workers need; what cannot be imported here is told by the worker that needs it."""
    for name in (*_NEEDED, *os.environ.get(MORE_IMPORTS, "").split()):
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    prepare()
    manager()

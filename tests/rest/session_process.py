"""A session in a process of its own, for tests that look at the process: session_process.py FOLDER [spark]."""

from __future__ import annotations

import sys

from penstock.common.configuration import Configuration
from penstock.rest.session.cluster import Session
from penstock.rest.session.spark import forget_spark_jobs, start_spark

if __name__ == "__main__":
    settings = {"rest.port": "0", "web.submit.enable": "true", "parallelism.default": "1"}
    starts = start_spark if "spark" in sys.argv[2:] else None
    session = Session(Configuration.from_dict(settings), sys.argv[1], starts, forget_spark_jobs).start()
    session.end_on_signals()
    session.wait()

"""A session in a process of its own, for tests that look at the process: session_process.py FOLDER [spark] [sql].

With `sql` it has a gateway, whose streaming jobs run in its process without Spark.
"""

from __future__ import annotations

import sys

from penstock.common.configuration import Configuration
from penstock.gateway import GatewayService, gateway_routes
from penstock.rest.session.cluster import Session
from penstock.rest.session.spark import forget_spark_jobs, start_spark
from penstock.runtime.in_process import InProcessEpochs
from penstock.sql.streaming import jobs

if __name__ == "__main__":
    settings = {"rest.port": "0", "web.submit.enable": "true", "parallelism.default": "1"}
    folder, *words = sys.argv[1:]
    starts = start_spark if "spark" in words else None
    gateway = GatewayService({}, prepare=lambda: None)
    jobs.make_runner = InProcessEpochs if "sql" in words else None
    session = Session(
        Configuration.from_dict(settings),
        folder,
        starts,
        forget_spark_jobs,
        gateway_routes(gateway) if "sql" in words else (),
        gateway.close,
    ).start()
    session.end_on_signals()
    session.wait()

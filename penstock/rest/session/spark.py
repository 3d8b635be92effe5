"""The Spark application of a session."""

from __future__ import annotations

from penstock.common.configuration import Configuration
from penstock.runtime.spark.attach import cancel_jobs, gateway_of
from penstock.runtime.spark.context import running_context
from penstock.runtime.spark.session import get_spark

__all__ = ["forget_spark_jobs", "start_spark"]


def start_spark(configuration: Configuration) -> tuple[int, str]:
    """Starts the application with the `spark.*` settings; tells where its JVM listens, and the secret."""
    options = {key: value for key, value in configuration.to_dict().items() if key.startswith("spark.")}
    return gateway_of(get_spark(options).sparkContext)


def forget_spark_jobs(job_id: str) -> None:
    context = running_context()
    if context is not None:
        cancel_jobs(context, job_id)

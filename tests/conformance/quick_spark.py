"""A Spark session for many queries over few rows."""

from __future__ import annotations

from typing import Any


def start_quick_spark(tiny: bool) -> Any:
    """The session that all cases share, started outside of any case's time.

    A case's queries run once over few rows: what the optimising compiler would spend on them is never earned
    back, so the JVM only has the quick one. That halves its CPU time. With `tiny`, relations that Spark makes
    itself have one partition.
    """
    from penstock.runtime.spark.quiet import log4j_configuration
    from penstock.runtime.spark.session import get_spark

    java = f"-Dlog4j2.configurationFile={log4j_configuration()} -XX:TieredStopAtLevel=1"
    options = {"spark.driver.extraJavaOptions": java}
    if tiny:
        options.update({"spark.sql.leafNodeDefaultParallelism": "1", "spark.sql.shuffle.partitions": "1"})
    session = get_spark(options)
    session.range(1).count()
    return session

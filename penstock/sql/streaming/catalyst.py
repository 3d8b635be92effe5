"""What a Spark session must be like for the texts of linear SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.runtime.spark.optimizer import SKIP_INPUT, exclude_rules


class SessionSettings:
    """Readies sessions for the texts of one environment; `config` is read when a job starts."""

    def __init__(self, config: Mapping[str, str]) -> None:
        self._config = config

    def __call__(self, session: Any, text: str) -> None:
        from penstock.sql.functions import register_required
        from penstock.sql.functions.text import SPARK_CONF

        for key, value in {**SPARK_CONF, "spark.sql.caseSensitive": "true"}.items():
            session.conf.set(key, value)
        # A condition that is never true must not keep Spark from running what is below it: sources have to move on.
        exclude_rules(session, SKIP_INPUT)
        zone = self._config.get("table.local-time-zone", "default")
        if zone != "default":
            session.conf.set("spark.sql.session.timeZone", zone)
        register_required(session, text)

"""The options of `postgres-cdc` tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.connectors.cdc.options import SHARED_OPTIONS, skipped_operations
from penstock.connectors.option_values import at_least, millis
from penstock.formats.base import Option, boolean, one_of

STARTUP_MODES = ("initial", "latest-offset", "committed-offset", "snapshot")

OPTIONS = (
    *SHARED_OPTIONS,
    Option("schema-name", required=True),
    Option("port", at_least(1), 5432),
    Option("slot.name", required=True),
    Option("decoding.plugin.name", str, "pgoutput"),
    Option("changelog-mode", one_of("all", "upsert"), "all"),
    Option("scan.startup.mode", one_of(*STARTUP_MODES), "initial"),
    Option("scan.lsn-commit.checkpoints-num-delay", at_least(0), 3),
    Option("scan.include-partitioned-tables.enabled", boolean, False),
    Option("heartbeat.interval.ms", millis, 30_000),
)
"""`heartbeat.interval.ms` has nothing to do: a slot moves on with every epoch, also if none of its tables changed."""

DEBEZIUM_OPTIONS = {
    "publication.name": Option("publication.name", str, "dbz_publication"),
    "publication.autocreate.mode": Option(
        "publication.autocreate.mode", one_of("filtered", "all_tables", "disabled"), "filtered"
    ),
    "slot.drop.on.stop": Option("slot.drop.on.stop", boolean, False),
    "skipped.operations": Option("skipped.operations", skipped_operations, frozenset("t")),
    "database.sslmode": Option(
        "database.sslmode", one_of("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
    ),
    "database.sslrootcert": Option("database.sslrootcert"),
    "database.sslcert": Option("database.sslcert"),
    "database.sslkey": Option("database.sslkey"),
}


def check(values: Mapping[str, Any], where: str) -> None:
    """Refuses what no server would take, or what would need another plug-in."""
    plugin = values["decoding.plugin.name"]
    if plugin != "pgoutput":
        raise NotSupportedError(
            f"'decoding.plugin.name' = '{plugin}'",
            "changes are read with pgoutput, which every PostgreSQL since 10 has",
            where=where,
            do="set 'decoding.plugin.name' = 'pgoutput', and use a slot of that plug-in",
        )
    slot = values["slot.name"]
    if not slot or len(slot) > 63 or not set(slot) <= set("abcdefghijklmnopqrstuvwxyz0123456789_"):
        raise ValidationError(
            f"'slot.name' = '{slot}' is no name of a slot",
            do="use lower-case letters, digits and underscores, at most 63",
        )

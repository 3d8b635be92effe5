"""What logical decoding needs on the server: a publication of the tables, and a slot that keeps the log for us."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

from penstock.common.errors import ExternalSystemError, ValidationError
from penstock.connectors.cdc.model import CapturedTable, Place
from penstock.connectors.postgres_cdc.server import PostgresDatabase, quote, quoted_table

LOG = logging.getLogger(__name__)
_PAUSE_S = 0.05


def lsn(text: str) -> int:
    """A place in the log as the server writes it.

    >>> lsn("1/10")
    4294967312
    """
    high, low = text.split("/")
    return (int(high, 16) << 32) | int(low, 16)


def lsn_text(place: int) -> str:
    return f"{place >> 32:X}/{place & 0xFFFFFFFF:X}"


def prepare(database: PostgresDatabase, connection: Any, tables: Sequence[CapturedTable], mode: str) -> int:
    """Makes publication and slot where they are missing; the place from which on the slot has the log."""
    level = connection.execute("SHOW wal_level").fetchone()[0]
    if level != "logical":
        raise ValidationError(
            f"the server's wal_level is '{level}', so there is no log of changes",
            where=database.where,
            do="set wal_level = logical in postgresql.conf and restart the server",
        )
    there = confirmed(database, connection)
    if there is None and mode == "committed-offset":
        raise database.lost(
            "there is no such replication slot, so nothing was ever committed to it",
            "create the slot, or use another 'scan.startup.mode'",
        )
    changed = _publish(database, connection, tables)
    if there is not None:
        if changed:
            _wait_for_older_transactions(database, connection)
        return there
    row = connection.execute(
        "SELECT lsn::text FROM pg_create_logical_replication_slot(%s, 'pgoutput')", (database.slot,)
    ).fetchone()
    LOG.info("created the replication slot '%s' of %s", database.slot, database.where)
    return lsn(row[0])


def confirmed(database: PostgresDatabase, connection: Any) -> int | None:
    """The place up to which the slot may have forgotten the log; None: there is no slot."""
    row = connection.execute(
        "SELECT plugin, database, confirmed_flush_lsn::text, to_jsonb(s) ->> 'wal_status' "
        "FROM pg_replication_slots s WHERE slot_name = %s",
        (database.slot,),
    ).fetchone()
    if row is None:
        return None
    plugin, name, place, status = row
    if plugin != "pgoutput" or name != database.name:
        raise ValidationError(
            f"the replication slot '{database.slot}' is one of plug-in '{plugin}' for database '{name}'",
            where=database.where,
            do="choose another 'slot.name', or drop the slot",
        )
    if status == "lost":
        raise database.lost(
            "the server has removed parts of the log that the replication slot still needs (max_slot_wal_keep_size)",
            f"SELECT pg_drop_replication_slot('{database.slot}'), then start without the checkpoint, which takes a "
            "new snapshot",
        )
    return lsn(place)


def check_reachable(database: PostgresDatabase, connection: Any, place: Place | None) -> None:
    """Refuses to go on from a place that the slot has left behind: the server would pass over it silently."""
    found = confirmed(database, connection)
    if found is None:
        raise database.lost(
            "the replication slot is gone, and with it the changes since the checkpoint",
            "start without the checkpoint, which takes a new snapshot",
        )
    if place is not None and found > place[0]:
        raise database.lost(
            f"the replication slot was moved on to {lsn_text(found)}, behind the checkpoint's place "
            f"{lsn_text(place[0])}: the changes in between are gone",
            "start from a newer checkpoint, or without one, which takes a new snapshot; "
            "'scan.lsn-commit.checkpoints-num-delay' keeps the log longer",
        )


def drop(database: PostgresDatabase, connection: Any) -> None:
    """Drops the slot, if it is there; one of our readers that still has it is sent away."""
    there = "FROM pg_replication_slots WHERE slot_name = %s"
    deadline = time.monotonic() + database.login.timeout_s
    while True:
        active = connection.execute(
            f"SELECT active_pid, pg_terminate_backend(active_pid) {there} AND active", (database.slot,)
        ).fetchone()
        if active is None or time.monotonic() > deadline:
            break
        time.sleep(_PAUSE_S)
    connection.execute(f"SELECT pg_drop_replication_slot(slot_name) {there}", (database.slot,))


def _publish(database: PostgresDatabase, connection: Any, tables: Sequence[CapturedTable]) -> bool:
    """Sees to it that the publication has the tables; whether something had to be changed."""
    name = database.publication
    row = connection.execute("SELECT puballtables FROM pg_publication WHERE pubname = %s", (name,)).fetchone()
    if row is None:
        names = ", ".join(quoted_table(table) for table in tables)
        if database.autocreate == "disabled":
            raise ValidationError(
                f"there is no publication '{name}'",
                where=database.where,
                do=f"CREATE PUBLICATION {quote(name)} FOR TABLE {names}",
            )
        scope = "ALL TABLES" if database.autocreate == "all_tables" else f"TABLE {names}"
        roots = " WITH (publish_via_partition_root = true)" if database.partition_roots else ""
        connection.execute(f"CREATE PUBLICATION {quote(name)} FOR {scope}{roots}")
        return True
    found = connection.execute(
        "SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s", (name,)
    ).fetchall()
    missing = [quoted_table(t) for t in tables if (t.name.schema, t.name.name) not in found]
    if row[0] or not missing:
        return False
    add = f"ALTER PUBLICATION {quote(name)} ADD TABLE {', '.join(missing)}"
    if database.autocreate == "disabled":
        raise ValidationError(
            f"the publication '{name}' does not have all tables", where=database.where, do=add
        )
    connection.execute(add)
    return True


def _wait_for_older_transactions(database: PostgresDatabase, connection: Any) -> None:
    """What transactions wrote before a table was published is not told, even if they commit later."""
    bound = "SELECT pg_snapshot_{}(pg_current_snapshot())::text::bigint"
    newest = connection.execute(bound.format("xmax")).fetchone()[0]
    deadline = time.monotonic() + database.login.timeout_s
    while connection.execute(bound.format("xmin")).fetchone()[0] < newest:
        if time.monotonic() > deadline:
            raise ExternalSystemError(
                "transactions are still open that were so before the tables were published",
                where=database.where,
                do="end them (pg_stat_activity shows them), or use a new 'slot.name'",
            )
        time.sleep(_PAUSE_S)

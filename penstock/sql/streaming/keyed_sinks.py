"""INSERT into tables that go by their primary key: a row replaces the one with its key, a deletion names the key.

Two things must be right for the table to end up as the query's result:

- The changes of one key arrive in order. An epoch's changes are therefore brought together by key and put in the
  order in which they were made before they are written (`SinkRequirements`).
- A change means the row that is there. If rows of the query are told apart by other columns than the sink's key, two
  of them may have the same key, and taking one back must not remove the other. Then an operator stands before the
  sink that remembers all rows of each key and shows the last (`materialized`; Flink's SinkUpsertMaterializer).
"""

from __future__ import annotations

from penstock.common.errors import ValidationError
from penstock.connectors.table import TableConnector
from penstock.delta.upsert_materialize import UpsertMaterialize
from penstock.sql.plan.algebra import InsertInto
from penstock.sql.streaming.advice import key_of_sink
from penstock.sql.streaming.physical import Stream
from penstock.sql.streaming.planner import Planner

UPSERT_MATERIALIZE = "table.exec.sink.upsert-materialize"
_WAYS = ("AUTO", "NONE", "FORCE")


def materialized(planner: Planner, stream: Stream, connector: TableConnector, sink: InsertInto) -> Stream:
    """The stream, made safe for a sink that goes by its primary key."""
    way = planner.config.get(UPSERT_MATERIALIZE, "AUTO").upper()
    if way not in _WAYS:
        raise ValidationError(
            f"invalid value {way!r} for '{UPSERT_MATERIALIZE}'", do=f"use {', '.join(_WAYS)}"
        )
    names = sink.table.sink_schema.names
    key = frozenset(names.index(name) for name in sink.table.primary_key)
    if not connector.upserts or not key:
        return stream
    is_safe = not stream.retracts or any(known <= key for known in stream.keys)
    if not is_safe:
        named = sink.identifier.as_summary_string()
        planner.warnings.append(key_of_sink(named, sink.table.primary_key, stream, way != "NONE"))
    if way == "NONE" or (is_safe and way == "AUTO"):
        return stream
    operator = UpsertMaterialize(sorted(key), state_ttl_ms=planner.state_ttl_ms)
    return planner.delta(
        "SinkMaterializer", operator, [stream], stream.fields, retracts=True, keys=frozenset({key}),
        updated_by=stream.updated_by,
    )  # fmt: skip

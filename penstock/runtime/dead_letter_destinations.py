"""Where dead letters go: a folder, a topic of Kafka, a table; each takes those of an epoch once.

folder   <path>/<job id>-00000042.jsonl   a line of JSON each. The name is made of job and epoch, so committing
                                          twice writes the same file
topic    a message of JSON each           in one transaction, whose mark names job and epoch (`kafka/transactions.py`)
table    a row each                       by its primary key (job_id, epoch, number): written twice it is the same
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.catalog.objects import CatalogTable
from penstock.catalog.schema import Schema
from penstock.checkpoint.filesystem import filesystem_for
from penstock.common.configuration import Configuration
from penstock.common.datatypes import DataTypes
from penstock.common.errors import ValidationError
from penstock.common.ids import EpochId
from penstock.common.options import DeadLetterOptions
from penstock.connectors.registry import find_connector
from penstock.connectors.rows import column_writer
from penstock.connectors.sink import Committer, Moment, WriterContext
from penstock.connectors.table import SinkRequest, TableConnector
from penstock.delta.columns import filled, numbered
from penstock.formats.arrow_rows import RowsToArrow
from penstock.operators.dead_letters import DeadLetter

__all__ = ["DeadLetterFolder", "DeadLetterTable", "DeadLetterTopic", "EpochLetters", "destinations"]

_ALL_THERE = Moment(0, 0)
_WHERE = "dead letters"


@dataclass(frozen=True)
class EpochLetters:
    """What an epoch has left; the committable."""

    job_id: str
    epoch: int
    letters: tuple[DeadLetter, ...]

    def as_json(self) -> list[str]:
        return [json.dumps(letter.as_dict(), ensure_ascii=False) for letter in self.letters]


def destinations(configuration: Configuration) -> list[Committer]:
    """Those that the configuration names.

    Raises:
        ValidationError: One of them cannot be used.
    """
    found: list[Committer] = []
    path, topic = configuration.get(DeadLetterOptions.PATH), configuration.get(DeadLetterOptions.TOPIC)
    if path:
        found.append(DeadLetterFolder(path))
    if topic:
        found.append(DeadLetterTopic(topic, _below(configuration, DeadLetterOptions.PROPERTIES)))
    options = _below(configuration, DeadLetterOptions.TABLE)
    if options:
        found.append(DeadLetterTable(options))
    return found


def _below(configuration: Configuration, prefix: str) -> dict[str, str]:
    """What begins with the prefix, without it."""
    settings = configuration.to_dict().items()
    return {key[len(prefix) :]: str(value) for key, value in settings if key.startswith(prefix)}


class DeadLetterFolder(Committer):
    """A file for each epoch."""

    def __init__(self, path: str) -> None:
        self._files, self._root = filesystem_for(path)

    def commit(self, committables: Sequence[EpochLetters]) -> None:
        for epoch in committables:
            lines = "".join(f"{line}\n" for line in epoch.as_json())
            name = f"{epoch.job_id}-{epoch.epoch:08}.jsonl"
            self._files.write(posixpath.join(self._root, name), lines.encode("utf-8", "replace"))


class DeadLetterTable(Committer):
    """Rows of a table, written by the driver. An epoch that is written again must change nothing.

    Args:
        keyed: The table goes by the primary key. Otherwise its connector publishes what a mark does not name yet.
    """

    def __init__(self, options: Mapping[str, str], keyed: bool = True) -> None:
        self._table = CatalogTable(letter_schema(keyed), dict(options))
        connector = find_connector(options, _WHERE)
        if keyed and not connector.upserts:
            raise _not_by_key(connector)
        connector.validate(self._table, "sink")
        self._sink = connector.sink(self._table, SinkRequest())
        self._committer = self._sink.create_committer()
        self._coordinator = self._sink.create_coordinator()

    def commit(self, committables: Sequence[EpochLetters]) -> None:
        for epoch in committables:
            left = self._written(epoch)
            if self._coordinator is not None:
                left = self._coordinator.at_epoch_end(left, _ALL_THERE, None).committables
            if self._committer is not None and left:
                self._committer.commit(left)

    def _written(self, epoch: EpochLetters) -> tuple[Any, ...]:
        """Writes the rows; what is left to commit."""
        row_type = self._table.sink_schema
        now_ms = epoch.letters[0].processing_time_ms
        context = WriterContext(
            0, 1, EpochId(epoch.epoch), "dead-letters", now_ms, epoch.job_id, lineage=epoch.job_id
        )
        writer = self._sink.create_writer(context)
        try:
            column_writer(writer, row_type, False)(_columns(epoch, row_type.names, RowsToArrow(row_type)))
            return tuple(writer.prepare_commit(False))
        except BaseException:
            writer.abort()
            raise

    def close(self) -> None:
        if self._committer is not None:
            self._committer.close()


class DeadLetterTopic(Committer):
    """Messages of JSON, in a transaction for each epoch. A job has a series of them, named for its id."""

    def __init__(self, topic: str, properties: Mapping[str, str]) -> None:
        if "bootstrap.servers" not in properties:
            raise ValidationError(
                f"dead letters are to go to the topic '{topic}', and nobody says of which brokers",
                do=f"set '{DeadLetterOptions.PROPERTIES}bootstrap.servers'",
            )
        self._options = {
            "connector": "kafka",
            "topic": topic,
            "format": "json",
            "sink.delivery-guarantee": "exactly-once",
            **{f"properties.{name}": value for name, value in properties.items()},
        }
        self._tables: dict[str, DeadLetterTable] = {}
        self._table_of("checked")

    def _table_of(self, job_id: str) -> DeadLetterTable:
        if job_id not in self._tables:
            prefix = {"sink.transactional-id-prefix": f"penstock-dead-letters-{job_id}"}
            self._tables[job_id] = DeadLetterTable({**self._options, **prefix}, keyed=False)
        return self._tables[job_id]

    def commit(self, committables: Sequence[EpochLetters]) -> None:
        for epoch in committables:
            self._table_of(epoch.job_id).commit([epoch])

    def close(self) -> None:
        for table in self._tables.values():
            table.close()


def letter_schema(keyed: bool) -> Schema:
    """The columns of a table of dead letters; they are the fields of the JSON, and a number within the epoch."""
    text, number = DataTypes.STRING(), DataTypes.BIGINT()
    builder = Schema.new_builder()
    builder.column("job_id", DataTypes.STRING(False)).column("epoch", DataTypes.BIGINT(False))
    builder.column("number", DataTypes.INT(False))
    for name in ("job_name", "operator", "uid"):
        builder.column(name, text)
    builder.column("subtask", DataTypes.INT()).column("processing_time_ms", number)
    for name in ("error", "traceback"):
        builder.column(name, text)
    builder.column("event_time", number)
    for name in ("value", "split", "offset", "raw"):
        builder.column(name, text)
    return (builder.primary_key("job_id", "epoch", "number") if keyed else builder).build()


def _columns(epoch: EpochLetters, names: Sequence[str], to_arrow: RowsToArrow) -> pa.Table:
    rows = []
    for number, letter in enumerate(epoch.letters):
        known = {**letter.as_dict(), "number": number}
        rows.append(tuple(known[name] for name in names))
    batch, count = to_arrow.batch(rows), len(rows)
    hidden = [filled(0, count, "int8"), numbered(0, count)]
    return pa.table([*batch.columns, *hidden], names=[*names, "__kind", "__pos"])


def _not_by_key(connector: TableConnector) -> ValidationError:
    return ValidationError(
        f"dead letters cannot be written to a table of connector '{connector.name}': it does not go by a primary "
        "key, so what is committed again after a crash would be there twice",
        where=_WHERE,
        do="use a connector that does: jdbc, delta, upsert-kafka, elasticsearch-7, redis",
    )

"""What makes a system a connector of SQL: `WITH ('connector' = '...')` names a `TableConnector`.

It is made from a table's options by `find_connector` (`registry.py`), which refuses options it does not know, and
answers what the planner asks: does the table make sense (`validate`), what metadata there is (`metadata_columns`),
whether reading gives changes and writing takes them. What reads and writes are the `Source` and `Sink` that it
gives: the same kind of objects that a DataStream program uses.

    source(table, columns)   rows of `row_type(table)`: the physical columns in order, then the metadata columns that
                             the query asked for (`table.requested_metadata`) in the connector's own types, then for
                             a source of changes `__kind` (0 +I, 1 -U, 2 +U, 3 -D)
    sink(table, request)     takes the columns of `table.sink_schema` by position, and how each row changes the table

Rows are tuples of plain Python values (`formats/base.py`), or Arrow columns where reader and writer can do that
(`ArrowReader`, `ArrowWriter`). `rows.py` bridges the two, so an engine that works in columns need not care.

A system is a folder: `source.py`, `sink.py`, `table.py`, `options.py`. It knows nothing of Spark. One that Spark
itself reads or writes faster in batch mode names what does it in `spark_batch`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from penstock.common.config_values import parse_duration
from penstock.common.datatypes import DataType, DataTypes, RowField, RowType
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.formats.base import Option, one_of, read_options

if TYPE_CHECKING:
    from penstock.catalog.objects import CatalogTable
    from penstock.connectors.lookup import LookupSource
    from penstock.connectors.sink import Sink
    from penstock.connectors.source import Source

Direction = Literal["source", "sink"]
ChangelogMode = Literal["insert-only", "changelog"]

KIND_COLUMN = "__kind"
POSITION_COLUMN = "__pos"


WATERMARK_OPTIONS = (
    Option("scan.watermark.emit.strategy", one_of("on-periodic", "on-event"), "on-periodic"),
    Option("scan.watermark.emit.on-event.gap", int, 1),
    Option("scan.watermark.idle-timeout", parse_duration),
    Option("scan.watermark.alignment.group"),
    Option("scan.watermark.alignment.max-drift", parse_duration),
    Option("scan.watermark.alignment.update-interval", parse_duration),
)
"""Options of every source. They are for sources that make watermarks themselves: as in Flink they are checked, and
for
others the WATERMARK clause alone decides. The idle timeout counts for connectors with `watermarks_by_split`."""


@dataclass(frozen=True)
class SinkRequest:
    """What an INSERT wants of a sink.

    Attributes:
        changelog: Whether writers are to look at the kinds of rows; otherwise all of them are insertions.
        retracts: Whether the query takes rows back, so that their order matters.
        parallelism: How many tasks write if the table does not say.
        input_parallelism: How many tasks make the rows.
        bounded: The statement is one batch: everything is committed once, at its end.
        overwrite: INSERT OVERWRITE: what is there is replaced.
        static_partition: The values of the PARTITION clause.
    """

    changelog: bool = False
    retracts: bool = False
    parallelism: int = 1
    input_parallelism: int = 1
    bounded: bool = False
    overwrite: bool = False
    static_partition: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SinkRequirements:
    """How rows must come to the writers.

    Attributes:
        partition_by: Rows with equal values in these columns (positions in the sink's schema) go to one writer, in
            order. Empty: to any writer, evenly. None: they stay where they are if the number of tasks allows it.
        parallelism: How many writers; None leaves it as it is.
    """

    partition_by: tuple[int, ...] | None = None
    parallelism: int | None = None


class TableConnector:
    """Base of the connectors; see the module's text for the contract."""

    name: ClassVar[str] = ""
    options: ClassVar[tuple[Option, ...]] = ()
    directions: ClassVar[tuple[Direction, ...]] = ("source", "sink")
    metadata_columns: Mapping[str, DataType] = {}
    writable_metadata: ClassVar[frozenset[str]] = frozenset()
    """The keys of metadata columns that can be written too."""
    emits_upserts: bool = False
    """Whether a source of changes only says what a key's row is now, or that it is gone: not what it was before."""
    watermarks_by_split: ClassVar[bool] = False
    """Whether the splits of a source go on side by side, each in the order of its own times: partitions of a queue.
    The watermark is then that of the slowest split."""
    supports_overwrite: ClassVar[bool] = False
    """Whether INSERT OVERWRITE means something."""
    upserts: ClassVar[bool] = False
    """Whether a sink with a primary key goes by it: a row replaces the one with its key, whatever that was."""
    changes_rows: ClassVar[bool] = False
    """Whether UPDATE and DELETE can be done: the table can be read, and its sink goes by the primary key."""
    all_or_nothing: ClassVar[bool] = True
    """Whether a batch INSERT that fails has written nothing, so that its query may be run again."""
    uses_filters: ClassVar[bool] = False
    """Whether a source wants to know `table.filters`: conditions that rows a query needs fulfil."""
    update_advice: ClassVar[str] = (
        "write to a sink with a changelog format such as debezium-json, or make the query append-only"
    )
    """What to do about a sink that cannot take updates."""
    endless_advice: ClassVar[str] = "use streaming mode"
    """What to do about a table that never ends, in batch mode."""
    spark_batch: ClassVar[str] = ""
    """`module:class` of a `SparkBatch` (`sql/spark/connector_io.py`) with which Spark itself reads or writes the
    table in batch mode; empty, `source` and `sink` are used there too."""

    def __init__(self, options: Mapping[str, str], table_path: str) -> None:
        self.table_path = table_path
        self.raw_options = dict(options)
        self.check_keys(options)
        try:
            self.values: dict[str, Any] = read_options(self.options, options)
            read_options(WATERMARK_OPTIONS, options)
        except ValidationError as error:
            raise self.refused(error.what, do=error.do) from None

    # --- options

    def check_keys(self, options: Mapping[str, str]) -> None:
        """Refuses the options that neither the connector nor its format knows."""
        unknown = [key for key in options if not self.knows(key)]
        if unknown:
            known = [option.name for option in self.options]
            close = difflib.get_close_matches(unknown[0], known, 1)
            do = f"did you mean '{close[0]}'?" if close else f"supported options: {', '.join(sorted(known))}"
            raise self.refused(f"connector '{self.name}' has no option '{unknown[0]}'", do=do)

    def knows(self, key: str) -> bool:
        known = (*self.options, *WATERMARK_OPTIONS) if "source" in self.directions else self.options
        return key in ("connector", "property-version") or any(key == option.name for option in known)

    def refused(self, what: str, do: str | None = None) -> ValidationError:
        return ValidationError(what, where=f"table {self.table_path}", do=do)

    # --- what the planner asks

    def validate(self, table: CatalogTable, for_: Direction) -> None:
        """Refuses what the connector cannot do with this table, before anything runs."""
        if for_ not in self.directions:
            can = " and ".join(self.directions)
            raise self.refused(f"connector '{self.name}' can only be used as a {can}")
        for column in table.metadata_columns if for_ == "source" else ():
            self._check_metadata(column.metadata_key or column.name)
        persisted = [
            c.name
            for c in table.metadata_columns
            if not c.is_virtual and (c.metadata_key or c.name) not in self.writable_metadata
        ]
        if for_ == "sink" and persisted:
            raise self.refused(
                f"connector '{self.name}' cannot write the metadata column '{persisted[0]}'",
                do="declare it VIRTUAL, which leaves it out when writing",
            )

    def _check_metadata(self, key: str) -> None:
        if key not in self.metadata_columns:
            offered = ", ".join(sorted(self.metadata_columns)) or "none"
            raise self.refused(
                f"connector '{self.name}' has no metadata key '{key}'", do=f"it offers: {offered}"
            )

    def changelog_mode(self, table: CatalogTable) -> ChangelogMode:
        """What reading the table gives: plain rows or changes."""
        return "insert-only"

    def sink_changelog_mode(self, table: CatalogTable) -> ChangelogMode:
        """What writing to the table accepts."""
        return self.changelog_mode(table)

    def is_bounded(self, table: CatalogTable) -> bool:
        return True

    # --- reading

    def row_type(self, table: CatalogTable) -> RowType:
        """The columns of the rows that `source` gives."""
        fields = table.physical_schema.nullable_fields()
        for column in table.requested_metadata:
            fields.append(RowField(column.name, self.metadata_columns[column.metadata_key or column.name]))
        if self.changelog_mode(table) == "changelog":
            fields.append(RowField(KIND_COLUMN, DataTypes.TINYINT(False)))
        return RowType(fields, nullable=False)

    def source(self, table: CatalogTable, columns: Sequence[str] | None = None) -> Source:
        """What reads the table.

        Args:
            columns: The physical columns that the query needs, None for all. Others may be NULL, and what stands in
                them cannot make the query fail.
        """
        raise NotSupportedError(
            f"reading connector '{self.name}'", "it has no source of rows", where=f"table {self.table_path}"
        )

    def lookup_source(self, table: CatalogTable, key_columns: Sequence[int]) -> LookupSource | None:
        """A way to ask for the rows of a key, made of these physical columns; None: it cannot be asked."""
        return None

    # --- writing

    def sink(self, table: CatalogTable, request: SinkRequest) -> Sink:
        """What writes to the table. A writer that takes no columns gets tuples of the sink's columns and, if
        `request.changelog`, the kind of the change as the last value."""
        raise NotSupportedError(
            f"writing to connector '{self.name}'", "it has no sink", where=f"table {self.table_path}"
        )

    def sink_requirements(self, table: CatalogTable, request: SinkRequest) -> SinkRequirements:
        """How rows must come to the writers of `sink`."""
        return SinkRequirements(parallelism=self.values.get("sink.parallelism"))

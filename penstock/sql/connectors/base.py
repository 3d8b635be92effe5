"""What SQL needs from a connector.

A connector is made from a table's WITH options by `find_connector`, which refuses options it does not know.
It then answers four questions: does the table make sense (`validate`), what metadata it offers
(`metadata_columns`), where its rows are (`batch_relation`, a Spark relation) and how to write some (`write_batch`).

A relation has the table's physical columns by name, then the metadata columns the query asked for
(`table.requested_metadata`) in the connector's own types. A changelog source adds `__kind` (TINYINT: 0 +I,
1 -U, 2 +U, 3 -D) and `__pos` (BIGINT: arrival order).
"""

from __future__ import annotations

import difflib
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from penstock.common.config_values import parse_duration
from penstock.common.datatypes import DataType
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.formats.base import Option, one_of, read_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.catalog.objects import CatalogTable
    from penstock.sql.connectors.lookup import LookupSource

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
"""Options of every source. They are for sources that make watermarks themselves, which none of SQL's does yet: as in
Flink they are checked, and the WATERMARK clause alone decides."""


class SqlConnector:
    """Base of the connectors; see the module's text for the contract."""

    name: ClassVar[str] = ""
    options: ClassVar[tuple[Option, ...]] = ()
    directions: ClassVar[tuple[Direction, ...]] = ("source", "sink")
    metadata_columns: Mapping[str, DataType] = {}
    supports_overwrite: ClassVar[bool] = False
    """Whether INSERT OVERWRITE means something."""
    upserts: ClassVar[bool] = False
    """Whether a sink with a primary key goes by it: a row replaces the one with its key, whatever that was."""
    all_or_nothing: ClassVar[bool] = True
    """Whether a batch INSERT that fails has written nothing, so that its query may be run again."""
    uses_filters: ClassVar[bool] = False
    """Whether a source wants to know `table.filters`: conditions that rows a query needs fulfil."""
    update_advice: ClassVar[str] = (
        "write to a sink with a changelog format such as debezium-json, or make the query append-only"
    )
    """What to do about a sink that cannot take updates."""

    def __init__(self, options: Mapping[str, str], table_path: str) -> None:
        self.table_path = table_path
        self.raw_options = dict(options)
        self.check_keys(options)
        try:
            self.values: dict[str, Any] = read_options(self.options, options)
            read_options(WATERMARK_OPTIONS, options)
        except ValidationError as error:
            raise self.refused(error.what, do=error.do) from None

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

    def validate(self, table: CatalogTable, for_: Direction) -> None:
        """Refuses what the connector cannot do with this table, before anything runs."""
        if for_ not in self.directions:
            can = " and ".join(self.directions)
            raise self.refused(f"connector '{self.name}' can only be used as a {can}")
        for column in table.metadata_columns if for_ == "source" else ():
            self._check_metadata(column.metadata_key or column.name)
        persisted = [c.name for c in table.metadata_columns if not c.is_virtual]
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

    def batch_relation(
        self, spark: SparkSession, table: CatalogTable, columns: Sequence[str] | None = None
    ) -> str:
        """A relation for Spark SQL: the name of a temporary view, or a query in parentheses.

        Args:
            columns: The physical columns that the query needs; others may be NULL in the relation, and what
                stands in them cannot make the query fail.
        """
        raise NotSupportedError(f"reading from '{self.name}'", "it is a sink only")

    def lookup_source(self, table: CatalogTable, key_columns: Sequence[int]) -> LookupSource | None:
        """A way to ask for the rows of a key, made of these physical columns; None: it cannot be asked."""
        return None

    def write_batch(
        self,
        spark: SparkSession,
        table: CatalogTable,
        df: DataFrame,
        overwrite: bool = False,
        static_partition: Mapping[str, Any] | None = None,
    ) -> None:
        """Writes the rows, all or none (but see `all_or_nothing`). `df` has the sink columns by position."""
        raise NotSupportedError(f"writing to '{self.name}'", "it is a source only")


def new_view_name() -> str:
    """A name for a temporary view that no other view of any session has."""
    return f"penstock_source_{uuid.uuid4().hex}"

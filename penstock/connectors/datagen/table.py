"""`'connector' = 'datagen'`: a bounded table with `number-of-rows`, an endless one without."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.common.errors import ValidationError
from penstock.connectors.datagen.row_source import RowGeneratorSource
from penstock.connectors.datagen.rows import FIELD_KEYS, DataGenerator, Fields
from penstock.connectors.table import Direction, TableConnector
from penstock.formats.base import Option

if TYPE_CHECKING:
    from penstock.catalog.objects import CatalogTable


class DataGenConnector(TableConnector):
    """Columns count or roll dice, as `fields.<name>.*` say."""

    name = "datagen"
    options = (
        Option("rows-per-second", int, 10_000),
        Option("number-of-rows", int, None),
        Option("scan.parallelism", int, None),
    )
    directions = ("source",)
    endless_advice = "set 'number-of-rows', or use streaming mode"

    def knows(self, key: str) -> bool:
        return super().knows(key) or key.startswith("fields.")

    def validate(self, table: CatalogTable, for_: Direction) -> None:
        super().validate(table, for_)
        fields = Fields(self.raw_options, dt.datetime.now(dt.timezone.utc))
        try:
            for field in table.physical_schema.fields:
                fields.generator(field.data_type, f"fields.{field.name}")
        except ValueError as error:
            what = error.what if isinstance(error, ValidationError) else str(error)
            raise self.refused(what) from None
        unused = [k for k in self.raw_options if k.startswith("fields.") and k not in fields.used]
        if unused:
            raise self.refused(
                f"connector 'datagen' has no option '{unused[0]}' for this table",
                do=f"options of a field are {', '.join(FIELD_KEYS)}",
            )

    def is_bounded(self, table: CatalogTable) -> bool:
        return self.values["number-of-rows"] is not None

    def source(self, table: CatalogTable, columns: Sequence[str] | None = None) -> RowGeneratorSource:
        fields = {k: v for k, v in self.raw_options.items() if k.startswith("fields.")}
        now = dt.datetime.now(dt.timezone.utc)
        now = now.replace(microsecond=now.microsecond // 1000 * 1000)
        generator = DataGenerator(table.physical_schema, fields, uuid.uuid4().int, now)
        return RowGeneratorSource(generator, self.values["number-of-rows"], self.values["rows-per-second"])

"""Bytes to rows and back: one module for each format, none of them aware of Spark or of tables.

`find_format("csv")` gives a `Format`: its options, and factories for a decoder and an encoder (see `base`).
Columnar formats (parquet, orc, avro files) have no record codec: readers and writers treat whole files.
"""

from __future__ import annotations

from penstock.common.errors import ValidationError
from penstock.formats.base import Decoder, Encoder, Format, Option, RecordContext
from penstock.formats.canal_json import CANAL_JSON
from penstock.formats.columnar import AVRO, ORC, PARQUET
from penstock.formats.csv import CSV
from penstock.formats.debezium_json import DEBEZIUM_JSON
from penstock.formats.json import JSON
from penstock.formats.maxwell_json import MAXWELL_JSON
from penstock.formats.raw import RAW

FORMATS: dict[str, Format] = {
    f.name: f for f in (CSV, JSON, RAW, DEBEZIUM_JSON, CANAL_JSON, MAXWELL_JSON, PARQUET, ORC, AVRO)
}


def find_format(name: str) -> Format:
    """The format of that name.

    Raises:
        ValidationError: There is none.
    """
    try:
        return FORMATS[name]
    except KeyError:
        raise ValidationError(
            f"there is no format '{name}'", do=f"use one of {', '.join(sorted(FORMATS))}"
        ) from None


__all__ = ["FORMATS", "Decoder", "Encoder", "Format", "Option", "RecordContext", "find_format"]

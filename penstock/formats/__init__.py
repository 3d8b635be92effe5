"""Bytes to rows and back: one module for each format, none of them aware of Spark or of tables.

`find_format("csv")` gives a `Format`: its options, and factories for a decoder and an encoder (see `base`).
Columnar formats (parquet, orc, avro files) have no record codec: readers and writers treat whole files.

Other packages offer formats by an entry point of the group `penstock.formats` that is a `Format`
(`connectors/registry.py` says when it is imported, and what happens to one that cannot be used).
"""

from __future__ import annotations

from penstock.common.errors import ValidationError
from penstock.common.plugins import Plugins
from penstock.formats.avro_confluent import AVRO_CONFLUENT, DEBEZIUM_AVRO_CONFLUENT
from penstock.formats.base import Decoder, Encoder, Format, Option, RecordContext
from penstock.formats.canal_json import CANAL_JSON
from penstock.formats.columnar import AVRO, ORC, PARQUET
from penstock.formats.csv import CSV
from penstock.formats.debezium_json import DEBEZIUM_JSON
from penstock.formats.json import JSON
from penstock.formats.maxwell_json import MAXWELL_JSON
from penstock.formats.raw import RAW

FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        CSV,
        JSON,
        RAW,
        DEBEZIUM_JSON,
        CANAL_JSON,
        MAXWELL_JSON,
        PARQUET,
        ORC,
        AVRO,
        AVRO_CONFLUENT,
        DEBEZIUM_AVRO_CONFLUENT,
    )
}


_OWN = frozenset(FORMATS)
_plugins = Plugins("penstock.formats", "format")


def register_format(format_: Format) -> Format:
    """Makes a format known under its name, in this process."""
    FORMATS[format_.name] = format_
    return format_


def format_names() -> list[str]:
    """Every name that `find_format` knows, sorted."""
    return sorted({*FORMATS, *_plugins.names()})


def find_format(name: str) -> Format:
    """The format of that name, also one that another package offers.

    Raises:
        ValidationError: There is none, or the package that offers it cannot be used.
    """
    if name in _OWN:
        _plugins.refuse_claims(name)
    if name not in FORMATS:
        found = _plugins.load(name)
        if found is None:
            known = ", ".join(format_names())
            raise ValidationError(f"there is no format '{name}'", do=f"use one of {known}")
        if not isinstance(found, Format) or found.name != name:
            raise _plugins.refused(name, f"{found!r} is not a Format of that name")
        FORMATS[name] = found
    return FORMATS[name]


__all__ = [
    "FORMATS",
    "Decoder",
    "Encoder",
    "Format",
    "Option",
    "RecordContext",
    "find_format",
    "format_names",
    "register_format",
]

"""Formats for messages: each is one record, as in a queue. Avro's records come without their schema there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.common.datatypes import RowType
from penstock.common.errors import ValidationError
from penstock.formats.avro import AvroDecoder, AvroEncoder
from penstock.formats.base import Decoder, Encoder, Format


def message_decoder(format_: Format, row_type: RowType, options: Mapping[str, Any]) -> Decoder:
    """What reads messages of a format.

    Raises:
        ValidationError: The format is one for files.
    """
    if format_.name == "avro":
        return AvroDecoder(row_type, options)
    if format_.decoder is None:
        raise _only_files(format_)
    return format_.decoder(row_type, options)


def message_encoder(format_: Format, row_type: RowType, options: Mapping[str, Any]) -> Encoder:
    """What writes messages of a format.

    Raises:
        ValidationError: The format is one for files, or cannot write such rows.
    """
    if format_.name == "avro":
        return AvroEncoder(row_type, options)
    if format_.encoder is None:
        raise _only_files(format_)
    return format_.encoder(row_type, options)


def _only_files(format_: Format) -> ValidationError:
    return ValidationError(
        f"format '{format_.name}' is one for files, not for messages", do="use json, csv, avro or raw"
    )

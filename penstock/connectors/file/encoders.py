"""Records to the bytes of row-format files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, BinaryIO

from penstock.common.rendering import render
from penstock.common.serialization import BulkWriter, Encoder, SerializationSchema, SimpleStringEncoder
from penstock.common.typeinfo import TypeInformation

__all__ = ["SchemaEncoder", "batch_encoder", "bulk_adder"]


class SchemaEncoder(Encoder):
    """Each record as a schema serializes it, on a line of its own; None leaves a record out."""

    def __init__(self, schema: SerializationSchema) -> None:
        self.schema = schema

    def encode(self, element: Any, stream: BinaryIO) -> None:
        data = self.schema.serialize(element)
        if data is not None:
            stream.write(data if data.endswith(b"\n") else data + b"\n")


def batch_encoder(
    encoder: Encoder, stream: BinaryIO, type_info: TypeInformation | None
) -> Callable[[list[Any]], None]:
    """A function that appends a batch to `stream`: one write per batch for lines of text."""
    if type(encoder) is SimpleStringEncoder:
        declared = encoder.type_info or type_info
        charset = encoder.charset_name

        def write_lines(values: list[Any]) -> None:
            try:
                text = "\n".join(values)
            except TypeError:
                text = "\n".join([render(value, declared) for value in values])
            stream.write((text + "\n").encode(charset, "replace"))

        return write_lines

    def write_each(values: list[Any]) -> None:
        encode = encoder.encode
        for value in values:
            encode(value, stream)

    return write_each


def bulk_adder(writer: BulkWriter) -> Callable[[list[Any]], None]:
    """A function that adds a batch: at once if the writer has `add_batch`, else one by one."""
    add_batch = getattr(writer, "add_batch", None)
    if add_batch is not None:
        return add_batch  # type: ignore[no-any-return]

    def add_each(values: list[Any]) -> None:
        for value in values:
            writer.add_element(value)

    return add_each

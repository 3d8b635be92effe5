"""Columns of a table that are together in a message, and the format that they have there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.datatypes import RowType
from penstock.formats import Decoder, Encoder, Format, find_format
from penstock.formats.messages import message_decoder, message_encoder

__all__ = ["MessagePart"]


@dataclass(frozen=True)
class MessagePart:
    """The key or the value of messages, or the whole of one; picklable.

    Attributes:
        options: Those of the format, as its `read_options` wants them.
        row_type: The fields, under the names that they have in the message.
        places: Where they are among the table's physical columns.
    """

    format_name: str
    options: Mapping[str, str]
    row_type: RowType
    places: tuple[int, ...]

    @property
    def format(self) -> Format:
        return find_format(self.format_name)

    @property
    def values(self) -> dict[str, Any]:
        return self.format.read_options(self.options)

    def decoder(self) -> Decoder:
        return message_decoder(self.format, self.row_type, self.values)

    def encoder(self) -> Encoder:
        return message_encoder(self.format, self.row_type, self.values)

    def check(self) -> None:
        self.format.check(self.row_type, self.values)

    def only(self, places: Sequence[int]) -> MessagePart:
        """The part without the fields that nobody looks at, if its format finds fields by name."""
        if self.format_name != "json":
            return self
        kept = [i for i, place in enumerate(self.places) if place in places] or [0]
        if len(kept) == len(self.places):
            return self
        fields = RowType([self.row_type.fields[i] for i in kept], nullable=False)
        return MessagePart(self.format_name, self.options, fields, tuple(self.places[i] for i in kept))

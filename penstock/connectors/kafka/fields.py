"""Which columns of a table are in a message's key, which in its value, and in what format each of them is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.common.datatypes import RowField, RowType
from penstock.common.errors import ValidationError
from penstock.connectors.message_part import MessagePart

__all__ = ["MessagePart", "format_options", "knows", "message_parts"]


def format_options(options: Mapping[str, str], part: str) -> tuple[str | None, dict[str, str]]:
    """The format of `key` or `value`, and the options among which its own are, without the part's name."""
    if part == "value" and "format" in options:
        return options["format"], dict(options)
    prefix = f"{part}."
    own = {name[len(prefix) :]: text for name, text in options.items() if name.startswith(prefix)}
    return options.get(f"{part}.format"), own


def knows(options: Mapping[str, str], name: str) -> bool:
    """Whether an option belongs to the format of the key or the value."""
    whole, key, value = (options.get(n) for n in ("format", "key.format", "value.format"))
    starts = [f"{whole}."] if whole else []
    starts += [f"key.{key}."] if key else []
    starts += [f"value.{value}."] if value and not whole else []
    return name.startswith(tuple(starts)) if starts else False


def message_parts(
    physical: RowType,
    options: Mapping[str, str],
    key_fields: Sequence[str],
    prefix: str,
    include: str,
    topic: str | None = None,
) -> tuple[MessagePart | None, MessagePart]:
    """Key and value of a table's messages; `topic` is the one topic of the table, if it has one.

    Raises:
        ValidationError: The options contradict each other or the table.
    """
    key_format, key_options = format_options(options, "key")
    value_format, value_options = format_options(options, "value")
    if topic is not None:  # as Flink completes it
        key_options.setdefault(f"{key_format}.subject", f"{topic}-key")
        value_options.setdefault(f"{value_format}.subject", f"{topic}-value")
    if value_format is None:
        raise ValidationError("there is no format for values", do="add 'format' or 'value.format'")
    if key_format is None and key_fields:
        raise ValidationError("'key.fields' can only be declared if there is a 'key.format'")
    if key_format is not None and not key_fields:
        raise ValidationError("a 'key.format' requires one or more 'key.fields'")
    if include == "ALL" and prefix:
        raise ValidationError(
            "a key prefix is not allowed when 'value.fields-include' is 'ALL'",
            do="set it to 'EXCEPT_KEY' to avoid field overlaps",
        )
    key_places = tuple(_place(physical, name, prefix) for name in key_fields)
    rest = tuple(i for i in range(len(physical.fields)) if include == "ALL" or i not in key_places)
    key = None
    if key_format is not None:
        fields = [physical.fields[i] for i in key_places]
        named = [RowField(f.name[len(prefix) :], f.data_type) for f in fields]
        key = MessagePart(key_format, key_options, RowType(named, nullable=False), key_places)
    value_type = RowType([physical.fields[i] for i in rest], nullable=False)
    return key, MessagePart(value_format, value_options, value_type, rest)


def _place(physical: RowType, name: str, prefix: str) -> int:
    if name not in physical.names:
        raise ValidationError(
            f"could not find the field '{name}' in the table for usage in the key format: a key field must be a "
            "regular, physical column",
            do=f"the columns are {', '.join(physical.names)}",
        )
    if not name.startswith(prefix):
        raise ValidationError(
            f"all fields in 'key.fields' must be prefixed with '{prefix}', but '{name}' is not"
        )
    return physical.names.index(name)

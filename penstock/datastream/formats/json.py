"""JSON: schemas of messages. For files with an object per line use them with `DecodedLineFormat`."""

from __future__ import annotations

from typing import Any

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.common.serialization import DeserializationSchema, SerializationSchema
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.row_types import row_maker, row_type_of
from penstock.formats.base import RecordContext
from penstock.formats.json import JSON, JsonDecoder, JsonEncoder

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]


def _options(**changed: Any) -> dict[str, Any]:
    options: dict[str, Any] = {option.name: option.default for option in JSON.options}
    options.update({name.replace("_", "-"): value for name, value in changed.items()})
    return options


class JsonRowDeserializationSchema(DeserializationSchema):
    """One JSON object is one row; fields are found by name."""

    def __init__(self, j_deserialization_schema: tuple[TypeInformation, dict[str, Any]]) -> None:
        self._type_info, self._options = j_deserialization_schema
        self._row_type = row_type_of(self._type_info)
        JSON.check(self._row_type, self._options)
        self._decode: Any = None

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """Begins a schema; it needs a type.

        Example:
            ```python
            schema = JsonRowDeserializationSchema.builder().type_info(Types.ROW_NAMED(["id"], [Types.LONG()])).build()
            ```
        """
        return JsonRowDeserializationSchema.Builder()

    def deserialize(self, message: bytes) -> Any:
        """The row of one JSON object; None where it cannot be read and errors are ignored."""
        if self._decode is None:
            self._decode = JsonDecoder(self._row_type, self._options).decode
            self._make = row_maker(self._row_type)
        rows = self._decode(message, RecordContext("JSON message"))
        return self._make(rows[0][1]) if rows else None

    def get_produced_type(self) -> TypeInformation:
        """The type of the rows, as it was declared."""
        return self._type_info

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_decode": None, "_make": None}

    class Builder:
        """Settings of the schema."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None
            self._options: dict[str, Any] = {}

        def type_info(self, type_info: TypeInformation) -> JsonRowDeserializationSchema.Builder:
            """The rows' type; its field names are the JSON properties."""
            self._type_info = type_info
            return self

        def json_schema(self, json_schema: str) -> JsonRowDeserializationSchema.Builder:
            """Refused: a JSON schema is not translated to types; call `type_info` instead."""
            if json_schema is None:
                raise TypeError("The json_schema must not be None.")
            raise NotSupportedError(
                "JsonRowDeserializationSchema from a JSON schema", "it is not translated to types yet",
                do="declare the type: builder().type_info(Types.ROW_NAMED(...))",
            )  # fmt: skip

        def fail_on_missing_field(self) -> JsonRowDeserializationSchema.Builder:
            """A missing property is an error, not NULL."""
            self._options["fail_on_missing_field"] = True
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """What cannot be read is NULL or left out, not an error."""
            self._options["ignore_parse_errors"] = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """The schema; refused without a type."""
            if self._type_info is None:
                raise ValidationError("a JSON schema needs a type", do="call type_info(...)")
            return JsonRowDeserializationSchema((self._type_info, _options(**self._options)))


class JsonRowSerializationSchema(SerializationSchema):
    """One row is one JSON object."""

    def __init__(self, j_serialization_schema: TypeInformation) -> None:
        self._row_type = row_type_of(j_serialization_schema)
        JSON.check(self._row_type, _options())
        self._encode: Any = None

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """Begins a schema; it needs a type."""
        return JsonRowSerializationSchema.Builder()

    def serialize(self, element: Any) -> bytes:
        """The JSON object of one row."""
        if self._encode is None:
            self._encode = JsonEncoder(self._row_type, _options()).encode
        return self._encode(0, element)  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_encode": None}

    class Builder:
        """Settings of the schema."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None

        def with_type_info(self, type_info: TypeInformation) -> JsonRowSerializationSchema.Builder:
            """The rows' type; its field names become the JSON properties."""
            self._type_info = type_info
            return self

        def build(self) -> JsonRowSerializationSchema:
            """The schema; refused without a type."""
            if self._type_info is None:
                raise TypeError("Typeinfo should be set.")
            return JsonRowSerializationSchema(self._type_info)

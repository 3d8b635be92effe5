"""CSV: the schema of files, and schemas of messages."""

from __future__ import annotations

from typing import Any

from penstock.common.datatypes import DataType, DataTypes, RowField, RowType
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.common.serialization import BulkWriterFactory, DeserializationSchema, SerializationSchema
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.file.csv import CsvFileFormat, CsvLayout, CsvWriterFactory, csv_options
from penstock.connectors.row_types import row_maker, row_type_of
from penstock.formats.base import RecordContext
from penstock.formats.csv import COLUMN_SEPARATORS, CSV, CsvDecoder, CsvEncoder

__all__ = [
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]


class CsvSchema:
    """Columns and dialect of a CSV file; made with `CsvSchema.builder()`."""

    def __init__(self, j_schema: CsvLayout, row_type: RowType) -> None:
        self.layout = j_schema
        self.row_type = row_type

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """Begins a schema, which is made column by column.

        >>> len(CsvSchema.builder().add_string_column("name").add_boolean_column("active").build())
        2
        """
        return CsvSchemaBuilder()

    def size(self) -> int:
        """How many columns there are."""
        return len(self.row_type.fields)

    def __len__(self) -> int:
        return self.size()

    def __str__(self) -> str:
        columns = ", ".join(f"{f.name} {f.data_type.as_summary()}" for f in self.row_type.fields)
        return f"CsvSchema({columns})"

    __repr__ = __str__


class CsvSchemaBuilder:
    """Columns in order, and how the text is cut."""

    def __init__(self) -> None:
        self._fields: list[RowField] = []
        self._separators: dict[str, str] = {}
        self._options: dict[str, Any] = {}
        self._line_separator = "\n"
        self._skip_first_data_row = False
        self._strict_headers = False
        self._use_header = False

    def build(self) -> CsvSchema:
        """The schema as set so far."""
        options = csv_options(**self._options)
        if self._separators:
            options[COLUMN_SEPARATORS] = dict(self._separators)
        row_type = DataTypes.ROW(self._fields)
        skip = int(self._use_header) + int(self._skip_first_data_row)
        layout = CsvLayout(
            row_type, options, skip, self._use_header and self._strict_headers, self._line_separator
        )
        return CsvSchema(layout, row_type)

    def _add(self, name: str, data_type: DataType) -> CsvSchemaBuilder:
        self._fields.append(DataTypes.FIELD(name, data_type))
        return self

    def _set(self, **options: Any) -> CsvSchemaBuilder:
        self._options.update(options)
        return self

    def add_array_column(
        self, name: str, separator: str = ";", element_type: DataType | None = None
    ) -> CsvSchemaBuilder:
        """A list of values with a separator of its own; strings unless `element_type` says otherwise."""
        self._separators[name] = separator
        return self._add(name, DataTypes.ARRAY(element_type or DataTypes.STRING()))

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        """Adds a column of type BOOLEAN."""
        return self._add(name, DataTypes.BOOLEAN())

    def add_number_column(self, name: str, number_type: DataType | None = None) -> CsvSchemaBuilder:
        """A number; BIGINT unless `number_type` says otherwise."""
        return self._add(name, number_type or DataTypes.BIGINT())

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        """Adds a column of type STRING."""
        return self._add(name, DataTypes.STRING())

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """All columns of another schema."""
        self._fields.extend(schema.row_type.fields)
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        """Forgets all columns; what was set about the text stays."""
        self._fields.clear()
        self._separators.clear()
        return self

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:
        """Skip lines that begin with '#'."""
        return self._set(allow_comments=allow)

    def set_any_property_name(self, name: str) -> CsvSchemaBuilder:
        """Refused: rows have a fixed number of columns."""
        raise NotSupportedError(
            "CsvSchemaBuilder.set_any_property_name", "rows have a fixed number of columns"
        )

    def disable_array_element_separator(self) -> CsvSchemaBuilder:
        """Arrays are not cut into elements."""
        return self.set_array_element_separator("")

    def remove_array_element_separator(self, index: int) -> CsvSchemaBuilder:
        """The array column at this index has no separator of its own any more."""
        self._separators.pop(self._fields[index].name, None)
        return self

    def set_array_element_separator(self, separator: str) -> CsvSchemaBuilder:
        """The separator of the elements of all array columns."""
        self._separators = dict.fromkeys(self._separators, separator)
        return self._set(array_element_delimiter=separator)

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        """The character between columns; a comma if it is not said."""
        return self._set(field_delimiter=_character(char))

    def disable_escape_char(self) -> CsvSchemaBuilder:
        """No character takes away the meaning of the next one; so it is from the start."""
        return self._set(escape_character=None)

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        """The character that takes away the meaning of the next one."""
        return self._set(escape_character=_character(char))

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        """What ends a record when writing; reading takes LF, CR and CR LF."""
        self._line_separator = separator
        return self

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        """The text that means NULL."""
        return self._set(null_literal=null_value)

    def disable_quote_char(self) -> CsvSchemaBuilder:
        """Quotes have no meaning."""
        return self._set(disable_quote_character=True)

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        """The character around values that hold separators; " if it is not said."""
        return self._set(quote_character=_character(char))

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:
        """Whether the first row of each file is left out; behind the header, where there is one."""
        self._skip_first_data_row = skip
        return self

    def set_strict_headers(self, strict: bool = True) -> CsvSchemaBuilder:
        """Refuse files whose header differs from the schema."""
        self._strict_headers = strict
        return self

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:
        """The first record of each file names the columns."""
        self._use_header = use
        return self

    def size(self) -> int:
        """How many columns there are so far."""
        return len(self._fields)

    def __len__(self) -> int:
        return self.size()


class CsvReaderFormat(CsvFileFormat):
    """Reads CSV files with a `FileSource`; each record is a row."""

    def __init__(self, j_csv_format: CsvLayout) -> None:
        super().__init__(j_csv_format)

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvReaderFormat:
        """Reads CSV files as rows of this schema.

        Example:
            ```python
            schema = CsvSchema.builder().add_string_column("name").add_number_column("age").build()
            source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), folder).build()
            ```
        """
        return CsvReaderFormat(schema.layout)


class CsvBulkWriters:
    """Writes CSV files with `FileSink.for_bulk_format`."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> BulkWriterFactory:
        """Writes rows into CSV files; with a header line if the schema has one."""
        return CsvWriterFactory(schema.layout, header=schema.layout.lines_to_skip > 0)


class CsvRowDeserializationSchema(DeserializationSchema):
    """One CSV record is one row; made with `CsvRowDeserializationSchema.Builder(type_info)`."""

    def __init__(self, j_deserialization_schema: tuple[TypeInformation, dict[str, Any]]) -> None:
        self._type_info, self._options = j_deserialization_schema
        self._row_type = row_type_of(self._type_info)
        CSV.check(self._row_type, self._options)
        self._decode: Any = None

    def deserialize(self, message: bytes) -> Any:
        """The row of one line; None where it cannot be read and errors are ignored."""
        if self._decode is None:
            self._decode = CsvDecoder(self._row_type, self._options).decode
            self._make = row_maker(self._row_type)
        rows = self._decode(message, RecordContext("CSV message"))
        return self._make(rows[0][1]) if rows else None

    def get_produced_type(self) -> TypeInformation:
        """The type of the rows, as it was declared."""
        return self._type_info

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_decode": None, "_make": None}

    class Builder:
        """Settings of the schema."""

        def __init__(self, type_info: TypeInformation) -> None:
            if type_info is None:
                raise TypeError("Type information must not be None")
            self._type_info = type_info
            self._options: dict[str, Any] = {}

        def _set(self, **options: Any) -> CsvRowDeserializationSchema.Builder:
            self._options.update(options)
            return self

        def set_field_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            """The character between columns; a comma if it is not said."""
            return self._set(field_delimiter=_character(delimiter))

        def set_allow_comments(self, allow_comments: bool) -> CsvRowDeserializationSchema.Builder:
            """Whether lines that begin with # are skipped."""
            return self._set(allow_comments=allow_comments)

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            """The text between elements of an array; a semicolon if it is not said."""
            return self._set(array_element_delimiter=delimiter)

        def set_quote_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """The character around values that hold delimiters; " if it is not said."""
            return self._set(quote_character=_character(c))

        def set_escape_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """The character that takes away the meaning of the next one; none if it is not said."""
            return self._set(escape_character=_character(c))

        def set_null_literal(self, null_literal: str) -> CsvRowDeserializationSchema.Builder:
            """The text that means NULL; none if it is not said."""
            return self._set(null_literal=null_literal)

        def set_ignore_parse_errors(self, ignore_parse_errors: bool) -> CsvRowDeserializationSchema.Builder:
            """Whether what cannot be read becomes NULL instead of failing the job."""
            return self._set(ignore_parse_errors=ignore_parse_errors)

        def build(self) -> CsvRowDeserializationSchema:
            """The schema as set so far."""
            return CsvRowDeserializationSchema((self._type_info, csv_options(**self._options)))


class CsvRowSerializationSchema(SerializationSchema):
    """One row is one CSV record; made with `CsvRowSerializationSchema.Builder(type_info)`."""

    def __init__(self, j_csv_row_serialization_schema: tuple[TypeInformation, dict[str, Any], str]) -> None:
        type_info, self._options, self._end = j_csv_row_serialization_schema
        self._row_type = row_type_of(type_info)
        CSV.check(self._row_type, self._options)
        self._encode: Any = None

    def serialize(self, element: Any) -> bytes:
        """The line of one row."""
        if self._encode is None:
            self._encode = CsvEncoder(self._row_type, self._options).encode
        return self._encode(0, element) + self._end.encode()  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_encode": None}

    class Builder:
        """Settings of the schema."""

        def __init__(self, type_info: TypeInformation) -> None:
            if type_info is None:
                raise TypeError("Type information must not be None")
            self._type_info = type_info
            self._options: dict[str, Any] = {}
            self._end = "\n"

        def _set(self, **options: Any) -> CsvRowSerializationSchema.Builder:
            self._options.update(options)
            return self

        def set_field_delimiter(self, c: str) -> CsvRowSerializationSchema.Builder:
            """The character between columns; a comma if it is not said."""
            return self._set(field_delimiter=_character(c))

        def set_line_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """What ends a record: LF, CR, CR LF or nothing."""
            if delimiter not in ("\n", "\r", "\r\n", ""):
                raise ValidationError(f"unsupported new line delimiter {delimiter!r}")
            self._end = delimiter
            return self

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """The text between elements of an array; a semicolon if it is not said."""
            return self._set(array_element_delimiter=delimiter)

        def disable_quote_character(self) -> CsvRowSerializationSchema.Builder:
            """Values are written without quotes, whatever they hold."""
            return self._set(disable_quote_character=True)

        def set_quote_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """The character around values that need it; " if it is not said."""
            return self._set(quote_character=_character(c))

        def set_escape_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """The character written before one that has a meaning; none if it is not said."""
            return self._set(escape_character=_character(c))

        def set_null_literal(self, s: str) -> CsvRowSerializationSchema.Builder:
            """The text written for NULL; nothing if it is not said."""
            return self._set(null_literal=s)

        def build(self) -> CsvRowSerializationSchema:
            """The schema as set so far."""
            return CsvRowSerializationSchema((self._type_info, csv_options(**self._options), self._end))


def _character(text: str) -> str:
    if not isinstance(text, str) or len(text) != 1:
        raise ValueError(f"a single character is needed, got {text!r}")
    return text

"""Schema builder and table descriptors."""

from __future__ import annotations

import pytest

from penstock.common.errors import ValidationError
from penstock.table import DataTypes, FormatDescriptor, Schema, TableDescriptor


def test_a_builder_collects_columns_watermark_and_key() -> None:
    schema = (
        Schema.new_builder()
        .column("id", DataTypes.INT(False))
        .column("ts", "TIMESTAMP(3)")
        .column_by_expression("twice", "id * 2")
        .column_by_metadata("f", "STRING", "file.name", True)
        .watermark("ts", "ts - INTERVAL '5' SECOND")
        .primary_key("id")
        .build()
    )
    assert [c.name for c in schema.physical_columns] == ["id", "ts"]
    assert schema.primary_key_name == "PK_id"
    assert "`f` [STRING] METADATA FROM 'file.name' VIRTUAL" in str(schema)


def test_a_schema_comes_only_from_a_row_type() -> None:
    with pytest.raises(ValidationError, match="ROW"):
        Schema.new_builder().from_row_data_type(DataTypes.INT())


def test_a_descriptor_spells_format_options_with_the_formats_name() -> None:
    descriptor = (
        TableDescriptor.for_connector("filesystem")
        .schema(Schema.new_builder().column("a", "INT").build())
        .option("path", "/x")
        .format(FormatDescriptor.for_format("csv").option("ignore-parse-errors", True).build())
        .build()
    )
    assert descriptor.get_options() == {
        "connector": "filesystem",
        "path": "/x",
        "format": "csv",
        "csv.ignore-parse-errors": "true",
    }

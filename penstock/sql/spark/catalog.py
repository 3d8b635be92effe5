"""The tables of Spark's own session catalog, as a catalog.

    CREATE CATALOG lake WITH ('type' = 'spark');
    SELECT * FROM lake.sales.orders;

Databases are Spark's, tables get the types Spark's columns have. It reads and writes through the connector
'spark', which names the table; creating tables stays Spark's business.
"""

from __future__ import annotations

from typing import Any

from penstock.catalog.catalog import Catalog
from penstock.catalog.identifiers import ObjectPath
from penstock.catalog.objects import CatalogBaseTable, CatalogDatabase, CatalogTable
from penstock.catalog.schema import Schema
from penstock.common.datatype_parser import parse_type
from penstock.common.datatypes import ArrayType, DataType, DataTypes, MapType, RowField, RowType
from penstock.common.errors import NotSupportedError
from penstock.sql.spark import connector  # noqa: F401  (registers the connector)
from penstock.util.exceptions import DatabaseNotExistException, TableNotExistException

_NAMES = {
    "string": "STRING",
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INT",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date": "DATE",
    "binary": "BYTES",
    "timestamp": "TIMESTAMP_LTZ(6)",
    "timestamp_ntz": "TIMESTAMP(6)",
}


class SparkCatalog(Catalog):
    """Reads `SparkSession.catalog`."""

    def __init__(self, name: str, default_database: str = "default") -> None:
        self.name = name
        self._default = default_database

    @property
    def _spark(self) -> Any:
        from penstock.runtime.spark.session import get_spark

        return get_spark()

    def get_default_database(self) -> str:
        return self._default

    def list_databases(self) -> list[str]:
        return [d.name for d in self._spark.catalog.listDatabases()]

    def get_database(self, database_name: str) -> CatalogDatabase:
        if not self.database_exists(database_name):
            raise DatabaseNotExistException(f"database {database_name} does not exist in catalog {self.name}")
        return CatalogDatabase(comment=self._spark.catalog.getDatabase(database_name).description)

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        clause = "IF NOT EXISTS " if ignore_if_exists else ""
        self._spark.sql(f"CREATE DATABASE {clause}`{name}`")

    def drop_database(self, name: str, ignore_if_exists: bool, cascade: bool = False) -> None:
        clause = "IF EXISTS " if ignore_if_exists else ""
        self._spark.sql(f"DROP DATABASE {clause}`{name}`{' CASCADE' if cascade else ''}")

    def list_tables(self, database_name: str) -> list[str]:
        return sorted(t.name for t in self._spark.catalog.listTables(database_name) if not t.isTemporary)

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        if not self.table_exists(table_path):
            raise TableNotExistException(f"table {table_path} does not exist in catalog {self.name}")
        full_name = f"`{table_path.database_name}`.`{table_path.object_name}`"
        builder = Schema.new_builder()
        for column in self._spark.table(full_name).schema.fields:
            builder.column(column.name, flink_type(column.dataType).with_nullability(column.nullable))
        return CatalogTable(builder.build(), {"connector": "spark", "table-name": full_name})

    def create_table(self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool) -> None:
        raise NotSupportedError("CREATE TABLE in a Spark catalog", "Spark's own DDL makes its tables")

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        raise NotSupportedError("DROP TABLE in a Spark catalog", "Spark's own DDL drops its tables")


def flink_type(spark_type: Any) -> DataType:
    """The Flink type of a column of Spark's."""
    kind = spark_type.typeName()
    if kind == "decimal":
        return DataTypes.DECIMAL(spark_type.precision, spark_type.scale)
    if kind == "array":
        return ArrayType(flink_type(spark_type.elementType).with_nullability(spark_type.containsNull))
    if kind == "map":
        value = flink_type(spark_type.valueType).with_nullability(spark_type.valueContainsNull)
        return MapType(flink_type(spark_type.keyType).not_null(), value)
    if kind == "struct":
        return RowType([RowField(f.name, flink_type(f.dataType)) for f in spark_type.fields])
    text = _NAMES.get(spark_type.simpleString(), _NAMES.get(kind))
    if text is None:
        raise NotSupportedError(
            f"Spark columns of type {spark_type.simpleString()}", "Flink has no such type"
        )
    return parse_type(text)

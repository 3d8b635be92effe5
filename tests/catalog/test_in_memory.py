"""Catalogs in memory: what they hold, and the exceptions that tell what is missing or there already."""

from __future__ import annotations

import pytest

from penstock.catalog.file import FileCatalog
from penstock.catalog.identifiers import ObjectPath
from penstock.catalog.in_memory import GenericInMemoryCatalog
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.table import DataTypes, Schema, TableSchema
from penstock.table.catalog import (
    Catalog,
    CatalogBaseTable,
    CatalogDatabase,
    CatalogFunction,
    CatalogModel,
    CatalogPartition,
    CatalogPartitionSpec,
    CatalogTableStatistics,
    HiveCatalog,
)
from penstock.util import exceptions as failures

T = ObjectPath("default", "t")
GONE = ObjectPath("nowhere", "t")
SPEC = CatalogPartitionSpec({"day": "1", "hour": "2"})
COLUMNS = TableSchema(["a", "day", "hour"], [DataTypes.INT(), DataTypes.STRING(), DataTypes.STRING()])
TABLE = CatalogBaseTable.create_table(COLUMNS, ["day", "hour"], {"connector": "datagen"}, "c")
PLAIN = CatalogBaseTable.create_table(COLUMNS)
VIEW = CatalogBaseTable.create_view("SELECT 1", "SELECT 1", COLUMNS, {})
FUNCTION = CatalogFunction.create_instance("m.F")
MODEL = CatalogModel.create_model(
    Schema.new_builder().column("x", "INT").build(), Schema(), {"provider": "p"}
)


@pytest.fixture(params=["memory", "file"])
def catalog(request, tmp_path):
    if request.param == "memory":
        return GenericInMemoryCatalog("c")
    made = FileCatalog("c", str(tmp_path), "default", lambda _, table: "PLAIN", lambda _: TABLE)
    made.open()
    return made


@pytest.mark.parametrize(
    ("wrong", "exception"),
    [
        (lambda c: c.get_database("x"), "DatabaseNotExistException"),
        (lambda c: c.drop_database("x", False), "DatabaseNotExistException"),
        (lambda c: c.create_database("default", CatalogDatabase(), False), "DatabaseAlreadyExistException"),
        (lambda c: c.create_table(GONE, TABLE, True), "DatabaseNotExistException"),
        (lambda c: c.get_table(GONE), "TableNotExistException"),
        (lambda c: c.drop_table(GONE, False), "TableNotExistException"),
        (lambda c: c.rename_table(T, "u", False), "TableNotExistException"),
        (lambda c: c.get_function(GONE), "FunctionNotExistException"),
        (lambda c: c.drop_function(T, False), "FunctionNotExistException"),
        (lambda c: c.create_function(GONE, FUNCTION, False), "DatabaseNotExistException"),
        (lambda c: c.create_model(GONE, MODEL, False), "DatabaseNotExistException"),
        (lambda c: c.get_model(T), "ModelNotExistException"),
        (lambda c: c.get_partition(T, SPEC), "PartitionNotExistException"),
        (lambda c: c.create_partition(T, SPEC, CatalogPartition(), True), "TableNotExistException"),
        (lambda c: c.get_table_statistics(T), "TableNotExistException"),
    ],
)
def test_what_is_missing_or_there_already_has_its_own_exception(catalog, wrong, exception):
    with pytest.raises(getattr(failures, exception)) as raised:
        wrong(catalog)
    assert isinstance(raised.value, failures.CatalogException)
    assert isinstance(raised.value, ValidationError)


def test_partitions_are_listed_by_some_of_their_values(catalog):
    catalog.create_table(T, TABLE, False)
    catalog.create_partition(T, SPEC, CatalogPartition.create_instance({"k": "v"}, "note"), False)
    other = CatalogPartitionSpec({"hour": "3", "day": "1"})
    catalog.create_partition(T, other, CatalogPartition(), False)
    assert catalog.list_partitions(T) == [SPEC, other]
    assert catalog.list_partitions(T, CatalogPartitionSpec({"hour": "2"})) == [SPEC]
    assert catalog.get_partition(T, SPEC).get_properties() == {"k": "v"}
    with pytest.raises(failures.PartitionAlreadyExistsException):
        catalog.create_partition(T, SPEC, CatalogPartition(), False)
    catalog.drop_partition(T, SPEC, False)
    catalog.drop_partition(T, SPEC, True)
    with pytest.raises(failures.PartitionNotExistException):
        catalog.drop_partition(T, SPEC, False)


def test_values_have_to_be_those_of_the_partition_columns(catalog):
    catalog.create_table(T, TABLE, False)
    for values in ({"day": "1"}, {"day": "1", "hour": "2", "a": "3"}, {"a": "1"}):
        with pytest.raises(failures.PartitionSpecInvalidException):
            catalog.create_partition(T, CatalogPartitionSpec(values), CatalogPartition(), False)
    with pytest.raises(failures.PartitionSpecInvalidException):
        catalog.list_partitions(T, CatalogPartitionSpec({"a": "1"}))


def test_a_table_without_partition_columns_has_no_partitions():
    catalog = GenericInMemoryCatalog("c")
    catalog.create_table(T, PLAIN, False)
    with pytest.raises(failures.TableNotPartitionedException):
        catalog.list_partitions(T)


def test_partitions_go_with_their_table(catalog):
    catalog.create_table(T, TABLE, False)
    catalog.create_partition(T, SPEC, CatalogPartition(), False)
    catalog.rename_table(T, "u", False)
    renamed = ObjectPath("default", "u")
    assert catalog.partition_exists(renamed, SPEC)
    assert not catalog.partition_exists(T, SPEC)
    catalog.drop_table(renamed, False)
    catalog.create_table(renamed, TABLE, False)
    assert catalog.list_partitions(renamed) == []


def test_models_are_renamed_altered_and_dropped(catalog):
    path, renamed = ObjectPath("default", "m"), ObjectPath("default", "n")
    catalog.create_model(path, MODEL, False)
    with pytest.raises(failures.ModelAlreadyExistException):
        catalog.create_model(path, MODEL, False)
    catalog.rename_model(path, "n", False)
    catalog.alter_model(renamed, MODEL.copy({"provider": "q"}), False)
    assert catalog.list_models("default") == ["n"]
    assert catalog.get_model(renamed).get_options() == {"provider": "q"}
    catalog.drop_model(renamed, False)
    assert not catalog.model_exists(renamed)


def test_partitions_and_models_are_there_after_a_restart(tmp_path):
    def opened():
        made = FileCatalog("c", str(tmp_path), "default", lambda *_: "ddl", lambda _: TABLE)
        made.open()
        return made

    before = opened()
    before.create_table(T, TABLE, False)
    before.create_partition(T, SPEC, CatalogPartition.create_instance({"k": "v"}, "note"), False)
    before.create_model(ObjectPath("default", "m"), MODEL, False)
    after = opened()
    assert after.list_partitions(T) == [SPEC]
    assert after.get_partition(T, SPEC) == before.get_partition(T, SPEC)
    assert after.get_model(ObjectPath("default", "m")) == MODEL


def test_statistics_are_what_was_said_last(catalog):
    catalog.create_table(T, TABLE, False)
    assert catalog.get_table_statistics(T).get_row_count() == -1
    catalog.alter_table_statistics(T, CatalogTableStatistics(row_count=7), False)
    catalog.alter_table_statistics(GONE, CatalogTableStatistics(row_count=7), True)
    assert catalog.get_table_statistics(T).get_row_count() == 7


def test_a_table_does_not_become_a_view(catalog):
    catalog.create_table(T, TABLE, False)
    with pytest.raises(failures.CatalogException, match="cannot become a view"):
        catalog.alter_table(T, VIEW, False)


def test_what_a_kind_of_catalog_lacks_is_not_supported():
    with pytest.raises(NotSupportedError, match="create_partition of a Catalog"):
        Catalog().create_partition(T, SPEC, CatalogPartition(), False)
    with pytest.raises(NotSupportedError, match="HiveCatalog 'h'"):
        HiveCatalog("h")

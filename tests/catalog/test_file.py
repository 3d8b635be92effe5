"""The file catalog is the same after a restart."""

from __future__ import annotations

import pathlib

import pytest

from penstock.catalog.catalog_manager import CatalogManager
from penstock.catalog.identifiers import ObjectPath
from penstock.catalog.objects import CatalogTable, CatalogView
from penstock.common.errors import ValidationError
from penstock.sql.catalog_types import create_catalog_from_options
from penstock.sql.session import SqlSession


def open_session(folder: pathlib.Path) -> SqlSession:
    session = SqlSession(CatalogManager(), {})
    session.execute(f"CREATE CATALOG f WITH ('type' = 'file', 'path' = '{folder}')")
    session.execute("USE CATALOG f")
    return session


def test_tables_views_and_databases_survive_a_restart(tmp_path: pathlib.Path) -> None:
    first = open_session(tmp_path)
    first.execute("CREATE DATABASE store COMMENT 'goods'")
    first.execute(
        "CREATE TABLE store.t (id INT, twice AS id * 2, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, "
        "PRIMARY KEY (id) NOT ENFORCED) COMMENT 'it''s' WITH ('connector' = 'blackhole')"
    )
    first.execute("CREATE VIEW v AS SELECT id FROM store.t")
    catalog = open_session(tmp_path).catalogs.catalog("f")
    table = catalog.get_table(ObjectPath("store", "t"))
    view = catalog.get_table(ObjectPath("default", "v"))
    assert isinstance(table, CatalogTable) and isinstance(view, CatalogView)
    assert [c.name for c in table.schema.columns] == ["id", "twice", "ts"]
    assert (table.primary_key, table.comment) == (("id",), "it's")
    assert view.original_query == "SELECT id FROM store.t"
    assert catalog.get_database("store").get_comment() == "goods"


def test_what_was_dropped_stays_dropped(tmp_path: pathlib.Path) -> None:
    first = open_session(tmp_path)
    first.execute("CREATE DATABASE store")
    first.execute("DROP DATABASE store")
    assert open_session(tmp_path).catalogs.catalog("f").list_databases() == ["default"]


def test_a_damaged_file_is_named(tmp_path: pathlib.Path) -> None:
    (tmp_path / "default.json").write_text("{")
    with pytest.raises(ValidationError, match=r"default\.json"):
        create_catalog_from_options("f", {"type": "file", "path": str(tmp_path)}).open()

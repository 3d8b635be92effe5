"""Connectors and formats of other packages: found by name, imported when asked for, refused with a reason."""

from __future__ import annotations

import pathlib
import sys

import pytest

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.connectors.registry import connector_names, find_connector
from penstock.formats import find_format, format_names
from tests.connectors.packages import InstalledPackage

BUS = """
    from penstock.connectors.table import TableConnector
    from penstock.formats.base import Option

    class BusConnector(TableConnector):
        name = "bus"
        options = (Option("line", required=True),)
"""


def test_a_package_offers_a_connector(tmp_path: pathlib.Path) -> None:
    with InstalledPackage(tmp_path, "busline", {"busline_mod": BUS}, {"bus": "busline_mod:BusConnector"}):
        assert "bus" in connector_names()
        assert "busline_mod" not in sys.modules, "listing does not import"
        connector = find_connector({"connector": "bus", "line": "7"}, "t")
        assert (connector.name, connector.values) == ("bus", {"line": "7"})
        with pytest.raises(ValidationError, match="required option 'line' is missing"):
            find_connector({"connector": "bus"}, "t")
    with pytest.raises(ValidationError, match="there is no connector 'bus'"):
        find_connector({"connector": "bus"}, "t")


def test_a_package_that_cannot_be_imported_is_named_when_it_is_asked_for(tmp_path: pathlib.Path) -> None:
    points = {"bus": "busline_mod:BusConnector"}
    with InstalledPackage(tmp_path, "busline", {"busline_mod": "import no_such_module"}, points):
        assert find_connector({"connector": "blackhole"}, "t").name == "blackhole"
        with pytest.raises(
            ValidationError, match=r"connector 'bus' of package busline.*no_such_module"
        ) as found:
            find_connector({"connector": "bus"}, "cat.db.t")
    assert found.value.where == "table cat.db.t"
    assert "bus = busline_mod:BusConnector" in (found.value.do or "")


def test_a_name_of_penstock_cannot_be_taken(tmp_path: pathlib.Path) -> None:
    with InstalledPackage(tmp_path, "busline", {"busline_mod": BUS}, {"print": "busline_mod:BusConnector"}):
        with pytest.raises(
            ValidationError, match=r"'print' of package busline cannot be used.*taken by Penstock"
        ):
            find_connector({"connector": "print"}, "t")
        assert find_connector({"connector": "blackhole"}, "t").name == "blackhole"


def test_two_packages_with_one_name_are_both_named(tmp_path: pathlib.Path) -> None:
    point = {"bus": "busline_mod:BusConnector"}
    other = {"bus": "tram_mod:BusConnector"}
    with (
        InstalledPackage(tmp_path, "busline", {"busline_mod": BUS}, point),
        InstalledPackage(tmp_path, "tram", {"tram_mod": BUS}, other),
        pytest.raises(ValidationError, match="offered by several packages: busline and tram"),
    ):
        find_connector({"connector": "bus", "line": "7"}, "t")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("BusConnector = 7", "7 is not a TableConnector"),
        (BUS.replace('"bus"', '"tram"'), "calls itself 'tram'"),
    ],
)
def test_something_else_than_a_connector_is_refused(tmp_path: pathlib.Path, text: str, message: str) -> None:
    with (
        InstalledPackage(tmp_path, "busline", {"busline_mod": text}, {"bus": "busline_mod:BusConnector"}),
        pytest.raises(ValidationError, match=message),
    ):
        find_connector({"connector": "bus", "line": "7"}, "t")


def test_a_close_name_is_suggested_also_one_of_a_package(tmp_path: pathlib.Path) -> None:
    with (
        InstalledPackage(tmp_path, "busline", {"m": BUS}, {"omnibus": "m:BusConnector"}),
        pytest.raises(ValidationError) as found,
    ):
        find_connector({"connector": "omnibuss"}, "t")
    assert found.value.do == "did you mean 'omnibus'?"


FORMAT = """
    from penstock.formats.base import Format

    KEYS = Format(name="keys", options=(), decoder=None, encoder=None)
"""


def test_a_package_offers_a_format(tmp_path: pathlib.Path) -> None:
    with InstalledPackage(tmp_path, "keyring", {"keyring_mod": FORMAT}, formats={"keys": "keyring_mod:KEYS"}):
        assert "keys" in format_names()
        assert find_format("keys").name == "keys"
    with pytest.raises(ValidationError, match="there is no format 'keys'"):
        find_format("keys")


def test_a_format_of_penstock_cannot_be_replaced(tmp_path: pathlib.Path) -> None:
    with (
        InstalledPackage(tmp_path, "keyring", {"keyring_mod": FORMAT}, formats={"csv": "keyring_mod:KEYS"}),
        pytest.raises(ValidationError, match="format 'csv' of package keyring cannot be used"),
    ):
        find_format("csv")


@pytest.mark.parametrize("name", ["hbase-2.2", "paimon", "kinesis", "elasticsearch-6"])
def test_connectors_of_flinks_that_are_missing_are_refused_by_name(name: str) -> None:
    with pytest.raises(NotSupportedError, match=f"not supported: connector '{name}', because"):
        find_connector({"connector": name}, "t")

"""Programs that say pyflink."""

from __future__ import annotations

import importlib
import sys

import pytest

from penstock.runtime.compat import install_pyflink_alias


def test_a_pyflink_module_is_the_penstock_module_itself() -> None:
    install_pyflink_alias()
    alias = importlib.import_module("pyflink.common.errors")
    real = importlib.import_module("penstock.common.errors")
    assert alias is real
    assert real.__name__ == "penstock.common.errors"
    assert real.__spec__ is not None and real.__spec__.name == "penstock.common.errors"


def test_a_module_that_penstock_lacks_cannot_be_imported() -> None:
    install_pyflink_alias()
    with pytest.raises(ModuleNotFoundError, match=r"not supported: the module pyflink\.no_such_module"):
        importlib.import_module("pyflink.no_such_module")


def test_installing_twice_adds_one_finder() -> None:
    install_pyflink_alias()
    before = len(sys.meta_path)
    install_pyflink_alias()
    assert len(sys.meta_path) == before

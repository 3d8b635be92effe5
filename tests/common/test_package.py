from __future__ import annotations

import subprocess
import sys

import pytest

import penstock.common


def test_formats_are_found_where_older_programs_look_for_them():
    from penstock.common import JsonRowDeserializationSchema
    from penstock.datastream.formats.json import JsonRowDeserializationSchema as real

    assert JsonRowDeserializationSchema is real
    with pytest.raises(AttributeError, match="NoSuchThing"):
        _ = penstock.common.NoSuchThing


def test_importing_common_pulls_in_no_higher_layer():
    program = (
        "import sys, penstock.common, penstock.common.codecs, penstock.metrics;"
        "print([m for m in sys.modules if m.split('.')[0] in ('pyspark', 'pyarrow') or m.startswith("
        "('penstock.datastream', 'penstock.runtime', 'penstock.state', 'penstock.operators'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

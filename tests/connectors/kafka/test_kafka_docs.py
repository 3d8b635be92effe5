"""docs/connectors/kafka.md names every option and every metadata key."""

from __future__ import annotations

import pathlib

import pytest

from penstock.connectors.kafka.options import KAFKA_OPTIONS, UPSERT_OPTIONS
from penstock.connectors.kafka.table import KafkaConnector
from tests.servers.kafka import KafkaServer

ROOT = pathlib.Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "connectors" / "kafka.md").read_text()


@pytest.mark.parametrize("name", sorted({o.name for o in (*KAFKA_OPTIONS, *UPSERT_OPTIONS)}))
def test_every_option_is_in_a_table(name: str) -> None:
    assert any(f"`{name}`" in line for line in PAGE.splitlines() if line.startswith("| ")), name


@pytest.mark.parametrize("name", KafkaConnector.metadata_columns)
def test_every_metadata_key_is_in_a_table(name: str) -> None:
    kind = KafkaConnector.metadata_columns[name].as_summary().replace("<", "&lt;").replace(">", "&gt;")
    ways = "read, write" if name in KafkaConnector.writable_metadata else "read"
    below = PAGE.split("Metadata columns:", 1)[1]  # an option may have the same name
    [line] = [line for line in below.splitlines() if line.startswith(f"| `{name}` |")]
    assert f"| {kind.replace('STRING NOT NULL, ', 'STRING, ')} | {ways}" in line


@pytest.mark.spark
def test_the_example_runs(kafka: KafkaServer) -> None:
    import importlib.util

    path = ROOT / "examples" / "kafka" / "totals.py"
    spec = importlib.util.spec_from_file_location("kafka_totals", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.run(kafka.servers) == {"tea": 5, "coffee": 5, "cake": 5}

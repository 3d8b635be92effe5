"""The options of `delta` tables. Those of the storage are deltalake's own, after `storage.`."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.connectors.delta.lake import DeltaLake
from penstock.connectors.option_values import at_least
from penstock.formats.base import Option, one_of

STORAGE = "storage."

OPTIONS = (
    Option("table-path", required=True),
    Option("versionAsOf", at_least(0)),
    Option("timestampAsOf"),
    Option("sink.unknown-outcome", one_of("skip", "publish")),
    Option("sink.parallelism", at_least(1)),
)


def lake(path: str, raw: Mapping[str, str]) -> DeltaLake:
    return DeltaLake(path, {k[len(STORAGE) :]: v for k, v in raw.items() if k.startswith(STORAGE)})

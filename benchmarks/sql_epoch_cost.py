"""What an epoch of streaming SQL costs beside an epoch of DataStream that does the same, over little and much state.

Each job first reads every key once, 10,000 or 5 million of them, and then epochs of 1,000 scattered keys:

    DataStream   a keyed process function with a count in value state, one exchange
    GROUP BY     SELECT k, COUNT(*), SUM(v) … GROUP BY k, one exchange
    three        a GROUP BY over a join over a GROUP BY: three stateful operators in a row
                 (10,000 keys only: it shows what operators cost, not what state costs)

All of them read the same generator, and all run in one process after the other. usage: sql_epoch_cost.py [--large N]
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from epoch_overhead import PARALLELISM, ROWS_PER_EPOCH, SCATTER, LoadThenTouch
from epoch_overhead import measure as measure_datastream

from penstock.common.datatypes import DataTypes, RowField, RowType
from penstock.connectors.registry import register_connector
from penstock.connectors.source import ArrowBatch, ArrowReader, ReadLimit, Source, SourceReader, SourceSplit
from penstock.connectors.table import TableConnector
from penstock.formats.base import Option
from penstock.table import EnvironmentSettings, TableEnvironment

EPOCHS = 40
WARM_UP = 5

GROUP_BY = "SELECT k, COUNT(*), SUM(v) FROM events GROUP BY k"
THREE = """
    SELECT n, COUNT(*), SUM(s) FROM (
      SELECT a.k, a.n, a.s + b.v AS s
      FROM (SELECT k, COUNT(*) AS n, SUM(v) AS s FROM events GROUP BY k) a JOIN names b ON a.k = b.k)
    GROUP BY n"""


class KeysReader(ArrowReader):
    """The keys of `LoadThenTouch` in columns (k, v)."""

    def __init__(self, keys: int) -> None:
        self.keys = keys
        self.row_type = RowType([RowField("k", DataTypes.BIGINT()), RowField("v", DataTypes.BIGINT())])

    def read_arrow(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[ArrowBatch]:
        index, lane = position or 0, int(split.split_id)
        while index < limit.end_position:
            after = min(index + 100_000, limit.end_position)
            numbers = np.arange(index, after, dtype=np.int64) * PARALLELISM + lane
            found = np.where(numbers < self.keys, numbers, numbers * SCATTER % self.keys)
            yield ArrowBatch(pa.record_batch([pa.array(found), pa.array(found % 7)], names=["k", "v"]), after)
            index = after


class Keys(LoadThenTouch):
    """`LoadThenTouch` in columns."""

    def create_reader(self) -> SourceReader:
        return KeysReader(self.keys)


@register_connector
class KeysConnector(TableConnector):
    """`'connector' = 'keys'`: every key once, then epochs that touch some of them."""

    name = "keys"
    options = (Option("keys", int, 0), Option("epochs", int, 0))
    directions = ("source",)

    def source(self, table: Any, columns: Sequence[str] | None = None) -> Source:
        return Keys(self.values["keys"], self.values["epochs"])


def measure_sql(query: str, width: int, keys: int, epochs: int) -> float:
    """The median epoch that reads `ROWS_PER_EPOCH` rows, in milliseconds."""
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", str(PARALLELISM))
    for name, rounds in (("events", epochs), ("names", 0)):
        t_env.execute_sql(
            f"CREATE TABLE {name} (k BIGINT, v BIGINT) "
            f"WITH ('connector' = 'keys', 'keys' = '{keys}', 'epochs' = '{rounds}')"
        )
    columns = ", ".join(f"c{i} BIGINT" for i in range(width))
    t_env.execute_sql(f"CREATE TABLE target ({columns}) WITH ('connector' = 'blackhole')")
    result = t_env.execute_sql(f"INSERT INTO target {query}")
    result.wait()
    timings = result._result.details["jobs"][0].statistics.recent
    small = [t.total_ms for t in timings if t.records == ROWS_PER_EPOCH][WARM_UP:]
    return statistics.median(small)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--large", type=int, default=5_000_000)
    arguments = parser.parse_args()
    measure_datastream(10_000, 20)  # starts Spark and warms its code up
    measure_sql(GROUP_BY, 3, 10_000, 20)
    measure_sql(THREE, 3, 10_000, 20)
    found: dict[str, float] = {}
    for keys in (10_000, arguments.large):
        found[f"datastream {keys}"] = measure_datastream(keys, EPOCHS)["median_ms"]
        found[f"group by {keys}"] = measure_sql(GROUP_BY, 3, keys, EPOCHS)
        ratio = found[f"group by {keys}"] / found[f"datastream {keys}"]
        print(
            f"{keys:>9,} keys: DataStream {found[f'datastream {keys}']:.0f} ms, "
            f"GROUP BY {found[f'group by {keys}']:.0f} ms = {ratio:.2f} x"
        )
    found["three"] = measure_sql(THREE, 3, 10_000, EPOCHS)
    print(
        f"three stateful operators: {found['three']:.0f} ms = {found['three'] / found['datastream 10000']:.2f} x"
    )
    print(json.dumps(found))


if __name__ == "__main__":
    main()

"""What a call of a built-in function costs, and who makes it: Catalyst, an Arrow kernel, or Python row by row.

    batch      who evaluates the call in a bounded query: Catalyst, or a Python UDF beside it
    streaming  who evaluates it in an epoch: kernels over Arrow columns, Python for each value, or Catalyst

Streaming calls are timed in this process, without Spark: CPU time for one call over all rows. `--engines` names
engines to run whole queries on, into `blackhole`: "batch" and "streaming" on penstock, "flink batch" and "flink
streaming" on a Flink cluster of two slots. There the time is that of a query less that of one that only passes a
column on.
usage: functions.py [--rows 1000000] [--names REGEXP_EXTRACT,LIKE] [--engines batch,streaming,flink streaming]
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.sql.arrow import compile_columns
from penstock.sql.arrow.expression import ArrowExpression
from penstock.sql.arrow.values import per_row, per_value
from penstock.sql.functions.udfs import required_udfs
from penstock.sql.plan.algebra import Project
from penstock.sql.plan.rex import Rex
from penstock.sql.spark.text import SparkWriter
from penstock.table import EnvironmentSettings, TableEnvironment

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

TEXTS = "q STRING, w STRING, n STRING, j STRING, u STRING, t STRING"
COLUMNS = f"{TEXTS}, ts TIMESTAMP(3), i BIGINT, f DOUBLE, d DECIMAL(12, 2)"
BASE = "passes a column on"
EXPRESSIONS = {
    BASE: "i",
    "REGEXP": "REGEXP(q, 'id=[0-9]+5')",
    "REGEXP_EXTRACT": "REGEXP_EXTRACT(q, '(&|^)channel_id=([^&]*)', 2)",
    "REGEXP_EXTRACT, group may be absent": "REGEXP_EXTRACT(q, '(x=[0-9])?&channel_id', 1)",
    "REGEXP_EXTRACT, {n}": "REGEXP_EXTRACT(q, '([0-9]{2})&', 1)",
    "REGEXP_REPLACE": "REGEXP_REPLACE(q, '[0-9]+', '#')",
    "LIKE, contains": "q LIKE '%id=7%'",
    "LIKE, wildcards": "q LIKE 'x=_&%id%9'",
    "SIMILAR TO": "w SIMILAR TO '%(a|b)c%'",
    "SPLIT_INDEX": "SPLIT_INDEX(q, '&', 1)",
    "LOWER": "LOWER(w)",
    "UPPER": "UPPER(w)",
    "TRIM": "TRIM(w)",
    "SUBSTRING": "SUBSTRING(q, 3, 5)",
    "CONCAT": "CONCAT(w, '-', n)",
    "CONCAT_WS": "CONCAT_WS('/', w, n, q)",
    "INITCAP": "INITCAP(w)",
    "CAST text to INT": "CAST(n AS INT)",
    "TRY_CAST text to DOUBLE": "TRY_CAST(n AS DOUBLE)",
    "CAST number to text": "CAST(i AS STRING)",
    "CAST text to TIMESTAMP": "CAST(t AS TIMESTAMP(3))",
    "CAST TIMESTAMP to text": "CAST(ts AS STRING)",
    "DATE_FORMAT, digits": "DATE_FORMAT(ts, 'yyyy-MM-dd HH:mm')",
    "DATE_FORMAT, names": "DATE_FORMAT(ts, 'EEE, d MMM yyyy')",
    "TO_TIMESTAMP": "TO_TIMESTAMP(t)",
    "TO_TIMESTAMP, pattern": "TO_TIMESTAMP(REPLACE(t, '-', '/'), 'yyyy/MM/dd HH:mm:ss')",
    "EXTRACT": "EXTRACT(HOUR FROM ts)",
    "FLOOR TO": "FLOOR(ts TO MINUTE)",
    "JSON_VALUE": "JSON_VALUE(j, '$.user.name')",
    "JSON_VALUE, RETURNING": "JSON_VALUE(j, '$.amount' RETURNING INTEGER)",
    "JSON_EXISTS": "JSON_EXISTS(j, '$.user.id')",
    "MD5": "MD5(q)",
    "SHA256": "SHA256(q)",
    "PARSE_URL": "PARSE_URL(u, 'HOST')",
    "PARSE_URL, query": "PARSE_URL(u, 'QUERY', 'k')",
    "DECIMAL arithmetic": "d * CAST(1.07 AS DECIMAL(5, 2)) + d",
    "CASE": "CASE WHEN i < 1000 THEN 'low' WHEN i < 100000 THEN 'mid' ELSE 'high' END",
    "COALESCE": "COALESCE(NULLIF(w, 'x'), n, q)",
    "ROUND": "ROUND(f, 2)",
    "MOD": "MOD(i, 123)",
}


def table_of(rows: int) -> pa.Table:
    """Texts of some tens of characters, no two alike; the same for every run."""
    dice = np.random.default_rng(7)
    i = dice.integers(0, 1_000_000, rows)
    ts = 1_700_000_000_000 + dice.integers(0, 86_400_000 * 30, rows)
    moments = pa.array(ts, pa.timestamp("ms"))
    texts = [str(moment)[:19] for moment in moments.to_numpy(zero_copy_only=False).astype("datetime64[s]")]
    return pa.table(
        {
            "q": [f"x={k % 10}&channel_id={k}&z=a{k % 77}" for k in i],
            "w": [f"  some Words abc{k % 1000} " for k in i],
            "n": [str(k) for k in i],
            "j": [
                f'{{"user": {{"id": {k}, "name": "n{k}"}}, "amount": {k % 99}, "tags": ["a", "b"]}}'
                for k in i
            ],
            "u": [f"https://www.example{k % 9}.com/a/{k}?k={k}&z=1" for k in i],
            "t": [text.replace("T", " ") for text in texts],
            "ts": moments,
            "i": i,
            "f": dice.random(rows) * 1000,
            "d": pa.array(i).cast(pa.decimal128(21, 2)).cast(pa.decimal128(12, 2)),
        }
    )


# --- who evaluates it -----------------------------------------------------------------------------------


def bound(environment: TableEnvironment, expression: str) -> tuple[Rex, str]:
    """The typed expression, and its Spark SQL text."""
    plan = environment.sql_query(f"SELECT {expression} AS r FROM source")._plan
    while not isinstance(plan, Project):
        plan = plan.inputs[0]
    [rex] = plan.exprs
    return rex, SparkWriter(lambda scan: "").rex(rex, [f.name for f in plan.input.fields])


def kinds(rex: Rex, text: str, table: pa.Table) -> tuple[str, str, ArrowExpression | None]:
    """Who evaluates it in batch, who in streaming, and the compiled form if it has one."""
    batch = "Python" if required_udfs(text) else "Catalyst"
    compiled = compile_columns([rex], "UTC")
    if compiled is None:
        return batch, "Catalyst", None
    calls = called_functions(partial(compiled[0], table.columns, table.num_rows))
    by_value = {per_value.__code__, per_row.__code__} & calls
    return batch, "Python" if by_value else "Arrow", compiled[0]


def called_functions(action: Callable[[], Any]) -> set[Any]:
    """The code of the Python functions that run while something is done."""
    seen: set[Any] = set()
    sys.setprofile(lambda frame, event, _: seen.add(frame.f_code) if event == "call" else None)
    try:
        action()
    finally:
        sys.setprofile(None)
    return seen


def cpu_of(action: Callable[[], Any]) -> float:
    started = time.process_time()
    action()
    return time.process_time() - started


# --- whole queries --------------------------------------------------------------------------------------


def engine_seconds(engine: str, folder: pathlib.Path, expressions: dict[str, str]) -> dict[str, float]:
    from batch_sql import parquet_jars
    from engines.flink_cluster import flink_cluster
    from side_by_side import flink_python, script, told_by

    mode = engine.removeprefix("flink ")
    command = script("engines/functions_flink_api.py", folder, mode, COLUMNS, json.dumps(expressions))
    if mode == engine:
        return dict(told_by(engine, command)["seconds"])
    with flink_cluster(flink_python(), parquet_jars()) as (launcher, environment):
        return dict(told_by(engine, [*launcher, *command[1:]], environment)["seconds"])


def written(table: pa.Table) -> pathlib.Path:
    folder = pathlib.Path.home() / ".cache" / "penstock-bench" / f"functions-{table.num_rows}"
    if not folder.exists():
        folder.mkdir(parents=True)
        half = (table.num_rows + 1) // 2
        for part in range(2):  # a file for each of two subtasks
            pq.write_table(table.slice(part * half, half), folder / f"part-{part}.parquet")
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--names", default="")
    parser.add_argument("--engines", default="")
    arguments = parser.parse_args()
    chosen = {name for name in arguments.names.split(",") if name}
    expressions = {
        k: v for k, v in EXPRESSIONS.items() if not chosen or k == BASE or k.split(",")[0] in chosen
    }
    table = table_of(arguments.rows)
    engines = [engine for engine in arguments.engines.split(",") if engine]
    seconds = {engine: engine_seconds(engine, written(table), expressions) for engine in engines}
    report(table, expressions, seconds)


def report(table: pa.Table, expressions: dict[str, str], seconds: dict[str, dict[str, float]]) -> None:
    """A line per function: nanoseconds per row."""
    environment = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    environment.execute_sql(
        f"CREATE TEMPORARY TABLE source ({COLUMNS}) WITH ('connector' = 'datagen', 'number-of-rows' = '1')"
    )
    print(
        f"{'ns per row':38s}{'batch':>10s}{'streaming':>11s}{'one call':>10s}",
        *(f"{e:>18s}" for e in seconds),
    )
    for name, expression in expressions.items():
        batch, streaming, compiled = kinds(*bound(environment, expression), table.slice(0, 100))
        call = cpu_of(partial(compiled, table.columns, table.num_rows)) if compiled else None
        told = [taken[name] - (0 if name == BASE else taken[BASE]) for taken in seconds.values()]
        shown = [f"{at / table.num_rows * 1e9:,.0f}" if at is not None else "-" for at in (call, *told)]
        columns = "".join(f"{text:>19s}" for text in shown[1:])
        print(f"{name:38s}{batch:>10s}{streaming:>11s}{shown[0]:>10s}{columns}", flush=True)


if __name__ == "__main__":
    main()

"""The tables of the benchmark, said once: the generator and every engine read this. Needs no package."""

from __future__ import annotations

import pathlib

QUERIES = pathlib.Path(__file__).parent / "queries"
MONEY = "DECIMAL(12, 2)"

TABLES = {
    "region": {"r_regionkey": "INT", "r_name": "STRING", "r_comment": "STRING"},
    "nation": {"n_nationkey": "INT", "n_name": "STRING", "n_regionkey": "INT", "n_comment": "STRING"},
    "supplier": {
        "s_suppkey": "BIGINT",
        "s_name": "STRING",
        "s_address": "STRING",
        "s_nationkey": "INT",
        "s_phone": "STRING",
        "s_acctbal": MONEY,
        "s_comment": "STRING",
    },
    "customer": {
        "c_custkey": "BIGINT",
        "c_name": "STRING",
        "c_address": "STRING",
        "c_nationkey": "INT",
        "c_phone": "STRING",
        "c_acctbal": MONEY,
        "c_mktsegment": "STRING",
        "c_comment": "STRING",
    },
    "part": {
        "p_partkey": "BIGINT",
        "p_name": "STRING",
        "p_mfgr": "STRING",
        "p_brand": "STRING",
        "p_type": "STRING",
        "p_size": "INT",
        "p_container": "STRING",
        "p_retailprice": MONEY,
        "p_comment": "STRING",
    },
    "partsupp": {
        "ps_partkey": "BIGINT",
        "ps_suppkey": "BIGINT",
        "ps_availqty": "INT",
        "ps_supplycost": MONEY,
        "ps_comment": "STRING",
    },
    "orders": {
        "o_orderkey": "BIGINT",
        "o_custkey": "BIGINT",
        "o_orderstatus": "STRING",
        "o_totalprice": MONEY,
        "o_orderdate": "DATE",
        "o_orderpriority": "STRING",
        "o_clerk": "STRING",
        "o_shippriority": "INT",
        "o_comment": "STRING",
    },
    "lineitem": {
        "l_orderkey": "BIGINT",
        "l_partkey": "BIGINT",
        "l_suppkey": "BIGINT",
        "l_linenumber": "INT",
        "l_quantity": MONEY,
        "l_extendedprice": MONEY,
        "l_discount": MONEY,
        "l_tax": MONEY,
        "l_returnflag": "STRING",
        "l_linestatus": "STRING",
        "l_shipdate": "DATE",
        "l_commitdate": "DATE",
        "l_receiptdate": "DATE",
        "l_shipinstruct": "STRING",
        "l_shipmode": "STRING",
        "l_comment": "STRING",
    },
}


def flink_ddl(table: str, data: str) -> str:
    """CREATE TABLE over the Parquet files of a table."""
    columns = ", ".join(f"{name} {type_}" for name, type_ in TABLES[table].items())
    path = pathlib.Path(data).resolve() / table
    return (
        f"CREATE TABLE {table} ({columns}) "
        f"WITH ('connector' = 'filesystem', 'path' = '{path.as_uri()}', 'format' = 'parquet')"
    )


def queries() -> dict[str, str]:
    """Name to text, in order."""
    return {path.stem: path.read_text() for path in sorted(QUERIES.glob("*.sql"))}

"""Writes the tables as Parquet: uniform random values in TPC-H's ranges, the same bytes for the same scale.

`gigabytes` counts as TPC-H's scale factor does: 1.0 is 6 million line items, about 1 GB as text, 0.2 GB as Parquet.
Orders and their line items are made in as many parts as there are files, each with a seed of its own.
"""

from __future__ import annotations

import pathlib
import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tpch.tables import TABLES

VERSION = 1
FILES = 4
FIRST_DAY, LAST_DAY, TODAY = (
    int(np.datetime64(day).astype(int)) for day in ("1992-01-01", "1998-08-02", "1995-06-17")
)
REGIONS = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]
SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]
PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
MODES = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"]
INSTRUCTIONS = ["COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN"]
TYPES = [
    f"{a} {b} {c}"
    for a in ("ECONOMY", "LARGE", "MEDIUM", "PROMO", "SMALL", "STANDARD")
    for b in ("ANODIZED", "BRUSHED", "BURNISHED", "PLATED", "POLISHED")
    for c in ("BRASS", "COPPER", "NICKEL", "STEEL", "TIN")
]
CONTAINERS = [
    f"{a} {b}" for a in ("JUMBO", "LG", "MED", "SM", "WRAP") for b in ("BAG", "BOX", "CASE", "PACK")
]
WORDS = [
    "bold",
    "deposits",
    "even",
    "final",
    "furiously",
    "ideas",
    "packages",
    "quick",
    "requests",
    "special",
]

Columns = dict[str, Any]


def generate(folder: pathlib.Path, gigabytes: float) -> pathlib.Path:
    """The folder with the tables of this scale, made unless it is there already."""
    target = folder / f"tpch-v{VERSION}-{gigabytes:g}"
    if (target / "_DONE").exists():
        return target
    shutil.rmtree(target, ignore_errors=True)
    sizes = {
        "supplier": max(10, int(10_000 * gigabytes)),
        "customer": max(100, int(150_000 * gigabytes)),
        "part": max(100, int(200_000 * gigabytes)),
        "orders": max(1000, int(1_500_000 * gigabytes)),
    }
    _write(target, "region", 0, {"r_regionkey": np.arange(5), "r_name": REGIONS})
    _write(target, "nation", 0, _nations())
    makers: dict[str, Callable[[int, np.random.Generator], Columns]] = {
        "supplier": _suppliers,
        "customer": _customers,
        "part": _parts,
    }
    for seed, (table, make) in enumerate(makers.items()):
        _write(target, table, 0, make(sizes[table], np.random.default_rng(seed)))
    for part in range(FILES):
        bounds = [sizes["orders"] * p // FILES for p in (part, part + 1)]
        orders, lines = _orders(np.arange(*bounds), sizes, np.random.default_rng(100 + part))
        _write(target, "orders", part, orders)
        _write(target, "lineitem", part, lines)
    (target / "_DONE").touch()
    return target


def _nations() -> Columns:
    numbers = np.arange(25)
    names = [f"{REGIONS[n % 5]} {n // 5 + 1}" for n in numbers]
    return {"n_nationkey": numbers, "n_name": names, "n_regionkey": numbers % 5}


def _suppliers(rows: int, rng: np.random.Generator) -> Columns:
    keys = np.arange(1, rows + 1)
    return {
        "s_suppkey": keys,
        "s_name": [f"Supplier#{key:09d}" for key in keys],
        "s_nationkey": rng.integers(0, 25, rows),
        "s_acctbal": rng.integers(-99_999, 1_000_000, rows),
    }


def _customers(rows: int, rng: np.random.Generator) -> Columns:
    keys = np.arange(1, rows + 1)
    nations = rng.integers(0, 25, rows)
    numbers = rng.integers(0, 10_000_000, rows)
    return {
        "c_custkey": keys,
        "c_name": [f"Customer#{key:09d}" for key in keys],
        "c_nationkey": nations,
        "c_phone": [
            f"{n + 10}-{p // 10_000:03d}-{p % 10_000:04d}" for n, p in zip(nations, numbers, strict=True)
        ],
        "c_acctbal": rng.integers(-99_999, 1_000_000, rows),
        "c_mktsegment": _pick(SEGMENTS, rows, rng),
        "c_comment": _comments(rows, rng),
    }


def _parts(rows: int, rng: np.random.Generator) -> Columns:
    keys = np.arange(1, rows + 1)
    return {
        "p_partkey": keys,
        "p_brand": _pick([f"Brand#{a}{b}" for a in range(1, 6) for b in range(1, 6)], rows, rng),
        "p_type": _pick(TYPES, rows, rng),
        "p_size": rng.integers(1, 51, rows),
        "p_container": _pick(CONTAINERS, rows, rng),
        "p_retailprice": _retail_price(keys),
    }


def _retail_price(part: np.ndarray) -> np.ndarray:
    """In cents, from the key alone, so that line items need no look-up."""
    return 90_000 + part // 10 % 20_001 + 100 * (part % 1000)


def _orders(numbers: np.ndarray, sizes: dict[str, int], rng: np.random.Generator) -> tuple[Columns, Columns]:
    count = len(numbers)
    keys = numbers // 8 * 32 + numbers % 8 + 1  # 8 of every 32 keys are used
    dates = rng.integers(FIRST_DAY, LAST_DAY + 1, count)
    lines_of = rng.integers(1, 8, count)
    first = np.cumsum(lines_of) - lines_of
    owner = np.repeat(np.arange(count), lines_of)
    lines = _lines(keys[owner], dates[owner], np.arange(len(owner)) - first[owner] + 1, sizes, rng)
    gross = lines["l_extendedprice"] * (100 - lines["l_discount"]) * (100 + lines["l_tax"]) // 10_000
    shipped = np.add.reduceat(lines["shipped"], first)
    status = np.where(shipped == lines_of, 0, np.where(shipped == 0, 1, 2))
    custkeys = rng.integers(1, sizes["customer"] // 3 + 1, count) * 3 - rng.integers(1, 3, count)
    orders = {
        "o_orderkey": keys,
        "o_custkey": custkeys,  # a third of the customers never order
        "o_orderstatus": _dictionary(status, ["F", "O", "P"]),
        "o_totalprice": np.add.reduceat(gross, first),
        "o_orderdate": dates,
        "o_orderpriority": _pick(PRIORITIES, count, rng),
        "o_shippriority": np.zeros(count, np.int32),
        "o_comment": _comments(count, rng),
    }
    return orders, lines


def _lines(
    keys: np.ndarray,
    ordered: np.ndarray,
    numbers: np.ndarray,
    sizes: dict[str, int],
    rng: np.random.Generator,
) -> Columns:
    count = len(keys)
    parts = rng.integers(1, sizes["part"] + 1, count)
    quantity = rng.integers(1, 51, count)
    ship = ordered + rng.integers(1, 122, count)
    receipt = ship + rng.integers(1, 31, count)
    shipped = ship <= TODAY
    flag = np.where(receipt <= TODAY, rng.integers(0, 2, count), 2)
    return {
        "l_orderkey": keys,
        "l_partkey": parts,
        "l_suppkey": rng.integers(1, sizes["supplier"] + 1, count),
        "l_linenumber": numbers,
        "l_quantity": quantity * 100,
        "l_extendedprice": quantity * _retail_price(parts),
        "l_discount": rng.integers(0, 11, count),
        "l_tax": rng.integers(0, 9, count),
        "l_returnflag": _dictionary(flag, ["A", "R", "N"]),
        "l_linestatus": _dictionary(shipped.astype(int), ["O", "F"]),
        "l_shipdate": ship,
        "l_commitdate": ordered + rng.integers(30, 91, count),
        "l_receiptdate": receipt,
        "l_shipinstruct": _pick(INSTRUCTIONS, count, rng),
        "l_shipmode": _pick(MODES, count, rng),
        "l_comment": _comments(count, rng),
        "shipped": shipped.astype(int),
    }


def _pick(values: list[str], rows: int, rng: np.random.Generator) -> pa.Array:
    return _dictionary(rng.integers(0, len(values), rows), values)


def _dictionary(indices: np.ndarray, values: list[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(indices.astype(np.int32), values).cast(pa.string())


def _comments(rows: int, rng: np.random.Generator) -> pa.Array:
    texts = [f"{a} {b} {c} {d}" for a in WORDS for b in WORDS for c in WORDS for d in WORDS]
    return _pick(texts, rows, rng)


def _write(target: pathlib.Path, table: str, part: int, columns: Columns) -> None:
    types = TABLES[table]
    arrays = [_arrow(columns[name], type_) for name, type_ in types.items()]
    (target / table).mkdir(parents=True, exist_ok=True)
    pq.write_table(
        pa.table(arrays, names=list(types)),
        target / table / f"part-{part}.parquet",
        row_group_size=500_000,
        compression="snappy",
        store_decimal_as_integer=True,
    )


def _arrow(values: Any, type_: str) -> pa.Array:
    if type_.startswith("DECIMAL"):
        return _decimals(values)
    if type_ == "DATE":
        return pa.array(values.astype(np.int32)).cast(pa.date32())
    return pa.array(values, {"INT": pa.int32(), "BIGINT": pa.int64(), "STRING": pa.string()}[type_])


def _decimals(cents: np.ndarray) -> pa.Array:
    """DECIMAL(12, 2) from cents without a Python object per value: 16 bytes each, low half first."""
    halves = np.stack([cents.astype(np.int64), np.where(cents < 0, -1, 0)], axis=1)
    return pa.Array.from_buffers(pa.decimal128(12, 2), len(cents), [None, pa.py_buffer(halves.tobytes())])

"""Writes the tables as Parquet: uniform random values in TPC-H's ranges, the same bytes for the same scale.

`gigabytes` counts bytes on disk: 1.0 is 19.7 million line items, TPC-H's scale factor 3.3 (which is 3.3 GB as text).
Comments and addresses are pieces of one long random text: no dictionary fits them, and they compress badly.
Orders and their line items are made in as many parts as there are files, each with a seed of its own.
"""

from __future__ import annotations

import functools
import pathlib
import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tpch.tables import TABLES

VERSION = 2
FILES = 8
POOL_BYTES = 4 << 20
GIGABYTES_PER_SCALE = 0.305
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
    "accounts",
    "blithely",
    "carefully",
    "courts",
    "daringly",
    "dolphins",
    "express",
    "foxes",
    "instructions",
    "ironic",
    "pending",
    "pinto",
    "regular",
    "sleep",
    "slyly",
    "theodolites",
    "unusual",
    "wake",
]
COLORS = ["almond", "azure", "blush", "coral", "forest", "ghost", "indigo", "khaki", "linen", "maroon"]

Columns = dict[str, Any]


def generate(folder: pathlib.Path, gigabytes: float) -> pathlib.Path:
    """The folder with tables of that size on disk, made unless it is there already."""
    scale = gigabytes / GIGABYTES_PER_SCALE
    target = folder / f"tpch-v{VERSION}-{gigabytes:g}"
    if (target / "_DONE").exists():
        return target
    shutil.rmtree(target, ignore_errors=True)
    sizes = {
        "supplier": max(10, int(10_000 * scale)),
        "customer": max(100, int(150_000 * scale)),
        "part": max(100, int(200_000 * scale)),
        "orders": max(1000, int(1_500_000 * scale)),
    }
    few = np.random.default_rng(50)
    regions = {"r_regionkey": np.arange(5), "r_name": REGIONS, "r_comment": _text(5, 31, 115, few)}
    _write(target, "region", 0, regions)
    _write(target, "nation", 0, {**_nations(), "n_comment": _text(25, 31, 114, few)})
    makers: dict[str, Callable[[int, np.random.Generator], Columns]] = {
        "supplier": _suppliers,
        "customer": _customers,
        "part": _parts,
    }
    for seed, (table, make) in enumerate(makers.items()):
        _write(target, table, 0, make(sizes[table], np.random.default_rng(seed)))
    _write(target, "partsupp", 0, _offers(sizes["part"], sizes["supplier"], np.random.default_rng(99)))
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
    nations = rng.integers(0, 25, rows)
    return {
        "s_suppkey": keys,
        "s_name": [f"Supplier#{key:09d}" for key in keys],
        "s_address": _text(rows, 10, 40, rng),
        "s_nationkey": nations,
        "s_phone": _phones(nations, rng),
        "s_acctbal": rng.integers(-99_999, 1_000_000, rows),
        "s_comment": _text(rows, 25, 100, rng),
    }


def _offers(parts: int, suppliers: int, rng: np.random.Generator) -> Columns:
    """Four suppliers for each part."""
    rows = 4 * parts
    keys = np.arange(rows) // 4 + 1
    return {
        "ps_partkey": keys,
        "ps_suppkey": (keys + np.arange(rows) % 4 * (suppliers // 4 + 1)) % suppliers + 1,
        "ps_availqty": rng.integers(1, 10_000, rows),
        "ps_supplycost": rng.integers(100, 100_001, rows),
        "ps_comment": _text(rows, 49, 198, rng),
    }


def _phones(nations: np.ndarray, rng: np.random.Generator) -> list[str]:
    numbers = rng.integers(0, 10_000_000, len(nations))
    return [f"{n + 10}-{p // 10_000:03d}-{p % 10_000:04d}" for n, p in zip(nations, numbers, strict=True)]


def _customers(rows: int, rng: np.random.Generator) -> Columns:
    keys = np.arange(1, rows + 1)
    nations = rng.integers(0, 25, rows)
    return {
        "c_custkey": keys,
        "c_name": [f"Customer#{key:09d}" for key in keys],
        "c_address": _text(rows, 10, 40, rng),
        "c_nationkey": nations,
        "c_phone": _phones(nations, rng),
        "c_acctbal": rng.integers(-99_999, 1_000_000, rows),
        "c_mktsegment": _pick(SEGMENTS, rows, rng),
        "c_comment": _text(rows, 29, 116, rng),
    }


def _parts(rows: int, rng: np.random.Generator) -> Columns:
    keys = np.arange(1, rows + 1)
    return {
        "p_partkey": keys,
        "p_name": _pick([f"{a} {b} {c}" for a in COLORS for b in COLORS for c in COLORS], rows, rng),
        "p_mfgr": _pick([f"Manufacturer#{m}" for m in range(1, 6)], rows, rng),
        "p_brand": _pick([f"Brand#{a}{b}" for a in range(1, 6) for b in range(1, 6)], rows, rng),
        "p_type": _pick(TYPES, rows, rng),
        "p_size": rng.integers(1, 51, rows),
        "p_container": _pick(CONTAINERS, rows, rng),
        "p_retailprice": _retail_price(keys),
        "p_comment": _text(rows, 5, 22, rng),
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
        "o_clerk": _pick([f"Clerk#{c:09d}" for c in range(1, max(2, sizes["supplier"] // 10))], count, rng),
        "o_shippriority": np.zeros(count, np.int32),
        "o_comment": _text(count, 19, 78, rng),
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
        "l_comment": _text(count, 10, 43, rng),
        "shipped": shipped.astype(int),
    }


def _pick(values: list[str], rows: int, rng: np.random.Generator) -> pa.Array:
    return _dictionary(rng.integers(0, len(values), rows), values)


def _dictionary(indices: np.ndarray, values: list[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(indices.astype(np.int32), values).cast(pa.string())


@functools.cache
def _pool() -> np.ndarray:
    """Words at random, one after the other, as bytes."""
    picked = np.random.default_rng(7).integers(0, len(WORDS), POOL_BYTES // 6)
    text = " ".join(WORDS[i] for i in picked).encode()
    return np.frombuffer(text, np.uint8)[:POOL_BYTES]


def _text(rows: int, shortest: int, longest: int, rng: np.random.Generator) -> pa.Array:
    """Random pieces of the pool, without a Python object per value."""
    pool = _pool()
    lengths = rng.integers(shortest, longest + 1, rows)
    starts = rng.integers(0, len(pool) - longest, rows)
    ends = np.cumsum(lengths)
    bytes_from = np.arange(ends[-1]) + np.repeat(starts - ends + lengths, lengths)
    offsets = np.concatenate([[0], ends]).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(pool[bytes_from].tobytes())]
    return pa.Array.from_buffers(pa.string(), rows, buffers)


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

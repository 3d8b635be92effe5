"""How much of an epoch's changes is shown: pieces in which a key occurs once, and whole queries in this process."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from penstock.common import Row, Types
from penstock.common.errors import ValidationError
from penstock.datastream import StreamExecutionEnvironment
from penstock.delta.columns import named
from penstock.runtime.in_process import InProcessEpochs
from penstock.runtime.tables.detail import DETAIL, NET, Detail
from penstock.sql.streaming import jobs
from penstock.table import StreamTableEnvironment

PAIR = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.LONG()])
QUERIES = {
    "sum": "SELECT k, SUM(v) AS s, COUNT(*) AS n FROM t GROUP BY k",
    "distinct": "SELECT k, COUNT(DISTINCT v) AS s, MAX(v) AS m FROM t GROUP BY k",
    "rows": "SELECT k, LISTAGG(CAST(v AS STRING)) AS s, 0 AS n FROM t GROUP BY k",
    "top": "SELECT k, v, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM t) WHERE n <= 2",
}


def table(keys: list[Any], positions: list[int] | None = None) -> pa.Table:
    places = positions or list(range(len(keys)))
    return named([pa.array(keys), pa.array(places), *(pa.array([0] * len(keys)) for _ in range(2)), places])


def cut(detail: Detail, given: pa.Table, key_columns: tuple[int, ...] = (0,)) -> list[list[Any]] | None:
    pieces = detail.pieces(given, key_columns)
    return None if pieces is None else [piece.column(0).to_pylist() for piece in pieces]


def test_a_key_occurs_once_in_a_piece():
    every = Detail(None, None)
    assert cut(every, table(["a", "b", "a", "a", "b"])) == [["a", "b"], ["a"], ["a", "b"]]
    assert cut(every, table(["a", None, "b", None])) == [["a", None, "b"], [None]]
    assert cut(every, table(["a", "b"]), key_columns=()) == [["a"], ["b"]]


def test_pieces_are_in_order_of_arrival():
    assert cut(Detail(None, None), table(["a", "b", "a"], [3, 1, 2])) == [["b", "a"], ["a"]]


def test_limits():
    given = table(["a", "a", "a", "b"])
    assert cut(Detail(4, 3), given) == [["a"], ["a"], ["a", "b"]]
    assert cut(Detail(3, 3), given) is None
    assert cut(Detail(4, 2), given) is None
    assert cut(NET, given) is None


def test_an_unknown_detail_is_refused():
    with pytest.raises(ValidationError, match="invalid value 'all' for option"):
        Detail.of({DETAIL: "all"})


@pytest.fixture
def changes(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a query over pairs in this process; its changes."""
    monkeypatch.setattr(jobs, "make_runner", InProcessEpochs)

    def run(sql: str, pairs: list[tuple[str, int]], detail: str, parallelism: int = 1) -> list[Any]:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(parallelism)
        t_env = StreamTableEnvironment.create(env)
        t_env.get_config().set(DETAIL, detail)
        t_env.create_temporary_view("t", env.from_collection([Row(*p) for p in pairs], PAIR))
        with t_env.sql_query(sql).execute().collect() as rows:
            return [(str(row.get_row_kind()), *row) for row in rows]

    return run


def left(rows: list[Any]) -> list[Any]:
    """The table that changes leave; each row that goes must be there."""
    found: list[Any] = []
    for kind, *row in rows:
        if kind in ("+I", "+U"):
            found.append(row)
        else:
            found.remove(row)
    return sorted(found)


def test_each_change_of_a_group(changes):
    pairs = [("a", 1), ("b", 5), ("a", 2)]
    assert changes(QUERIES["sum"], pairs, "auto") == [
        ("+I", "a", 1, 1),
        ("+I", "b", 5, 1),
        ("-U", "a", 1, 1),
        ("+U", "a", 3, 2),
    ]
    assert sorted(changes(QUERIES["sum"], pairs, "net")) == [("+I", "a", 3, 2), ("+I", "b", 5, 1)]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("parallelism", [1, 3])
def test_all_details_leave_the_same_table(changes, query, parallelism):
    pairs = [(f"k{i % 7}", i * 37 % 101) for i in range(300)]
    shown = {d: changes(QUERIES[query], pairs, d, parallelism) for d in ("every-change", "auto", "net")}
    assert left(shown["every-change"]) == left(shown["auto"]) == left(shown["net"])
    assert len(shown["every-change"]) >= len(shown["auto"]) >= len(shown["net"])
    assert len(shown["every-change"]) > len(shown["net"])


def test_an_aggregate_of_changes_sees_each(changes):
    rows = changes(
        "SELECT SUM(s) AS total FROM (SELECT k, SUM(v) AS s FROM t GROUP BY k)", [("a", 1), ("a", 2)], "auto"
    )
    assert rows == [("+I", 1), ("-D", 1), ("+I", 3)]

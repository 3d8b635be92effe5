"""Every program of examples/table runs as it stands and prints what it says."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "table"
EXPECTED = {
    "async_function": ["France Paris", "Japan Tokyo", "Peru unknown"],
    "catalogs_and_modules": [
        "['default_catalog', 'shop'] ['numbers'] True",
        "DatabaseNotExistException",
        "['core', 'greetings']",
        "hello ann",
    ],
    "changelog_to_process_function": ["[('be', 1), ('to', 2)]"],
    "columns": ["['product', 'price', 'n', 'total']", "['item', 'price', 'n']", "PEN 2.5 4 10.0"],
    "compiled_plan": ["TableSourceScan", "Aggregate groupAggregateState", "Sink", "[0, 1, 2]"],
    "expressions": ["PEN-1 3.0 cheap no 3", "INK-2 14.4 dear true 3"],
    "functions": [
        "udf 4",
        "udf 9",
        "map AB 3",
        "map C 4",
        "udtf a 0",
        "udtf b 1",
        "udtf c 0",
        "udaf 2.5",
    ],
    "functions_in_sql": ["user functions: ['twice']", "3 6", "4 8"],
    "group_and_join": ["Oslo 7", "Rome 5", "no rank: Bonn"],
    "insert_and_sql": ["ink 9", "ink 9", "pen 4", "pen 7"],
    "lateral_joins": [
        "inner 1 #tea",
        "inner 2 #pie",
        "inner 2 #tea",
        "outer 1 #tea",
        "outer 2 #pie",
        "outer 2 #tea",
        "outer 3 None",
    ],
    "lineage_and_explain": [
        "item <- item DIRECT",
        "total <- price DIRECT * SUM",
        "total <- n DIRECT * SUM",
        "None <- item INDIRECT",
        "True True",
        "(",
        "  `item` STRING,",
        "  `total` DOUBLE",
        ")",
    ],
    "pandas_and_conveniences": ["(2, 2)", "6", "['?', 'a', 'a', 'b']", "[2, 3]", "[1, 2]", "['A', 'A', 'b']"],
    "pandas_functions": [
        "share ann 0.25",
        "share ann 0.75",
        "share ann 0.5",
        "share bob 0.5",
        "middle ann 2.0",
        "middle bob 8.0",
        "so far ann 1 1.0",
        "so far ann 2 1.5",
        "so far ann 3 2.0",
        "so far bob 8 8.0",
    ],
    "stream_query_stream": ["6 x PEN", "80 x PEN"],
    "table_aggregate": ["ink 1 5", "pen 1 7", "pen 2 4"],
    "upserts_as_table": ["[1, 3]"],
    "users_types": ["home 2.0 3", "work 5.0 3"],
    "views_in_state": ["ann tea", "bob pie"],
    "windows": [
        "window a 10 3",
        "window b 10 5",
        "window a 20 4",
        "so far a 1",
        "so far b 5",
        "so far a 3",
        "so far a 7",
    ],
    "word_count": ["to 3", "the 2"],
}


def test_all_examples_are_checked() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(EXPECTED)


_RUN_ALL = """
import contextlib, io, json, runpy, sys, traceback

for path in sys.argv[1:]:
    printed, error = io.StringIO(), None
    try:
        with contextlib.redirect_stdout(printed):
            runpy.run_path(path, run_name="__main__")
    except BaseException:
        error = traceback.format_exc()
    sys.stdout.write(json.dumps([printed.getvalue(), error]) + chr(10))
"""
ALONE = "word_count"
"""The one that has a process to itself, as a user would run it; the others share one, and its Spark session."""


@pytest.fixture(scope="module")
def printed() -> dict[str, tuple[str, str | None]]:
    """What each example printed, and its traceback if it failed."""
    names = sorted(set(EXPECTED) - {ALONE})
    paths = [str(EXAMPLES / f"{name}.py") for name in names]
    done = subprocess.run(
        [sys.executable, "-c", _RUN_ALL, *paths], capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    results = [json.loads(line) for line in done.stdout.splitlines()]
    return {name: (text, error) for name, (text, error) in zip(names, results, strict=True)}


@pytest.mark.spark
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", sorted(set(EXPECTED) - {ALONE}))
def test_an_example_prints_what_it_says(name: str, printed: dict[str, tuple[str, str | None]]) -> None:
    text, error = printed[name]
    assert error is None, error
    assert sorted(text.split("\n")[:-1]) == sorted(EXPECTED[name])


@pytest.mark.spark
def test_an_example_runs_alone() -> None:
    command = [sys.executable, str(EXAMPLES / f"{ALONE}.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert sorted(done.stdout.split("\n")[:-1]) == sorted(EXPECTED[ALONE])

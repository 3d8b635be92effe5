"""Every example runs as it stands and prints what its text promises."""

from __future__ import annotations

import pathlib
import re
import runpy

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "datastream"

EXPECTED = {
    "accumulators": ["dropped 2", "lengths {0: 2, 1: 2, 3: 1}"],
    "async_io": ["France: Paris", "Japan: Tokyo", "Peru: Lima"],
    "batch_mode": ["BATCH [('bread', 7), ('fruit', 7)]"],
    "broadcast_state": ["50 x book is above 10", "300 x pen is above 100"],
    "cached_stream": ["plus one [2, 5, 10]", "negative [-1, -4, -9]"],
    "checkpointed_function": ["[0, 1, 2]", "[3, 4, 5]"],
    "checkpoints": ["10"],
    "connected_streams": ["(airport,31.0)", "(station,9.5)"],
    "count_window": ["9", "27", "12", "30"],
    "custom_trigger": ["2", "3"],
    "event_time_timers": ["bob was last seen at 2000", "ann was last seen at 5000"],
    "evictor": ["('s', [4, 5, 6], 5.0)"],
    "interval_join": ["(ann,shoes,3000)", "(ann,socks,5000)"],
    "keyed_state": ["kitchen: 20.0 -> 21.5"],
    "late_data": ["window> (ab,9000)", "window> (abd,9000)", "late> (f,3000)"],
    "partitioning": ["custom [(0, 0), (0, 2), (0, 4), (1, 1), (1, 3), (1, 5)]"],
    "session_window": ["(ann,2,1000,9000)", "(bob,1,4500,9500)", "(ann,2,20000,28000)"],
    "side_output": ["number> 1", "number> 3", "rejected> two"],
    "sliding_time_window": ["(cellar,0,10000,12)", "(cellar,5000,15000,12)", "(cellar,10000,20000,8)"],
    "state_ttl": ["ann", "bob", "cy"],
    "tumbling_window": ["ann [0, 60000): 8.0", "bob [60000, 120000): 4.0"],
    "window_join": ["paid> ('ann', 'book', 12)", "unpaid> pen"],
    "word_count": ["(to,2)", "(question,1)"],
}


def test_every_example_is_listed_here():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(EXPECTED)


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_example(name: str, capsys: pytest.CaptureFixture[str]):
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    # "2> value" where there are several subtasks: which one prints is not promised.
    printed = [re.sub(r"^\d+> ", "", line) for line in capsys.readouterr().out.splitlines()]
    missing = [line for line in EXPECTED[name] if line not in printed]
    assert not missing, "\n".join(printed)

"""Windows as values, and which ones assigners name."""

from __future__ import annotations

import pickle
import subprocess
import sys

from penstock.state.encoding import decode_namespace, encode_namespace
from penstock.windowing import (
    CountWindow,
    CumulativeEventTimeWindows,
    GlobalWindow,
    SlidingEventTimeWindows,
    TimeWindow,
)


def test_windows_are_values_in_state_and_in_pickles():
    for window in (TimeWindow(-5, 10), CountWindow(3), GlobalWindow.get()):
        for copy in (pickle.loads(pickle.dumps(window)), decode_namespace(encode_namespace(window))):
            assert copy == window and hash(copy) == hash(window) and type(copy) is type(window)


def test_windows_in_state_are_read_where_nobody_has_imported_them():
    windows = [TimeWindow(-5, 10), CountWindow(3), GlobalWindow.get()]
    read = "from penstock.state.encoding import decode_namespace\n"
    read += f"for data in {[encode_namespace(window) for window in windows]}: print(decode_namespace(data))"
    shown = subprocess.run([sys.executable, "-c", read], capture_output=True, text=True, timeout=120)
    assert shown.stdout.splitlines() == [str(window) for window in windows], shown.stderr


def test_time_windows_are_ordered_by_their_end():
    assert TimeWindow(5, 10) < TimeWindow(0, 11) <= TimeWindow(0, 11)
    assert TimeWindow(1, 10) > TimeWindow(0, 10)


def test_windows_that_touch_merge():
    merged = []

    class Callback:
        def merge(self, to_be_merged, merge_result):
            merged.append((list(to_be_merged), merge_result))

    TimeWindow.merge_windows([TimeWindow(10, 12), TimeWindow(0, 5), TimeWindow(5, 7)], Callback())
    assert merged == [([TimeWindow(0, 5), TimeWindow(5, 7)], TimeWindow(0, 7))]


def test_sliding_windows_of_a_time_before_1970():
    assert SlidingEventTimeWindows(4, 2, 0).windows_of(-1) == [TimeWindow(-2, 2), TimeWindow(-4, 0)]


def test_cumulative_windows_grow_from_a_common_start():
    windows = CumulativeEventTimeWindows(6, 2).assign_windows("x", 9, None)
    assert windows == [TimeWindow(6, 10), TimeWindow(6, 12)]

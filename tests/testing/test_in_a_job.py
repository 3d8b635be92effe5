"""TestSource and CollectingSink in a real job: failures in the middle, every result exactly once."""

from __future__ import annotations

import pytest

from penstock.common.configuration import Configuration
from penstock.common.time import Time
from penstock.common.typeinfo import Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.testing import ABORT, PAUSE, CollectingSink, TestSource, abort, element, watermark
from penstock.windowing import TumblingEventTimeWindows


@pytest.mark.spark
def test_windows_are_right_although_reading_fails_three_times(tmp_path):
    config = Configuration()
    config.set_string("restart-strategy.type", "fixed-delay")
    config.set_string("restart-strategy.fixed-delay.attempts", "10")
    config.set_string("restart-strategy.fixed-delay.delay", "1 ms")
    config.set_string("execution.checkpointing.dir", str(tmp_path))
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(1)
    source = TestSource(
        [
            element(("a", 1), 1),
            element(("b", 2), 2),
            PAUSE,
            ABORT,
            element(("a", 4), 9),
            element(("a", 8), 12),
            watermark(10),
            abort(2),
            PAUSE,
            element(("a", 16), 5),
            element(("b", 32), 19),
        ],
        type_info=Types.TUPLE([Types.STRING(), Types.INT()]),
    )
    sink = CollectingSink(str(tmp_path / "out"))
    (
        env.from_source(source, source.watermark_strategy(), "test")
        .key_by(lambda v: v[0], key_type=Types.STRING())
        .window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .sink_to(sink)
    )
    env.execute("scripted")
    assert sorted(sink.results()) == [("a", 5), ("a", 8), ("b", 2), ("b", 32)]

"""For tests of programs and operators: harnesses without Spark, sources that fail on cue, a clock to move."""

from penstock.testing.clock import TestClock
from penstock.testing.harness import (
    HarnessSnapshot,
    KeyedOneInputOperatorTestHarness,
    KeyedTwoInputOperatorTestHarness,
    OneInputOperatorTestHarness,
    TwoInputOperatorTestHarness,
)
from penstock.testing.output import CollectingOutput, Idleness, StreamRecord, WatermarkMark, watermark
from penstock.testing.sink import CollectingSink
from penstock.testing.source import ABORT, EOF, PAUSE, TestSource, abort, element

__all__ = [
    "ABORT",
    "EOF",
    "PAUSE",
    "CollectingOutput",
    "CollectingSink",
    "HarnessSnapshot",
    "Idleness",
    "KeyedOneInputOperatorTestHarness",
    "KeyedTwoInputOperatorTestHarness",
    "OneInputOperatorTestHarness",
    "StreamRecord",
    "TestClock",
    "TestSource",
    "TwoInputOperatorTestHarness",
    "WatermarkMark",
    "abort",
    "element",
    "watermark",
]

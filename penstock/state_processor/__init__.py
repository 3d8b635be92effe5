"""State outside of jobs: read savepoints and checkpoints as DataFrames, change them, make new ones.

    SavepointReader      keyed state, timers, windows, operator and broadcast state as DataFrames
    SavepointWriter      a new savepoint, from nothing or from one that is there
    OperatorTransformation   the state of an operator, from a dataset

Named as in Flink's State Processor API. See docs/state_tools.md.
"""

from penstock.state_processor.functions import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    KeyedStateReaderFunction,
    StateBootstrapFunction,
    WindowReaderFunction,
)
from penstock.state_processor.identifiers import OperatorIdentifier
from penstock.state_processor.reader import SavepointReader
from penstock.state_processor.transformation import OperatorTransformation, StateBootstrapTransformation
from penstock.state_processor.window_reader import WindowSavepointReader
from penstock.state_processor.writer import SavepointWriter

__all__ = [
    "BroadcastStateBootstrapFunction",
    "KeyedStateBootstrapFunction",
    "KeyedStateReaderFunction",
    "OperatorIdentifier",
    "OperatorTransformation",
    "SavepointReader",
    "SavepointWriter",
    "StateBootstrapFunction",
    "StateBootstrapTransformation",
    "WindowReaderFunction",
    "WindowSavepointReader",
]

"""Classes that PyFlink declares generic can be subscripted, and subclassed with their arguments."""

from __future__ import annotations

import cloudpickle
import pytest

from penstock.common.config_options import ConfigOption
from penstock.common.serializer import TypeSerializer
from penstock.datastream.functions import (
    AllWindowFunction,
    AsyncFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from penstock.datastream.state import ListState, MapState, ValueState
from penstock.datastream.window import TimeWindow, Trigger, WindowAssigner
from penstock.functions.async_function import AsyncRetryPredicate, AsyncRetryStrategy

GENERIC = [
    (ProcessWindowFunction, (tuple, tuple, str, TimeWindow)),
    (WindowFunction, (tuple, tuple, str, TimeWindow)),
    (AllWindowFunction, (tuple, tuple, TimeWindow)),
    (ProcessAllWindowFunction, (tuple, tuple, TimeWindow)),
    (ProcessWindowFunction.Context, (TimeWindow,)),
    (ProcessAllWindowFunction.Context, (TimeWindow,)),
    (BroadcastProcessFunction, (int, int, str)),
    (KeyedBroadcastProcessFunction, (str, int, int, str)),
    (AsyncFunction, (int, str)),
    (AsyncRetryPredicate, (int,)),
    (AsyncRetryStrategy, (int,)),
    (Trigger, (tuple, TimeWindow)),
    (WindowAssigner, (tuple, TimeWindow)),
    (TypeSerializer, (int,)),
    (ConfigOption, (int,)),
    (ValueState, (int,)),
    (ListState, (int,)),
    (MapState, (str, int)),
]


@pytest.mark.parametrize(("generic", "arguments"), GENERIC, ids=lambda item: getattr(item, "__name__", ""))
def test_a_subclass_of_the_subscripted_class_is_one_of_the_class(generic, arguments):
    subscripted = generic[arguments if len(arguments) > 1 else arguments[0]]

    class Made(subscripted):
        pass

    assert issubclass(Made, generic)
    assert issubclass(cloudpickle.loads(cloudpickle.dumps(Made)), generic)

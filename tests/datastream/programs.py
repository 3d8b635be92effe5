"""Helpers of these tests: an environment, and a look at the transformations that methods build."""

from __future__ import annotations

from typing import Any

from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.graph.transformations import OperatorTransformation, Transformation
from penstock.operators.base import Operator


def new_env(parallelism: int = 2) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    return env


def operator_of(stream: Any) -> Operator:
    """A fresh operator of the step that produces `stream`."""
    transformation = stream.transformation
    assert isinstance(transformation, OperatorTransformation)
    return transformation.operator_factory()


def upstream(stream: DataStream, steps: int = 1) -> Transformation:
    """The step `steps` before the one that produces `stream`, following first inputs."""
    transformation = stream.transformation
    for _ in range(steps):
        transformation = transformation.inputs[0]
    return transformation


def ends(env: StreamExecutionEnvironment) -> list[str]:
    """Names of the ends of the program."""
    return [transformation.name for transformation in env._ends()]

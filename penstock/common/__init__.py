"""What every layer shares: rows, types, time, configuration, codecs, errors."""

import importlib
from typing import Any

from penstock.common.completable_future import CompletableFuture
from penstock.common.config_options import ConfigOption, ConfigOptions
from penstock.common.configuration import Configuration
from penstock.common.execution_config import ExecutionConfig
from penstock.common.input_dependency_constraint import InputDependencyConstraint
from penstock.common.job_client import JobClient
from penstock.common.job_execution_result import JobExecutionResult
from penstock.common.job_id import JobID
from penstock.common.job_status import JobStatus
from penstock.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from penstock.common.serialization import (
    ByteArraySchema,
    DeserializationSchema,
    Encoder,
    SerializationSchema,
    SimpleStringSchema,
)
from penstock.common.serializer import TypeSerializer
from penstock.common.time import Duration, Instant, Time
from penstock.common.typeinfo import TypeInformation, Types
from penstock.common.types import Row, RowKind
from penstock.common.watermark_strategy import AssignerWithPeriodicWatermarksWrapper, WatermarkStrategy

__all__ = [
    "AssignerWithPeriodicWatermarksWrapper",
    "ByteArraySchema",
    "CompletableFuture",
    "ConfigOption",
    "ConfigOptions",
    "Configuration",
    "DeserializationSchema",
    "Duration",
    "Encoder",
    "ExecutionConfig",
    "InputDependencyConstraint",
    "Instant",
    "JobClient",
    "JobExecutionResult",
    "JobID",
    "JobStatus",
    "RestartStrategies",
    "RestartStrategyConfiguration",
    "Row",
    "RowKind",
    "SerializationSchema",
    "SimpleStringSchema",
    "Time",
    "TypeInformation",
    "TypeSerializer",
    "Types",
    "WatermarkStrategy",
]

# Programs written for PyFlink 1.14 and before import these from `common`. The classes live above this layer,
# so they are looked up by name when somebody asks, and importing `common` never pulls in `datastream`.
_FORMATS = {
    "AvroRowDeserializationSchema": "avro",
    "AvroRowSerializationSchema": "avro",
    "CsvRowDeserializationSchema": "csv",
    "CsvRowSerializationSchema": "csv",
    "JsonRowDeserializationSchema": "json",
    "JsonRowSerializationSchema": "json",
}


def __getattr__(name: str) -> Any:
    if name in _FORMATS:
        return getattr(importlib.import_module(f"penstock.datastream.formats.{_FORMATS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

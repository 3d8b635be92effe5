"""Small helpers of the DataStream API."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from penstock.common.configuration import Configuration
from penstock.datastream.builder import deprecated

if TYPE_CHECKING:
    from penstock.common.typeinfo import TypeInformation
    from penstock.datastream.stream import DataStream

__all__ = ["DataStreamUtils", "ResultTypeQueryable", "create_hadoop_configuration", "create_java_properties"]


def create_hadoop_configuration(config: Configuration) -> Configuration:
    """What writers of files take as their Hadoop configuration: a copy, because there is no Hadoop in between."""
    return Configuration(config)


def create_java_properties(config: Configuration) -> dict[str, str]:
    """The entries of a configuration as Kafka clients and the like take them."""
    return config.to_dict()


class ResultTypeQueryable(ABC):
    """Implemented by what knows the type of the elements it produces."""

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """The type of the elements."""


class DataStreamUtils:
    """Flink 1.x's helpers."""

    @staticmethod
    def collect(stream: DataStream, execution_job_name: str | None = None) -> Any:
        """The elements of a stream."""
        deprecated("DataStreamUtils.collect(stream)", "stream.execute_and_collect()")
        return stream.execute_and_collect(execution_job_name)

"""Small helpers of the DataStream API."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from penstock.datastream.builder import deprecated

if TYPE_CHECKING:
    from penstock.common.typeinfo import TypeInformation
    from penstock.datastream.stream import DataStream

__all__ = ["DataStreamUtils", "ResultTypeQueryable"]


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

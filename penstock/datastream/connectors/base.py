"""What all connectors share, under PyFlink's names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from penstock.connectors.delivery import DeliveryGuarantee
from penstock.connectors.sink import Sink
from penstock.connectors.source import Source

__all__ = ["DeliveryGuarantee", "Sink", "Source", "StreamTransformer", "SupportsPreprocessing"]


class StreamTransformer(ABC):
    """Changes a stream before it reaches its sink."""

    @abstractmethod
    def apply(self, ds: Any) -> Any:
        """The stream that the sink is going to write."""


class SupportsPreprocessing(ABC):
    """A sink that wants its stream changed first; `sink_to` applies the transformer."""

    @abstractmethod
    def get_transformer(self) -> StreamTransformer | None:
        """The change, or None."""

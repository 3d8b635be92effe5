"""What a program subclasses to say itself how its values become bytes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from io import BytesIO
from typing import Any

from penstock.common.subscripts import Subscriptable

__all__ = ["TypeSerializer"]


class TypeSerializer(Subscriptable, ABC):
    """Writes values to, and reads them from, streams of bytes.

    A type returns one from `TypeInformation.create_serializer`. Both methods may be called from any worker
    process, so a serializer must be picklable. `deserialize` gets a stream that ends where the value ends.
    """

    @abstractmethod
    def serialize(self, element: Any, stream: BytesIO) -> None:
        """Write one value."""

    @abstractmethod
    def deserialize(self, stream: BytesIO) -> Any:
        """Read one value back."""

    def __eq__(self, other: object) -> bool:
        return self.__class__ is other.__class__ and self.__dict__ == getattr(other, "__dict__", None)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(type(self).__qualname__)

    def __repr__(self) -> str:
        return type(self).__name__

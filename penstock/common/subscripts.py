"""Classes that may be written with type arguments, as PyFlink's: `ProcessWindowFunction[int, str, str, TimeWindow]`.

The arguments are for readers and type checkers. Subclassing a subscripted class subclasses the class itself.

>>> class Box(Subscriptable): pass
>>> class Numbers(Box[int]): pass
>>> Numbers.__bases__ == (Box,)
True
"""

from __future__ import annotations

import types
from typing import Any

__all__ = ["Subscriptable"]


class Subscriptable:
    """Base of classes that take type arguments and make nothing of them at run time."""

    __slots__ = ()

    def __class_getitem__(cls, arguments: Any) -> types.GenericAlias:
        return types.GenericAlias(cls, arguments)

"""Side outputs: a function yields `tag, value` and the value leaves through the output of that name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.common.errors import ValidationError

if TYPE_CHECKING:
    from penstock.common.typeinfo import TypeInformation

__all__ = ["OutputTag"]


class OutputTag:
    """Names a side output and the type of its elements.

    Two tags with the same id are the same output: a function may make its own copy.
    """

    __slots__ = ("tag_id", "type_info")

    def __init__(self, tag_id: str, type_info: TypeInformation | None = None) -> None:
        if not tag_id:
            raise ValidationError(
                "an OutputTag needs an id that is not empty", do="OutputTag('late-data', Types.STRING())"
            )
        self.tag_id = tag_id
        self.type_info = type_info

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutputTag) and self.tag_id == other.tag_id

    def __hash__(self) -> int:
        return hash(self.tag_id)

    def __repr__(self) -> str:
        return f"OutputTag({self.tag_id!r})"

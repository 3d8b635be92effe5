"""Where a compiled plan is: in a file, or in the program's hands."""

from __future__ import annotations

import os
import pathlib
from dataclasses import dataclass

__all__ = ["BytesContentPlanReference", "FilePlanReference", "JsonContentPlanReference", "PlanReference"]


class PlanReference:
    """Points at a plan that `TableEnvironment.load_plan` can load. Nothing is read before that."""

    @staticmethod
    def from_file(path: str | pathlib.Path) -> FilePlanReference:
        """The plan in a file."""
        return FilePlanReference(str(path))

    @staticmethod
    def from_json_string(json_string: str) -> JsonContentPlanReference:
        """The plan in a text."""
        return JsonContentPlanReference(json_string)

    @staticmethod
    def from_smile_bytes(smile_bytes: bytes) -> BytesContentPlanReference:
        """The form of `CompiledPlan.as_smile_bytes`, which is JSON in UTF-8 here; Flink's Smile is refused."""
        return BytesContentPlanReference(bytes(smile_bytes))

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


@dataclass(frozen=True)
class FilePlanReference(PlanReference):
    """A plan in a local file."""

    path: str

    def get_file(self) -> pathlib.Path:
        """The file, with links resolved."""
        return pathlib.Path(os.path.realpath(self.path))

    def __str__(self) -> str:
        return f"Plan from file '{self.path}'"


@dataclass(frozen=True)
class JsonContentPlanReference(PlanReference):
    """A plan as JSON text."""

    content: str

    def get_content(self) -> str:
        """The compiled plan as JSON text."""
        return self.content

    def __str__(self) -> str:
        return f"Plan:\n{self.content}"


@dataclass(frozen=True)
class BytesContentPlanReference(PlanReference):
    """A plan as bytes."""

    content: bytes

    def get_content(self) -> bytes:
        """The compiled plan as bytes."""
        return self.content

    def __str__(self) -> str:
        return f"Plan of {len(self.content)} bytes"

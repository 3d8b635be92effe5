"""The name of a job: 32 hexadecimal digits."""

from __future__ import annotations

import uuid

from penstock.common.errors import ValidationError

__all__ = ["JobID"]


class JobID:
    """Unique for each submitted job, and part of the path of its checkpoints."""

    __slots__ = ("_text",)

    def __init__(self, text: str | None = None) -> None:
        value = uuid.uuid4().hex if text is None else str(text).strip().lower()
        if len(value) != 32 or any(digit not in "0123456789abcdef" for digit in value):
            raise ValidationError(f"{text!r} is not a job id", do="pass 32 hexadecimal digits")
        self._text = value

    @staticmethod
    def generate() -> JobID:
        """A new id."""
        return JobID()

    @staticmethod
    def from_hex_string(hex_string: str) -> JobID:
        """The id that 32 hexadecimal digits stand for."""
        return JobID(hex_string)

    def to_hex_string(self) -> str:
        """The id as 32 hexadecimal digits."""
        return self._text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"JobID({self._text})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobID) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

"""How operators are named in a savepoint."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["OperatorIdentifier"]


@dataclass(frozen=True)
class OperatorIdentifier:
    """An operator by its uid, or by the hash that `uid_hash` gave it. Plain texts mean uids."""

    uid: str

    @staticmethod
    def for_uid(uid: str) -> OperatorIdentifier:
        """The operator with this uid."""
        return OperatorIdentifier(uid)

    @staticmethod
    def for_uid_hash(uid_hash: str) -> OperatorIdentifier:
        """The operator with this hash of a uid, 32 hexadecimal digits."""
        return OperatorIdentifier(uid_hash)


def uid_of(operator: str | OperatorIdentifier) -> str:
    return operator.uid if isinstance(operator, OperatorIdentifier) else operator

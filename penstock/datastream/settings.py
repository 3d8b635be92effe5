"""What can be said about an operator after it was added: name, uid, parallelism, chaining and so on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.datastream.builder import call_site, checked_parallelism
from penstock.datastream.slot_sharing_group import SlotSharingGroup
from penstock.graph.transformations import (
    ChainingStrategy,
    PartitionTransformation,
    SideOutputTransformation,
    Transformation,
    UnionTransformation,
)

if TYPE_CHECKING:
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment

Self = TypeVar("Self", bound="OperatorSettings")

_VIRTUAL = (PartitionTransformation, SideOutputTransformation, UnionTransformation)


class OperatorSettings:
    """Settings of the operator that produces a stream, or of a sink. Each method returns its object."""

    _environment: StreamExecutionEnvironment
    _transformation: Transformation

    @property
    def transformation(self) -> Transformation:
        """The step of the program this stands for."""
        return self._transformation

    def get_transformation(self) -> Transformation:
        """The step of the program this stands for, as Java's API spells it."""
        return self._transformation

    def _operator(self, setting: str) -> Transformation:
        """The transformation if it is an operator: partitionings, unions and side outputs have no settings."""
        if isinstance(self._transformation, _VIRTUAL):
            raise ValidationError(
                f"{setting} cannot be set on the result of {self._transformation.name}",
                where=call_site(),
                do=f"call {setting}(...) on the operator before or after it",
            )
        return self._transformation

    def get_name(self) -> str:
        """Name of the operator."""
        return self._transformation.name

    def name(self: Self, name: str) -> Self:
        """Names the operator, for the plan, the dashboard and error messages."""
        if not isinstance(name, str) or not name:
            raise TypeMismatchError(f"an operator's name must be a text, got {name!r}", where=call_site())
        self._operator("name").name = name
        return self

    def uid(self: Self, uid: str) -> Self:
        """Gives the operator the id under which its state is kept: a restored job finds it by this."""
        if not isinstance(uid, str) or not uid:
            raise TypeMismatchError(f"an operator's uid must be a text, got {uid!r}", where=call_site())
        transformation = self._operator("uid")
        if transformation.uid is not None and transformation.uid != uid:
            raise ValidationError(
                f"operator {transformation.name!r} has the uid {transformation.uid!r} already",
                where=call_site(),
                do="call uid(...) once per operator",
            )
        transformation.uid = uid
        return self

    def set_uid_hash(self: Self, uid_hash: str) -> Self:
        """Gives the operator a generated id found in an old job's log or metadata, to restore its state."""
        if not isinstance(uid_hash, str) or not _is_hash(uid_hash):
            raise ValidationError(f"a uid hash is 32 hexadecimal digits, got {uid_hash!r}", where=call_site())
        self._operator("set_uid_hash").uid_hash = uid_hash
        return self

    def set_parallelism(self: Self, parallelism: int) -> Self:
        """How many subtasks the operator has."""
        parallelism = checked_parallelism(parallelism)
        transformation = self._operator("set_parallelism")
        if transformation.max_parallelism == 1 and parallelism > 1:
            raise ValidationError(
                f"the parallelism of {transformation.name!r} must be 1, got {parallelism}",
                where=call_site(),
                do="this operator is not parallel by nature (a collection, window_all, force_non_parallel)",
            )
        transformation.parallelism = parallelism
        return self

    def set_max_parallelism(self: Self, max_parallelism: int) -> Self:
        """Upper bound for later changes of parallelism: the number of key groups."""
        transformation = self._operator("set_max_parallelism")
        transformation.max_parallelism = checked_parallelism(max_parallelism, "max parallelism")
        return self

    def force_non_parallel(self: Self) -> Self:
        """One subtask, and no way to change that later."""
        transformation = self._operator("force_non_parallel")
        transformation.parallelism = 1
        transformation.max_parallelism = 1
        return self

    def set_buffer_timeout(self: Self, timeout_millis: int) -> Self:
        """Kept for the plan: an epoch hands its records over at its end, whatever the timeout."""
        if timeout_millis < -1:
            raise ValidationError(
                f"buffer timeout must be -1 or more, got {timeout_millis}", where=call_site()
            )
        self._operator("set_buffer_timeout").buffer_timeout_ms = timeout_millis
        return self

    def start_new_chain(self: Self) -> Self:
        """The operator begins a new chain."""
        self._operator("start_new_chain").chaining = ChainingStrategy.HEAD
        return self

    def disable_chaining(self: Self) -> Self:
        """The operator runs alone, in no chain."""
        self._operator("disable_chaining").chaining = ChainingStrategy.NEVER
        return self

    def slot_sharing_group(self: Self, slot_sharing_group: str | SlotSharingGroup) -> Self:
        """Spark decides which tasks share an executor; each gets at least the resources that a group asks for."""
        name: Any = slot_sharing_group
        operator = self._operator("slot_sharing_group")
        if isinstance(slot_sharing_group, SlotSharingGroup):
            name = slot_sharing_group.get_name()
            operator.slot_resources = slot_sharing_group.resources()
        operator.slot_sharing_group = name
        return self

    def set_description(self: Self, description: str) -> Self:
        """A longer text than the name, for the plan and the dashboard."""
        self._operator("set_description").description = description
        return self


def _is_hash(text: str) -> bool:
    return len(text) == 32 and all(digit in "0123456789abcdef" for digit in text.lower())

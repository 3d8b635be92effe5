"""Resources of tasks that may share a slot. A job is refused where Spark does not give its tasks as much."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from penstock.common.errors import ValidationError
from penstock.graph.transformations import SlotResources

__all__ = ["MemorySize", "SlotSharingGroup"]


@functools.total_ordering
class MemorySize:
    """A number of bytes."""

    def __init__(self, bytes_size: int | None = None) -> None:
        if bytes_size is None or bytes_size < 0:
            raise ValidationError(f"a MemorySize needs a number of bytes from 0 on, got {bytes_size!r}")
        self._bytes = int(bytes_size)

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        """So many units of 1024 x 1024 bytes."""
        return MemorySize(mebi_bytes << 20)

    def get_bytes(self) -> int:
        """The size in bytes."""
        return self._bytes

    def get_kibi_bytes(self) -> int:
        """The size in units of 1024 bytes, rounded down."""
        return self._bytes >> 10

    def get_mebi_bytes(self) -> int:
        """The size in units of 1024^2 bytes, rounded down."""
        return self._bytes >> 20

    def get_gibi_bytes(self) -> int:
        """The size in units of 1024^3 bytes, rounded down."""
        return self._bytes >> 30

    def get_tebi_bytes(self) -> int:
        """The size in units of 1024^4 bytes, rounded down."""
        return self._bytes >> 40

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemorySize) and self._bytes == other._bytes

    def __lt__(self, other: MemorySize) -> bool:
        return self._bytes < other._bytes

    def __le__(self, other: MemorySize) -> bool:
        return self._bytes <= other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __str__(self) -> str:
        return f"{self._bytes} bytes"

    __repr__ = __str__


class SlotSharingGroup:
    """A named group with the resources its slots should have; made by `SlotSharingGroup.builder(name)`."""

    def __init__(
        self,
        name: str,
        cpu_cores: float | None = None,
        task_heap_memory: MemorySize | None = None,
        task_off_heap_memory: MemorySize | None = None,
        managed_memory: MemorySize | None = None,
        external_resources: Mapping[str, float] | None = None,
    ) -> None:
        self._fields = (name, cpu_cores, task_heap_memory, task_off_heap_memory, managed_memory)
        self._external_resources = dict(external_resources or {})

    @staticmethod
    def builder(name: str) -> SlotSharingGroup.Builder:
        """Begins a group with this name."""
        return SlotSharingGroup.Builder(name)

    def get_name(self) -> str:
        """The name by which operators refer to the group."""
        return self._fields[0]

    def get_cpu_cores(self) -> float | None:
        """Cores that were asked for."""
        return self._fields[1]

    def get_task_heap_memory(self) -> MemorySize | None:
        """Memory that was asked for."""
        return self._fields[2]

    def get_task_off_heap_memory(self) -> MemorySize | None:
        """Memory that was asked for."""
        return self._fields[3]

    def get_managed_memory(self) -> MemorySize | None:
        """Memory that was asked for."""
        return self._fields[4]

    def get_external_resources(self) -> dict[str, float]:
        """Other resources that were asked for, by name."""
        return dict(self._external_resources)

    def resources(self) -> SlotResources | None:
        """What a slot needs; None if the group is only a name."""
        name, cpu_cores, *memory = self._fields
        if cpu_cores is None:
            return None
        sizes = [size.get_bytes() for size in memory if size is not None]
        return SlotResources(name, cpu_cores, sum(sizes), tuple(sorted(self._external_resources.items())))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, SlotSharingGroup)
            and self._fields == other._fields
            and self._external_resources == other._external_resources
        )

    def __hash__(self) -> int:
        return hash(self._fields)

    class Builder:
        """Collects the resources of a group."""

        def __init__(self, name: str) -> None:
            if not name:
                raise ValidationError("a slot sharing group needs a name")
            self._name = name
            self._cpu_cores: float | None = None
            self._task_heap: MemorySize | None = None
            self._task_off_heap: MemorySize | None = None
            self._managed: MemorySize | None = None
            self._external: dict[str, float] = {}

        def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroup.Builder:
            """Kept in the plan, without effect: Spark's `spark.task.cpus` says what a task gets."""
            if cpu_cores <= 0:
                raise ValidationError(f"cpu cores must be positive, got {cpu_cores}")
            self._cpu_cores = cpu_cores
            return self

        def set_task_heap_memory(self, task_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Kept in the plan, without effect: Spark gives executors their memory."""
            self._task_heap = task_heap_memory
            return self

        def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """`set_task_heap_memory` in mebibytes."""
            return self.set_task_heap_memory(MemorySize.of_mebi_bytes(task_heap_memory_mb))

        def set_task_off_heap_memory(self, task_off_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Kept in the plan, without effect: Spark gives executors their memory."""
            self._task_off_heap = task_off_heap_memory
            return self

        def set_task_off_heap_memory_mb(self, task_off_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """`set_task_off_heap_memory` in mebibytes."""
            return self.set_task_off_heap_memory(MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

        def set_managed_memory(self, managed_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Kept in the plan, without effect: state has a store of its own."""
            self._managed = managed_memory
            return self

        def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroup.Builder:
            """`set_managed_memory` in mebibytes."""
            return self.set_managed_memory(MemorySize.of_mebi_bytes(managed_memory_mb))

        def set_external_resource(self, name: str, value: float) -> SlotSharingGroup.Builder:
            """Kept in the plan, without effect: resources such as GPUs are asked of Spark."""
            self._external[name] = value
            return self

        def build(self) -> SlotSharingGroup:
            """The group. One that asks for any resource has to ask for CPU cores and heap memory, as in Flink."""
            memory = (self._task_heap, self._task_off_heap, self._managed)
            if self._cpu_cores is None and all(size is None for size in memory) and not self._external:
                return SlotSharingGroup(self._name)
            if self._cpu_cores is None or self._task_heap is None:
                raise ValidationError(
                    f"slot sharing group {self._name!r} has resources, but not both CPU cores and heap memory",
                    do="call set_cpu_cores(...) and set_task_heap_memory(...)",
                )
            if self._task_heap.get_bytes() == 0:
                raise ValidationError(
                    f"slot sharing group {self._name!r} has no task heap memory", do="ask for some"
                )
            return SlotSharingGroup(self._name, self._cpu_cores, *memory, self._external)

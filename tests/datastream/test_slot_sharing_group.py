"""SlotSharingGroup: what its builder refuses."""

from __future__ import annotations

import pytest

from penstock.common.errors import ValidationError
from penstock.datastream.slot_sharing_group import MemorySize, SlotSharingGroup


def test_a_group_without_resources_is_fine():
    assert SlotSharingGroup.builder("g").build().get_cpu_cores() is None


@pytest.mark.parametrize(
    "incomplete",
    [
        lambda b: b.set_cpu_cores(1.0),
        lambda b: b.set_cpu_cores(1.0).set_task_off_heap_memory_mb(10),
        lambda b: b.set_task_heap_memory_mb(10),
        lambda b: b.set_external_resource("gpu", 1.0),
        lambda b: b.set_managed_memory(MemorySize(0)),
    ],
)
def test_resources_without_cpu_or_heap_are_refused(incomplete):
    with pytest.raises(ValidationError, match="not both CPU cores and heap memory"):
        incomplete(SlotSharingGroup.builder("g")).build()


def test_no_heap_memory_is_refused():
    with pytest.raises(ValidationError, match="no task heap memory"):
        SlotSharingGroup.builder("g").set_cpu_cores(1.0).set_task_heap_memory(MemorySize(0)).build()

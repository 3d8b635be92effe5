"""What slot sharing groups ask for is given to every task, or the job is refused with what is missing."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common.errors import NotSupportedError
from penstock.datastream import SlotSharingGroup, StreamExecutionEnvironment
from penstock.graph.transformations import SlotResources
from penstock.runtime.spark.resources import check_resources, settings_for

HEAVY = SlotSharingGroup.builder("heavy").set_cpu_cores(1.5).set_task_heap_memory_mb(600)
GB = 1 << 30


def test_a_group_asks_for_its_cores_all_its_memory_and_other_resources() -> None:
    group = HEAVY.set_managed_memory_mb(400).set_external_resource("gpu", 1.0).build()
    assert group.resources() == SlotResources("heavy", 1.5, 1000 << 20, (("gpu", 1.0),))
    assert SlotSharingGroup.builder("only a name").build().resources() is None


@pytest.mark.spark
def test_steps_have_the_resources_of_their_group_however_they_name_it() -> None:
    group = SlotSharingGroup.builder("g").set_cpu_cores(2.0).set_task_heap_memory_mb(100).build()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.register_slot_sharing_group(group)
    env.from_collection([1]).slot_sharing_group("g").print()
    env.from_collection([1]).slot_sharing_group(group).print()
    with pytest.raises(
        NotSupportedError, match=r"slot sharing group g with 2 CPU cores, because .* has 1"
    ) as refused:
        env.execute()
    assert refused.value.do == "set spark.task.cpus=2, or ask for less"


@pytest.mark.parametrize(
    ("wanted", "given", "expected"),
    [
        (SlotResources("g", 1.0, 100), {}, {}),
        (SlotResources("g", 1.5, 100), {}, {"spark.task.cpus": "2"}),
        (SlotResources("g", 1.5, 100), {"spark.task.cpus": "1"}, {}),
        (
            SlotResources("g", 1.0, 2 * GB),
            {"spark.executor.cores": "3"},
            {"spark.executor.memoryOverhead": "6144m"},
        ),
        (SlotResources("g", 1.0, 100, (("gpu", 0.5),)), {}, {}),
        (
            SlotResources("g", 1.0, 100, (("gpu", 0.5),)),
            {"spark.executor.resource.gpu.amount": "1"},
            {"spark.task.resource.gpu.amount": "0.5"},
        ),
    ],
)
def test_a_session_on_a_cluster_gets_what_nobody_has_set(
    wanted: SlotResources, given: dict[str, str], expected: dict[str, str]
) -> None:
    assert settings_for(wanted, given) == {**given, **expected}


@pytest.mark.parametrize(
    ("wanted", "session", "missing"),
    [
        (SlotResources("g", 2.0, 1), {"spark.task.cpus": "1"}, "spark.task.cpus=2"),
        (
            SlotResources("g", 1.0, 2 * GB),
            {"spark.executor.cores": "2"},
            "spark.executor.memoryOverhead=4096m",
        ),
        (SlotResources("g", 1.0, 1, (("gpu", 1.0),)), {}, "spark.task.resource.gpu.amount=1"),
    ],
)
def test_a_session_that_gives_less_is_refused_with_the_setting(
    wanted: SlotResources, session: dict[str, str], missing: str
) -> None:
    with pytest.raises(NotSupportedError) as refused:
        check_resources(wanted, session, local=False)
    assert missing in str(refused.value.do)
    settings: dict[str, Any] = settings_for(wanted, {**session, "spark.executor.resource.gpu.amount": "1"})
    check_resources(wanted, {**settings, "spark.task.cpus": "2"}, local=False)


def test_one_machine_gives_its_memory_and_has_no_external_resources() -> None:
    check_resources(SlotResources("g", 1.0, 100 << 20), {}, local=True)
    with pytest.raises(NotSupportedError, match="this machine has"):
        check_resources(SlotResources("g", 1.0, 1 << 60), {}, local=True)
    with pytest.raises(NotSupportedError, match="1 gpu") as refused:
        check_resources(SlotResources("g", 1.0, 1, (("gpu", 1.0),)), {}, local=True)
    assert "run it on a cluster" in str(refused.value.do)

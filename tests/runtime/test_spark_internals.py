"""What penstock uses of Spark without a promise is still there, and does what it is used for.

With another version of Spark these tests say what has to be found a new way; in a user's program most of it would
fail quietly.
"""

from __future__ import annotations

import logging
import pathlib
import pickle
import random
import subprocess
import sys
from typing import Any

import pytest

from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.errors import InvariantError
from penstock.common.ids import EpochId
from penstock.runtime.plan import LevelPlan, SubtaskPlan
from penstock.runtime.spark import optimizer
from penstock.runtime.spark.attach import gateway_of
from penstock.runtime.spark.context import running_context
from penstock.runtime.spark.executors import executors, jvm_info, jvm_threads
from penstock.runtime.spark.expressions import name_expression
from penstock.runtime.spark.failures import raised_message
from penstock.runtime.spark.jit import diagnostic_command
from penstock.runtime.spark.kept_shuffles import keyed_bytes, shuffled
from penstock.runtime.spark.optimizer import SKIP_INPUT, check_rules, exclude_rules
from penstock.runtime.spark.plan_delivery import INLINE_BYTES, PlanDelivery, receive_plan
from penstock.runtime.spark.plans import plan_with_costs
from penstock.runtime.spark.results import DIRECT_BYTES, Results
from penstock.runtime.spark.session import _DEFAULTS, get_spark
from penstock.sql.functions.text import SPARK_CONF
from penstock.sql.spark.batch import _HASH_JOINS
from penstock.sql.spark.unscaled import UNSCALED

pytestmark = pytest.mark.spark


@pytest.fixture
def session() -> Any:
    return get_spark().newSession()


def test_the_rules_that_skip_input_can_be_switched_off(session: Any) -> None:
    check_rules(session, SKIP_INPUT)
    never = session.range(3).where("1 = 0")
    assert "Range (0, 3" not in plan_with_costs(never)
    exclude_rules(session, SKIP_INPUT)
    never = session.range(3).where("1 = 0")
    assert "Range (0, 3" in plan_with_costs(never)


def test_a_rule_that_spark_does_not_know_is_told_once(session: Any, caplog: pytest.LogCaptureFixture) -> None:
    optimizer._warn_once.cache_clear()
    renamed = "org.apache.spark.sql.catalyst.optimizer.PruneAllFilters"
    with pytest.raises(InvariantError, match=r"no rule .*PruneAllFilters"):
        check_rules(session, [renamed])
    with caplog.at_level(logging.WARNING):
        exclude_rules(session, [renamed])
        exclude_rules(session, [renamed])
    assert sum("PruneAllFilters" in record.getMessage() for record in caplog.records) == 1


def test_a_rule_that_cannot_be_switched_off_is_told(session: Any) -> None:
    fixed = "org.apache.spark.sql.catalyst.optimizer.RewriteDistinctAggregates"
    with pytest.raises(InvariantError, match="does not let the rule"):
        check_rules(session, [fixed])


def test_an_expression_without_a_name_gets_one(session: Any) -> None:
    assert name_expression(session, UNSCALED, "UnscaledValue")
    assert session.sql(f"SELECT {UNSCALED}(1.25BD)").first()[0] == 125


def test_an_expression_that_spark_does_not_have_is_not_named(session: Any) -> None:
    assert not name_expression(session, "penstock_nothing", "NoSuchExpression")


def test_the_plan_comes_with_estimates(session: Any) -> None:
    assert "sizeInBytes" in plan_with_costs(session.range(3))


def test_the_running_context_is_found(session: Any) -> None:
    assert running_context() is session.sparkContext


def test_settings_that_spark_would_ignore_if_it_did_not_know_them_are_known(session: Any) -> None:
    entry = session.sparkContext._jvm.org.apache.spark.internal.config.ConfigEntry
    keys = [*_DEFAULTS, *SPARK_CONF, *_HASH_JOINS, optimizer._OPTION, "spark.sql.caseSensitive"]
    assert entry.findEntry("spark.no.such.setting") is None
    assert [key for key in keys if entry.findEntry(key) is None] == []


@pytest.mark.parametrize(
    "name",
    [
        "org.codehaus.janino.ClassBodyEvaluator",
        "org.codehaus.commons.compiler.CompileException",
        "org.antlr.v4.runtime.Parser",
        "org.apache.spark.sql.catalyst.parser.CatalystSqlParser$",
        "org.apache.xbean.asm9.ClassReader",
        "scala.reflect.ClassTag",
        "org.apache.hadoop.conf.Configuration",
    ],
)
def test_the_code_that_is_not_worth_optimizing_is_where_it_was(session: Any, name: str) -> None:
    """Packages in the list of `runtime/spark/jit.py`."""
    assert session.sparkContext._jvm.java.lang.Class.forName(name) is not None
    assert name.split(".")[0] in diagnostic_command(session.sparkContext, "compilerDirectivesPrint")


RAISING = (
    "SELECT id, if(id = 500, CAST(raise_error('a condition of ours') AS BIGINT), 1) AS x FROM range(1000)"
)


@pytest.mark.parametrize(
    "action",
    [
        lambda frame: frame.toArrow(),
        lambda frame: frame.collect(),
        lambda frame: list(frame.toLocalIterator()),
        lambda frame: frame.mapInArrow(lambda batches: batches, "id LONG, x LONG").collect(),
        lambda frame: frame.groupBy().sum("x").write.format("noop").mode("overwrite").save(),
    ],
    ids=["arrow", "collect", "iterator", "python", "write"],
)
def test_what_a_query_raises_is_told_from_all_other_failures(session: Any, action: Any) -> None:
    with pytest.raises(Exception) as caught:
        action(session.sql(RAISING))
    assert raised_message(caught.value) == "a condition of ours"


def test_other_failures_raise_no_condition(session: Any) -> None:
    with pytest.raises(Exception) as caught:
        session.sql("SELECT no_such_column")
    assert raised_message(caught.value) is None
    assert raised_message(ValueError("[USER_RAISED_EXCEPTION] a condition of ours")) is None


def _lists(session: Any, text: Any) -> Any:
    """Two elements, each the pickle of a list of two rows, as the last level of an epoch has them."""
    from pyspark import RDD
    from pyspark.serializers import BatchedSerializer, CPickleSerializer

    def packed(index: int, rows: Any) -> Any:
        list(rows)
        return iter([pickle.dumps([(index, text()), (index, "last")])])

    context = session.sparkContext
    made = context.parallelize(range(2), 2).mapPartitionsWithIndex(packed)
    made._bypass_serializer = True
    return RDD(made._jrdd, context, BatchedSerializer(CPickleSerializer()))


def test_small_results_come_as_the_answer_to_a_call(session: Any) -> None:
    results = Results(session.sparkContext, _lists(session, lambda: "x"))
    expected = [(0, "x"), (0, "last"), (1, "x"), (1, "last")]
    assert results._action is not None
    assert results.collect() == expected  # through the socket: nobody knows how large it is
    assert results._small
    results._rows = None  # type: ignore[assignment]
    assert results.collect() == expected


def test_behind_a_large_result_comes_the_socket_again(session: Any, tmp_path: pathlib.Path) -> None:
    sign = tmp_path / "large"
    results = Results(
        session.sparkContext, _lists(session, lambda: "x" * DIRECT_BYTES if sign.exists() else "x")
    )
    results.collect()
    sign.touch()
    assert [len(text) for _, text in results.collect()] == [DIRECT_BYTES, 4] * 2
    assert not results._small


def test_why_a_job_failed_is_told_alike_by_both_ways(session: Any, tmp_path: pathlib.Path) -> None:
    sign = tmp_path / "fail"
    results = Results(session.sparkContext, _lists(session, lambda: 1 // 0 if sign.exists() else "x"))
    results.collect()
    sign.touch()
    with pytest.raises(Exception, match="ZeroDivisionError") as direct:
        results.collect()
    with pytest.raises(type(direct.value), match="ZeroDivisionError"):
        results._rows.collect()


def test_rows_cross_a_shuffle_without_kryo(session: Any) -> None:
    context = session.sparkContext
    sent = context.parallelize(range(4), 2).mapPartitions(
        lambda rows: keyed_bytes([(n % 3, n) for n in rows])
    )
    sent._bypass_serializer = True
    moved, _ = shuffled(context, sent, 3)
    assert moved.glom().map(sorted).collect() == [[(0, 0), (0, 3)], [(1, 1)], [(2, 2)]]
    dependency = moved._jrdd.rdd().firstParent(None).dependencies().apply(0)
    assert dependency.serializer().getClass().getSimpleName() == "JavaSerializer"


@pytest.mark.parametrize("size", [10, 100_000])
def test_tasks_find_the_plan_of_their_level(session: Any, tmp_path: pathlib.Path, size: int) -> None:
    context, storage = session.sparkContext, CheckpointStorage(str(tmp_path), "job")
    token = random.Random(1).randbytes(size).hex()
    delivery = PlanDelivery(context, storage, "submission")
    mine = (SubtaskPlan(token, {}),)
    delivery.send([LevelPlan(EpochId(7), "run", 0, 123, level, mine) for level in range(2)])
    assert bool(delivery._written) == (size > INLINE_BYTES)

    def found(rows: Any) -> Any:
        list(rows)
        plans = [receive_plan(level, lambda: storage) for level in range(2)]
        return iter([(plan.level, plan.epoch, plan.subtasks[0].token == token) for plan in plans])

    assert context.parallelize([0], 1).mapPartitions(found).collect() == [(0, 7, True), (1, 7, True)]
    delivery.discard()
    assert not list((tmp_path / "job").glob("plans/*"))


def test_executors_and_the_jvm_tell_of_themselves(session: Any) -> None:
    (driver,) = executors()
    assert driver.id == "driver" and driver.cores >= 1 and driver.memory_bytes > 0
    info = jvm_info()
    assert info is not None and info.values["Status.JVM.Memory.Heap.Used"] > 0 and info.version
    assert any("python" in text.lower() or "main" in name for name, text in jvm_threads())


def test_another_process_can_join_the_application(session: Any) -> None:
    port, secret = gateway_of(session.sparkContext)
    program = (
        "import sys; from penstock.runtime.spark.attach import attach\n"
        f"session = attach({port}, sys.stdin.readline().strip())\n"
        "session.sparkContext.stop()\n"
        "print(session.sparkContext.applicationId, session.range(7).count())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], input=secret, capture_output=True, text=True, timeout=300
    )
    assert done.stdout.split() == [session.sparkContext.applicationId, "7"], done.stderr
    assert session.range(3).count() == 3

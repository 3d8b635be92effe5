"""What penstock uses of Spark without a promise is still there, and does what it is used for.

With another version of Spark these tests say what has to be found a new way; in a user's program most of it would
fail quietly.
"""

from __future__ import annotations

import logging
from typing import Any

import pytest

from penstock.common.errors import InvariantError
from penstock.runtime.spark import optimizer
from penstock.runtime.spark.context import running_context
from penstock.runtime.spark.expressions import name_expression
from penstock.runtime.spark.failures import raised_message
from penstock.runtime.spark.jit import diagnostic_command
from penstock.runtime.spark.optimizer import SKIP_INPUT, check_rules, exclude_rules
from penstock.runtime.spark.plans import plan_with_costs
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

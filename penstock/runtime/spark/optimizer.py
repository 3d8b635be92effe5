"""Switching rules of Spark's optimizer off, by the names of their classes.

Spark ignores a name it does not know, so a rule that was renamed would quietly be on again. Therefore the names are
checked when they are used.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.common.errors import InvariantError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)
_PACKAGE = "org.apache.spark.sql.catalyst.optimizer."
_OPTION = "spark.sql.optimizer.excludedRules"

SKIP_INPUT = (_PACKAGE + "PruneFilters", _PACKAGE + "PropagateEmptyRelation")
"""The rules that leave out the input of a condition that is never true."""


def exclude_rules(session: SparkSession, rules: Sequence[str]) -> None:
    """Switches rules off in a session; a rule that cannot be is told in the log, once."""
    session.conf.set(_OPTION, ",".join(rules))
    try:
        check_rules(session, rules)
    except InvariantError as error:
        _warn_once(str(error))


def check_rules(session: SparkSession, rules: Sequence[str]) -> None:
    """Whether Spark has these rules and lets them be switched off.

    Raises:
        InvariantError: It has not, or does not: it is another version than the one penstock knows.
    """
    jvm: Any = session.sparkContext._jvm
    fixed = session._jsparkSession.sessionState().optimizer().nonExcludableRules()
    for rule in rules:
        if not _is_class(jvm, f"{rule}$"):
            raise InvariantError(f"Spark's optimizer has no rule {rule}: it stays on under another name")
        if fixed.contains(rule):
            raise InvariantError(f"Spark's optimizer does not let the rule {rule} be switched off")


def _is_class(jvm: Any, name: str) -> bool:
    from py4j.protocol import Py4JJavaError

    try:
        jvm.java.lang.Class.forName(name)
    except Py4JJavaError:
        return False
    return True


@functools.cache
def _warn_once(message: str) -> None:
    _LOG.warning("%s", message)

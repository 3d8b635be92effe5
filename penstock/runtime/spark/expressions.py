"""Expressions of Catalyst that Spark SQL has no name for, under names of ours.

Spark finds a function by name in the session's registry, as a builder of expressions, and it can make such a builder
from the class of any expression whose parts are expressions only. So nothing has to be compiled or shipped.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)
_PACKAGE = "org.apache.spark.sql.catalyst.expressions."


def name_expression(session: SparkSession, name: str, expression: str) -> bool:
    """Lets the SQL of a session call an expression class; False where that cannot be done (Spark Connect)."""
    try:
        jvm: Any = session.sparkContext._jvm
        registry = session._jsparkSession.sessionState().functionRegistry()
        tag = _object(jvm.scala.reflect, "ClassTag").apply(jvm.java.lang.Class.forName(_PACKAGE + expression))
        described = _object(jvm.org.apache.spark.sql.catalyst.analysis, "FunctionRegistryBase").build(
            name, _object(jvm.scala, "None"), tag
        )
        registry.createOrReplaceTempFunction(name, described._2(), "built-in")
    except Exception as error:  # internals of another Spark
        _LOG.info("Spark SQL cannot call %s, some queries will be slower: %s", expression, error)
        return False
    return True


def _object(package: Any, name: str) -> Any:
    """A Scala object."""
    return getattr(getattr(package, name + "$"), "MODULE$")

"""Leaves the JVM's optimizing compiler to the code that touches records.

HotSpot compiles a busy method twice: quickly, and then once more with all its effort. The second compiler has one
thread on small machines, and in a young session nearly half of its time went to code that plans: compiling generated
Java, parsing, loading classes, serializing tasks. That took a core from the tasks, whose own loops waited in the same
queue. Five queries over 1 GB of Parquet, 2 cores, a new session: 48 s of optimizing became 26 s, and the queries took
46 s instead of 66 s. (`java/lang/invoke` was in the list then, 1 s of the 48. It is in the path of records.)
"""

from __future__ import annotations

import json
import logging
import tempfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkContext

_LOG = logging.getLogger(__name__)

_PLANNING = (
    "org/codehaus/janino/*.*",  # compiles the Java that Spark generates
    "org/codehaus/commons/*.*",
    "org/antlr/*.*",  # parses SQL
    "org/apache/spark/sql/catalyst/parser/*.*",
    "org/apache/xbean/*.*",  # reads the bytecode of closures
    "jdk/internal/org/objectweb/*.*",
    "jdk/internal/loader/*.*",  # finds classes
    "java/util/jar/*.*",
    "java/lang/ClassLoader.*",
    "scala/reflect/*.*",
    "org/apache/hadoop/conf/*.*",
    "java/io/ObjectInputStream*.*",  # tasks and their closures
    "java/io/ObjectOutputStream*.*",
    "java/io/ObjectStream*.*",
)


def spare_optimizer(context: SparkContext) -> None:
    """Tells the driver's JVM to compile planning code quickly only; a JVM that takes no such order is left alone."""
    orders = [{"match": list(_PLANNING), "c2": {"Exclude": True}}]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(orders, file)
        file.flush()
        try:
            said = diagnostic_command(context, "compilerDirectivesAdd", file.name)
            _LOG.debug("the JVM's compiler: %s", said)
        except Exception as error:  # another JVM than HotSpot, or one without this command
            _LOG.debug("the JVM's compiler is as it comes: %s", error)


def diagnostic_command(context: SparkContext, command: str, *arguments: str) -> str:
    """What `jcmd` would do, by the JVM's own management bean; a runtime without development tools has no `jcmd`."""
    gateway: Any = context._gateway
    jvm = gateway.jvm

    def array(kind: Any, *items: Any) -> Any:
        made = gateway.new_array(kind, len(items))
        for index, item in enumerate(items):
            made[index] = item
        return made

    java = jvm.java.lang
    texts = array(java.String, *arguments)
    bean = jvm.javax.management.ObjectName("com.sun.management:type=DiagnosticCommand")
    types = array(java.String, texts.getClass().getName())
    server = java.management.ManagementFactory.getPlatformMBeanServer()
    # By the interface's method, because the server's class is hidden and py4j would look there.
    methods = java.Class.forName("javax.management.MBeanServer").getMethods()
    invoke = next(method for method in methods if method.getName() == "invoke")
    passed = array(java.Object, bean, command, array(java.Object, texts), types)
    return str(invoke.invoke(server, passed))

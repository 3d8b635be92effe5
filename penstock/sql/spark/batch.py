"""Runs plans as native Spark SQL queries.

`BatchExecutor` owns a Spark session of its own (`newSession`), so that the settings SQL needs (ANSI off, the
session's time zone) never touch the user's session. One plan is one `spark.sql(text)`.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from penstock.common.errors import JobExecutionError, NotSupportedError, PenstockError, ValidationError
from penstock.common.types import Row
from penstock.connectors.registry import find_connector
from penstock.connectors.table import KIND_COLUMN, SinkRequest, TableConnector
from penstock.runtime.spark.failures import raised_message
from penstock.sql.functions.text import quoted_name
from penstock.sql.plan.algebra import InsertInto, LocalRows, LocalTable, Plan, Scan, walk_plan
from penstock.sql.plan.optimizer import optimize
from penstock.sql.plan.required_columns import required_columns
from penstock.sql.spark import connector as _connector  # noqa: F401  (registers 'spark')
from penstock.sql.spark import connector_io
from penstock.sql.spark.calls_at_source import calls_at_source, has_calls
from penstock.sql.spark.connector_io import ReadSteps
from penstock.sql.spark.decimal_sums import Sums, decimal_sums, way_after
from penstock.sql.spark.local_rows import local_frame
from penstock.sql.spark.text import SparkWriter
from penstock.sql.spark.unscaled import UNSCALED
from penstock.sql.spark.values import row_reader, with_months

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_HASH_JOINS = {
    "spark.sql.join.preferSortMergeJoin": "false",
    "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold": "64MB",
}
"""Joins hash the smaller side instead of sorting both where a partition of it is small, unless the user has decided.

1 GB of Parquet, 2 cores: orders joined with line items (q03) 6.1 s instead of 9.0, (q12) 2.9 s instead of 4.0.
"""


_IN_WORKERS = (
    "penstock.connectors.filesystem.blocks",
    "penstock.sql.spark.calls_at_source",
    "pyarrow.acero",  # groups
    "pyarrow.dataset",
)
"""What tasks that read tables and call users' functions import."""


class BatchExecutor:
    """Plans in, rows out."""

    def __init__(self, config: Mapping[str, str]) -> None:
        self._config = config
        self._spark: SparkSession | None = None
        self._unscaled = False
        self._local_views: dict[LocalTable, str] = {}

    @property
    def spark(self) -> SparkSession:
        """The session of this environment, made when first needed."""
        from penstock.runtime.dependencies import bring_along, collect_dependencies
        from penstock.runtime.spark.expressions import name_expression
        from penstock.runtime.spark.session import get_spark
        from penstock.runtime.spark.workers import want_imports
        from penstock.sql.functions.text import SPARK_CONF

        if self._spark is None:
            self._spark = get_spark().newSession()
            want_imports(self._spark.sparkContext, _IN_WORKERS)
            for key, value in {**SPARK_CONF, "spark.sql.caseSensitive": "true"}.items():
                self._spark.conf.set(key, value)
            chosen = self._spark.sparkContext.getConf()
            for key, value in _HASH_JOINS.items():
                if not chosen.contains(key):
                    self._spark.conf.set(key, value)
            self._unscaled = name_expression(self._spark, UNSCALED, "UnscaledValue")
        collect_dependencies(self._config)
        bring_along(self._spark.sparkContext, self._config)
        zone = self._config.get("table.local-time-zone", "default")
        if zone != "default" and self._spark.conf.get("spark.sql.session.timeZone") != zone:
            self._spark.conf.set("spark.sql.session.timeZone", zone)
        return self._spark

    def _knows_unscaled(self) -> bool:
        self.spark  # noqa: B018  the session has to be there to know
        return self._unscaled

    def text(self, plan: Plan, way: Sums = Sums.LONGS) -> str:
        """The Spark SQL text of a plan, which EXPLAIN shows."""
        [plan] = optimize([plan], "batch").plans
        plan = self._with_calls_at_source(plan)
        plan = self._with_sums(plan, way)
        needed = required_columns(plan)
        writer = SparkWriter(lambda scan: self._relation(scan, needed.get(id(scan))), self._udf)
        return writer.text(plan)

    def _with_calls_at_source(self, plan: Plan) -> Plan:
        if not has_calls(plan):
            return plan
        needed = required_columns(plan)
        zone = self.spark.conf.get("spark.sql.session.timeZone") or "UTC"

        def read(scan: Scan, steps: ReadSteps) -> str | None:
            connector = self._source(scan)
            if scan.table.requested_metadata or not connector_io.in_python(connector):
                return None
            return self._read(connector, scan, needed.get(id(scan)), steps)

        return calls_at_source(plan, zone, self._config, read)

    def _with_sums(self, plan: Plan, way: Sums) -> Plan:
        chosen = decimal_sums(plan, way)
        if way is Sums.LONGS and chosen is not plan and not self._knows_unscaled():
            return plan
        return chosen

    def data_frame(self, plan: Plan, way: Sums = Sums.LONGS) -> DataFrame:
        text = self.text(plan, way)
        try:
            register_udfs(self.spark, text)
            return self.spark.sql(text)
        except PenstockError:
            raise
        except Exception as error:
            raise spark_error(error) from error

    def rows(self, plan: Plan) -> Iterator[Row]:
        """Runs the query and gives its rows, converted to Python values."""
        types = [f.type for f in plan.fields]
        return row_reader(types)(self._run(plan, lambda frame: with_months(frame, types).toArrow()))

    def insert(self, sink: InsertInto, kind: int | None = None) -> None:
        """Writes the input of a sink, all or nothing where the connector can do that.

        Where it cannot, the query must not have to run again: decimals are added as Spark does it from the start.
        With a `kind` the rows are changes of that kind, and all of them are found before the first is written.
        """
        connector = find_connector(sink.table.options, sink.identifier.as_summary_string())
        names = [f.name for f in sink.input.fields]
        request = SinkRequest(overwrite=sink.overwrite, static_partition=dict(sink.static_partition))
        self._run(
            sink.input,
            lambda frame: connector_io.write(
                connector, sink.table, _of_kind(frame.toDF(*names), kind), request
            ),
            Sums.LONGS if connector.all_or_nothing else Sums.DECIMALS,
            may_repeat=connector.all_or_nothing,
        )

    def _run(
        self,
        plan: Plan,
        action: Callable[[DataFrame], Any],
        way: Sums = Sums.LONGS,
        *,
        may_repeat: bool = True,
    ) -> Any:
        """Runs a query; again, with decimals added in another way, where this one turns out not to do."""
        try:
            return action(self.data_frame(plan, way))
        except PenstockError:
            raise
        except Exception as error:
            other = way_after(raised_message(error), way)
            if other is None:
                raise spark_error(error) from error
            if not may_repeat:
                raise NotSupportedError(
                    "a sum of more than 38 digits in an INSERT into this table",
                    "the query would have to run again, and some of its rows may have been written",
                ) from error
        return self._run(plan, action, other)

    def validate(self, plan: Plan) -> None:
        """Refuses what cannot run, before any job starts."""
        for node in walk_plan(plan):
            if isinstance(node, Scan):
                self._source(node)
            elif isinstance(node, InsertInto):
                self._sink(node)

    def _sink(self, sink: InsertInto) -> None:
        path = sink.identifier.as_summary_string()
        connector = find_connector(sink.table.options, path)
        connector.validate(sink.table, "sink")
        if sink.overwrite and not connector.supports_overwrite:
            raise ValidationError(
                f"INSERT OVERWRITE is not possible for table '{path}': connector '{connector.name}' cannot "
                "replace what a table holds",
                do="use INSERT INTO",
            )

    def _source(self, scan: Scan) -> TableConnector:
        path = scan.identifier.as_summary_string()
        connector = find_connector(scan.table.options, path)
        connector.validate(scan.table, "source")
        if connector.changelog_mode(scan.table) != "insert-only":
            raise ValidationError(
                f"the source of table '{path}' produces updates and deletes, which batch mode cannot read",
                do="query it in streaming mode",
            )
        return connector

    def _local(self, rows: LocalRows) -> str:
        """A view of the program's own rows, made once."""
        if rows.data not in self._local_views:
            self._local_views[rows.data] = f"penstock_local_{uuid.uuid4().hex}"
            frame = local_frame(self.spark, rows)
            frame.createOrReplaceTempView(self._local_views[rows.data])
        return f"SELECT * FROM {self._local_views[rows.data]}"

    def _relation(self, scan: Scan | LocalRows, needed: set[int] | None) -> str:
        if isinstance(scan, LocalRows):
            return self._local(scan)
        connector = self._source(scan)
        relation = self._read(connector, scan, needed)
        texts = [quoted_name(name) for name in _stored(scan)]
        for column in scan.table.requested_metadata:
            texts.append(self._metadata(connector, column))
        shown = ", ".join(f"{t} AS c{i}" for i, t in enumerate(texts)) or "0 AS c0"
        return f"SELECT {shown} FROM {relation}"

    def _read(
        self, connector: TableConnector, scan: Scan, needed: set[int] | None, steps: ReadSteps | None = None
    ) -> str:
        columns = [n for i, n in enumerate(_stored(scan)) if needed is None or i in needed]
        try:
            return connector_io.relation(self.spark, connector, scan.table, columns, steps)
        except PenstockError:
            raise
        except Exception as error:
            raise spark_error(error) from error

    def _metadata(self, connector: TableConnector, column: Any) -> str:
        from penstock.sql.functions import Arg
        from penstock.sql.functions.casts import cast_sql

        own = connector.metadata_columns[column.metadata_key]
        text = quoted_name(column.name)
        if own.nullable() == column.data_type.nullable():
            return text
        return cast_sql(Arg(text, own), column.data_type)

    def _udf(self, call: Any, args: list[str]) -> str:
        from penstock.sql.spark.user_function_calls import spark_call

        return spark_call(self.spark, call, args, self._config)


def _stored(scan: Scan) -> list[str]:
    """The table's own columns."""
    return [c.name for c in scan.table.schema.columns if c.is_physical]


def register_udfs(spark: SparkSession, text: str) -> None:
    """Registers the built-in Python functions that a text calls."""
    from penstock.sql.functions import register_required

    register_required(spark, text)


def _of_kind(frame: DataFrame, kind: int | None) -> DataFrame:
    """Rows as changes of one kind, which are all computed before they are used; as they are without a kind."""
    if kind is None:
        return frame
    from pyspark.sql import functions as f

    return frame.localCheckpoint(eager=True).withColumn(KIND_COLUMN, f.lit(kind).cast("tinyint"))


def spark_error(error: Exception) -> PenstockError:
    """A failure of Spark as ours: the reason in one line, Spark's own error as the cause."""
    if isinstance(error, PenstockError):
        return error
    from penstock.sql.spark.errors import penstock_error

    known = penstock_error(error)
    if isinstance(known, PenstockError):
        return known
    return JobExecutionError(f"the query failed: {_reason(str(error))}")


def _reason(text: str) -> str:
    matches = re.findall(r"\[(?:USER_RAISED_EXCEPTION|[A-Z_.]+)\] ([^\n]+)", text)
    causes = re.findall(r"Caused by: [\w.$]+: ([^\n]+)", text)
    line = (matches or causes or text.strip().splitlines() or [""])[-1]
    return line[:400]

"""`SET table.sql-dialect = hive`: statements in Hive's words, read by Spark's parser.

Spark SQL grew out of Hive and reads its DDL and queries (LATERAL VIEW, DISTRIBUTE BY, MSCK REPAIR TABLE ...).
So a statement of this dialect is Spark's own, on the tables of Spark's catalog, with Spark's functions; the current
catalog must be one of type 'spark', where Flink wants a HiveCatalog. A session of its own looks names up without
regard to case, as Hive does. Statements about catalogs, modules and options stay Flink's.

A query becomes a relation of the algebra (a global temporary view), so its rows are Flink's values and `sql_query`
gives a table that other calls can go on with.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.common.datatypes import DataTypes
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.sql.plan.algebra import DataFrameScan, Field, Plan
from penstock.sql.result import StatementResult, ok, table
from penstock.sql.spark.catalog import SparkCatalog, flink_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.sql.session import SqlSession

DIALECT = "table.sql-dialect"
_FLINKS = re.compile(
    r"\s*(SET|RESET|USE\s+(CATALOG|MODULES)|(CREATE|DROP|ALTER|SHOW|DESC|DESCRIBE)\s+CATALOGS?|SHOW\s+CURRENT\s+CATALOG"
    r"|(LOAD|UNLOAD)\s+MODULE|SHOW\s+(FULL\s+)?MODULES|QUIT|EXIT)\b",
    re.I,
)
_QUERY = re.compile(r"[\s(]*(SELECT|VALUES|TABLE|WITH|FROM|MAP|REDUCE)\b", re.I)
_NEEDS_HIVE = "WITHOUT_HIVE_SUPPORT"


def speaks_hive(config: Mapping[str, str]) -> bool:
    """Whether statements are Hive's now.

    Raises:
        ValidationError: There is no such dialect.
    """
    name = config.get(DIALECT, "default").lower()
    if name not in ("default", "hive"):
        raise ValidationError(
            f"unsupported SQL dialect: {name!r}", do=f"SET '{DIALECT}' = 'default' or 'hive'"
        )
    return name == "hive"


def is_flinks(text: str) -> bool:
    """Whether a statement is Flink's in either dialect.

    >>> is_flinks("set table.sql-dialect = default"), is_flinks("LOAD DATA INPATH 'x' INTO TABLE t")
    (True, False)
    """
    return _FLINKS.match(text) is not None


class HiveDialect:
    """Runs the statements of one SQL session."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session
        self._spark: SparkSession | None = None

    def execute(self, text: str) -> StatementResult:
        """Runs a statement; the rows of a query are computed when they are asked for."""
        frame = self._frame(text)
        if self._is_query(text, frame):
            return self._session.query(self._relation(frame))
        if not frame.columns:
            return ok()
        rows = [[None if v is None else str(v) for v in row] for row in frame.collect()]
        return table([(name, DataTypes.STRING()) for name in frame.columns], rows)

    def plan(self, text: str) -> Plan:
        """The plan of a query.

        Raises:
            ValidationError: It is another statement.
        """
        if _QUERY.match(text) is None:
            raise ValidationError("sql_query takes a query", do="use execute_sql(...) for other statements")
        return self._relation(self._frame(text))

    def _is_query(self, text: str, frame: DataFrame) -> bool:
        """WITH and FROM may also begin an INSERT, which has run by now and has no columns."""
        return _QUERY.match(text) is not None and bool(frame.columns)

    def _frame(self, text: str) -> DataFrame:
        spark = self._ready()
        from pyspark.errors import PySparkException

        try:
            spark.catalog.setCurrentDatabase(self._session.catalogs.current_database or "default")
            frame = spark.sql(text.strip().rstrip(";"))
            self._session.catalogs.current_database = spark.catalog.currentDatabase()
        except PySparkException as error:
            raise _refused(str(error)) from error
        return frame

    def _ready(self) -> SparkSession:
        if self._session.streaming:
            raise NotSupportedError(
                "the Hive dialect in streaming mode",
                "Spark reads and writes its catalog's tables as a whole",
                do=f"use batch mode, or SET '{DIALECT}' = 'default'",
            )
        catalogs = self._session.catalogs
        if not isinstance(catalogs.catalog(catalogs.current_catalog), SparkCatalog):
            raise ValidationError(
                f"the Hive dialect works on Spark's catalog, and the current catalog is '{catalogs.current_catalog}'",
                do="CREATE CATALOG hive WITH ('type' = 'spark'), then USE CATALOG hive",
            )
        if self._spark is None:
            from penstock.runtime.spark.session import get_spark

            self._spark = get_spark().newSession()
            for key in ("spark.sql.ansi.enabled", "spark.sql.caseSensitive"):
                self._spark.conf.set(key, "false")
        zone = self._session.config.get("table.local-time-zone", "default")
        if zone != "default":
            self._spark.conf.set("spark.sql.session.timeZone", zone)
        return self._spark

    def _relation(self, frame: DataFrame) -> Plan:
        """The rows of a query for the session that runs plans."""
        fields = tuple(
            Field(f.name, flink_type(f.dataType).with_nullability(f.nullable)) for f in frame.schema.fields
        )
        view = f"penstock_hive_{uuid.uuid4().hex}"
        frame.toDF(*[f"c{i}" for i in range(len(fields))]).createOrReplaceGlobalTempView(view)
        names = ", ".join(f"c{i}" for i in range(len(fields)))
        return DataFrameScan(fields, f"SELECT {names} FROM global_temp.{view}", "Hive query")


def _refused(message: str) -> ValidationError:
    what = message.partition("\n\nJVM stacktrace")[0].strip()
    do: str | None = None
    if _NEEDS_HIVE in message or "Hive support is required" in message:
        do = "start Spark with SparkSession.builder.enableHiveSupport(), or say USING parquet instead of STORED AS"
    return ValidationError(f"Spark refuses the statement: {what}", do=do)

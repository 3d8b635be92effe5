"""Spark for the state processor: work that is spread over tasks, and DataFrames of what tasks read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import cloudpickle
import pyarrow as pa

from penstock.common.types import make_row
from penstock.state_processor.columns import BATCH_ROWS, Batches, Column

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import DataFrame, SparkSession

ReadTask = Callable[[], Iterable[Sequence[Any]]]
"""Picklable; gives rows of values in the order of the frame's columns."""

TableTask = Callable[[], pa.Table | None]
"""Picklable; gives a table with the frame's columns, None for no rows."""


def session_of(env: Any = None) -> SparkSession:
    """The Spark session: the one that was given, else the one that jobs run in."""
    from pyspark.sql import SparkSession

    from penstock.runtime.spark.session import get_spark

    return env if isinstance(env, SparkSession) else get_spark()


def frame_of(
    spark: SparkSession, tasks: Sequence[ReadTask], columns: Sequence[Column], where: str
) -> DataFrame:
    """A DataFrame whose partitions are what the tasks give; they run when it is used, as often as it is.

    `where` names operator and state for errors.
    """
    described = cloudpickle.dumps(list(columns))

    def batches(task: ReadTask) -> Iterator[pa.RecordBatch]:
        return Batches(cloudpickle.loads(described), where).of(task())

    return _frame(spark, tasks, Batches(columns).schema, batches)


def frame_of_tables(spark: SparkSession, tasks: Sequence[TableTask], schema: pa.Schema) -> DataFrame:
    """The same for tasks that give tables; `schema` are their columns."""

    def batches(task: TableTask) -> Iterator[pa.RecordBatch]:
        table = task()
        return iter(() if table is None else table.to_batches(BATCH_ROWS))

    return _frame(spark, tasks, schema, batches)


def _frame(
    spark: SparkSession,
    tasks: Sequence[Any],
    columns: pa.Schema,
    batches: Callable[[Any], Iterator[pa.RecordBatch]],
) -> DataFrame:
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = from_arrow_schema(columns, prefer_timestamp_ntz=True)
    if not tasks:
        return spark.createDataFrame([], schema)
    packed = [(bytearray(cloudpickle.dumps(task)),) for task in tasks]
    rdd = spark.sparkContext.parallelize(packed, len(packed))

    def read(tables: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in tables:
            for task in table.column(0).to_pylist():
                yield from batches(cloudpickle.loads(task))

    return spark.createDataFrame(rdd, "task binary").mapInArrow(read, schema)


def elements_of(spark: SparkSession, data: Any) -> RDD[Any]:
    """The elements of a dataset: of a DataFrame named rows, of an RDD or a collection what is in it.

    A bounded DataStream is run, and its elements pass through the driver.
    """
    from pyspark import RDD
    from pyspark.sql import DataFrame

    if isinstance(data, RDD):
        return data
    if isinstance(data, DataFrame):
        return data.rdd.map(_row)
    if hasattr(data, "execute_and_collect"):
        with data.execute_and_collect() as elements:
            data = list(elements)
    return spark.sparkContext.parallelize(list(data))


def _row(value: Any) -> Any:
    """Spark's rows as ours, also inside other values."""
    from pyspark.sql import Row

    if isinstance(value, Row):
        return make_row([_row(item) for item in value], value.__fields__)
    if isinstance(value, list):
        return [_row(item) for item in value]
    if isinstance(value, dict):
        return {key: _row(item) for key, item in value.items()}
    return value

"""The count per key as a StatefulProcessor of Spark Structured Streaming, RocksDB state. usage: ROWS"""

import json
import sys
import tempfile
import time

from pyspark.sql import Row
from pyspark.sql.functions import col
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.types import LongType, StructField, StructType

from penstock.runtime.spark.session import get_spark

KEYS = 10_000
STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
OUT = StructType([StructField("key", LongType()), StructField("count", LongType())])


class Count(StatefulProcessor):
    def init(self, handle):
        self.count = handle.getValueState("count", StructType([StructField("n", LongType())]))

    def handleInputRows(self, key, rows, timer_values):
        n = self.count.get()[0] if self.count.exists() else 0
        for _ in rows:
            n += 1
            yield Row(key=key[0], count=n)
        self.count.update((n,))

    def close(self):
        pass


def run(rows):
    spark = get_spark(
        {
            "spark.sql.streaming.stateStore.providerClass": STORE,
            "spark.sql.shuffle.partitions": "2",
        }
    )
    folder = tempfile.mkdtemp()
    spark.range(rows).select((col("id") % KEYS).alias("key")).repartition(4).write.parquet(folder + "/in")
    stream = spark.readStream.schema("key LONG").option("maxFilesPerTrigger", 4).parquet(folder + "/in")
    query = (
        stream.groupBy("key")
        .transformWithState(Count(), OUT, "append", "none")
        .writeStream.format("noop")
        .option("checkpointLocation", folder + "/chk")
        .trigger(availableNow=True)
    )
    started = time.time()
    query.start().awaitTermination()
    return time.time() - started


rows = int(sys.argv[1])
run(20_000)
print(json.dumps({"rows": rows, "seconds": run(rows)}))

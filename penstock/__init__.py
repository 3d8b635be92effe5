"""Apache Flink's programming model in Python, run by Apache Spark."""

__version__ = "0.1.0"

"""Streaming SQL: continuous queries as linear Spark SQL between stateful delta operators, run epoch by epoch."""

from penstock.sql.streaming.executor import StreamingExecutor

__all__ = ["StreamingExecutor"]

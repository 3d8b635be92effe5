"""Lines on the driver's standard output: what `DataStream.print()` and `'connector' = 'print'` write to."""

from penstock.connectors.print.sink import PrintSink, line_prefix

__all__ = ["PrintSink", "line_prefix"]

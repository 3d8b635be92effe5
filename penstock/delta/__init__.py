"""Operators over changes of tables (Z-sets), for streaming SQL. They know state and time, never Spark."""

"""Streaming SQL: continuous queries as linear Spark SQL between stateful delta operators, run epoch by epoch.

`executor.py` is the way in. Nothing is imported here: Python workers unpickle tasks of this package, and what plans
queries would cost each of them a second to load.
"""

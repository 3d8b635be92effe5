"""Plans as Spark SQL.

`text.py` writes a plan as one Spark SQL text, with the help of `windows.py` (window functions of FROM), `unnest.py`
and `unscaled.py` (decimals that are added as whole numbers). `batch.py` runs it, `values.py` makes Python values of
what comes back, `user_function_calls.py` is how Spark calls users' functions. `catalog.py` and `connector.py` offer
the tables of Spark's own catalog.
"""

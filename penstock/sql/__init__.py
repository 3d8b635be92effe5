"""Flink SQL: from a statement's text to rows.

The walk of a query, file by file:

1. `dialect/` reads the text. `flink.py` teaches sqlglot Flink's queries and expressions, `ddl_parser.py` and
   `statement_parser.py` read everything else into the dataclasses of `statements.py`.
2. `session.py` owns catalogs (`penstock/catalog/`; `catalog_types.py` makes those of CREATE CATALOG), configuration
   and an executor, and hands a statement to its function in `operations/` (DDL, SHOW, INSERT, EXPLAIN …).
3. `binder/` gives names and types: `query.py` (WITH, set operations, ORDER BY), `select.py` (one SELECT),
   `relations.py` (FROM), `grouping.py` (GROUP BY), `expressions.py` (scalars). It makes the same algebra for
   batch and streaming; only validation asks which one it is.
4. `plan/algebra.py` and `plan/rex.py` are that algebra: typed relational nodes and scalar expressions. Columns are
   positions; time attributes are marked on the fields.
5. `plan/rules/` rewrites plans where Flink's meaning differs from the SQL that Spark would be given.
6. Batch: `spark/text.py` writes ONE Spark SQL text, with decimals that are added as whole numbers
   (`spark/unscaled.py`), `spark/batch.py` runs it, `spark/values.py` makes Python values. Streaming (`streaming/`)
   builds on the same algebra.

`compiled/` keeps plans of INSERTs as JSON. `functions/` is the registry of built-in functions (types and Spark text),
`connectors/` says how tables are read and written.
"""

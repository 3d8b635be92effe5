"""The algebra of queries, and what is asked of plans and changed in them before they run.

`algebra.py` has the relational nodes, `rex.py` the scalar expressions in them. `plan_rexes.py` reaches the
expressions of a plan, `required_columns.py` says which columns of the scans a plan needs. `optimizer.py` applies the
rewrites of `rules/`, which ask `rex_facts.py` what may be moved. `rex_text.py` prints expressions for EXPLAIN.
"""

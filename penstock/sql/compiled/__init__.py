"""Compiled plans: a pipeline that was planned once, kept as JSON and run again.

    algebra_json.py   plans and expressions as JSON, and back
    tables_json.py    the tables they read and write, by identifier, with schema and options
    operators.py      the operators of the physical plan: what can be edited, and whether a plan still fits
    plan.py           the whole: compile, load, execute

What is stored is the bound algebra, not SQL text: names have been looked up, so a plan means the same whatever the
catalogs say later. The physical plan is made anew when the plan runs and compared with the operators that are
stored; state belongs to operators by their uids, so a plan that would be run by other operators is refused.
"""

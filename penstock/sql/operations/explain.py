"""EXPLAIN: the plan as bound, and what runs where."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from penstock.common.errors import NotSupportedError
from penstock.sql.dialect import statements as st
from penstock.sql.lineage import COLUMNS, lineage_of
from penstock.sql.plan.algebra import Plan, walk_plan
from penstock.sql.result import StatementResult, strings, table

if TYPE_CHECKING:
    from penstock.sql.session import SqlSession


def explain(session: SqlSession, statement: st.ExplainStatement) -> StatementResult:
    if statement.lineage:
        found = lineage_of(_plans(session, statement.statement), session.streaming)
        return table(COLUMNS, [(*row[:-1], list(row[-1])) for row in found.rows()])
    return strings("result", [explain_text(session, statement.statement, statement.details)])


def explain_text(session: SqlSession, statement: st.Statement, details: tuple[str, ...] = ()) -> str:
    """The text of EXPLAIN for a query, an INSERT or a statement set."""
    plans = _plans(session, statement)
    for plan in plans:
        session.executor_of(plan).validate(plan)
    return explain_plans(session, plans, details)


def explain_plans(session: SqlSession, plans: list[Plan], details: tuple[str, ...] = ()) -> str:
    parts = ["== Abstract Syntax Tree ==\n" + "\n".join(tree(p) for p in plans)]
    for plan in plans:
        parts.append(_where_it_runs(session, plan, details))
    if "JSON_EXECUTION_PLAN" in details:
        parts.append("== Physical Execution Plan ==\n" + json.dumps({"nodes": _nodes(plans)}, indent=2))
    return "\n\n".join(parts) + "\n"


def _plans(session: SqlSession, statement: st.Statement) -> list[Plan]:
    from penstock.sql.operations.dml import plan_insert

    if isinstance(statement, st.QueryStatement):
        return [session.bind(statement.ast, statement.sql)]
    if isinstance(statement, st.InsertStatement):
        return [plan_insert(session, statement)]
    if isinstance(statement, st.StatementSetStatement):
        return [plan_insert(session, i) for i in statement.inserts]
    if isinstance(statement, st.CreateTableStatement) and statement.query is not None:
        return [session.bind(statement.query, statement.sql)]
    raise NotSupportedError("EXPLAIN of this statement", "only queries and INSERTs have a plan")


def tree(plan: Plan, indent: int = 0) -> str:
    """The plan as an indented list, inputs below their node."""
    head = " " * indent + ("+- " if indent else "") + plan.describe()
    return "\n".join([head, *(tree(child, indent + 3) for child in plan.inputs)])


def _where_it_runs(session: SqlSession, plan: Plan, details: tuple[str, ...]) -> str:
    own = getattr(session.executor_of(plan), "explain", None)
    if own is not None:
        text: str = own(plan, details)
        return text
    from penstock.runtime.spark.plans import plan_with_costs
    from penstock.sql.plan.algebra import InsertInto

    query = plan.input if isinstance(plan, InsertInto) else plan
    lines = ["== Optimized Execution Plan ==", "Catalyst runs all of it, as one Spark SQL query:"]
    lines.append(session.executor.text(query))
    if re.search(r"\bpenstock_(?!source_|local_)", lines[-1]):
        lines.append("Python workers run the functions whose names begin with penstock_")
    if "CHANGELOG_MODE" in details:
        lines.append("changelogMode=[I]")
    if "ESTIMATED_COST" in details:
        lines.append("Spark's own plan and estimates:")
        lines.append(plan_with_costs(session.executor.data_frame(query)))
    return "\n".join(lines)


def _nodes(plans: list[Plan]) -> list[dict[str, Any]]:
    order = [node for plan in plans for node in walk_plan(plan)]
    ids = {id(node): i + 1 for i, node in enumerate(order)}
    return [
        {
            "id": ids[id(node)],
            "type": type(node).__name__,
            "contents": node.describe(),
            "predecessors": [{"id": ids[id(child)]} for child in node.inputs],
        }
        for node in order
    ]

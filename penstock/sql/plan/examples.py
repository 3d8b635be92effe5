"""Plans for the doctests of rules: some tables, a query, and the plan as text.

>>> print(shown(bound("SELECT x FROM a WHERE y > 1")))
Calc(select=[x])
   Filter(where=[y > 1])
      a
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from penstock.catalog.conditions import clauses_text
from penstock.sql.plan.algebra import Plan, Project, Scan
from penstock.sql.plan.rules.merge_projects import is_identity

if TYPE_CHECKING:
    from penstock.sql.session import SqlSession

_NOWHERE = "WITH ('connector' = 'filesystem', 'path' = '/nowhere', 'format' = 'csv')"


@cache
def _session() -> SqlSession:
    from penstock.catalog.catalog_manager import CatalogManager
    from penstock.sql.session import SqlSession

    session = SqlSession(CatalogManager(), {}, streaming=True)
    for name in "abc":
        session.execute(f"CREATE TABLE {name} (x INT, y INT, s STRING) {_NOWHERE}")
    session.execute(
        f"CREATE TABLE e (x INT, y INT, t TIMESTAMP(3), WATERMARK FOR t AS t - INTERVAL '1' SECOND) {_NOWHERE}"
    )
    session.execute(
        "CREATE TABLE d (x INT, y INT, s STRING) "
        "WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:/nowhere', 'table-name' = 'd')"
    )
    return session


def bound(sql: str) -> Plan:
    """The plan of a query over tables with columns x INT and y INT.

    a, b and c have s STRING, too, and so has d, which is in a database; e has a row time t.
    """
    from penstock.sql.dialect.statement_parser import parse_query

    return _session().bind(parse_query(sql), sql)


def shown(plan: Plan, indent: int = 0) -> str:
    """The plan as a tree; tables by their names, without projections that change nothing."""
    while isinstance(plan, Project) and is_identity(plan):
        plan = plan.input
    text = _scan_text(plan) if isinstance(plan, Scan) else plan.describe()
    return "\n".join([" " * indent + text, *(shown(child, indent + 3) for child in plan.inputs)])


def _scan_text(scan: Scan) -> str:
    filters = clauses_text(scan.table.filters)
    return f"{scan.identifier.object_name}(filter=[{filters}])" if filters else scan.identifier.object_name

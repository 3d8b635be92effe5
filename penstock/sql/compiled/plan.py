"""A compiled plan: made of INSERTs, written as JSON, loaded, executed."""

from __future__ import annotations

import json
from collections import ChainMap
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.sql.compiled.algebra_json import decode, encode
from penstock.sql.compiled.operators import check_fit, check_uids, edits_of, operators_json
from penstock.sql.compiled.tables_json import PlanReferences
from penstock.sql.operations.dml import execute_sinks
from penstock.sql.operations.explain import explain_plans
from penstock.sql.plan.algebra import InsertInto, Plan
from penstock.sql.result import StatementResult
from penstock.util.exceptions import TableException

if TYPE_CHECKING:
    from penstock.sql.session import SqlSession
    from penstock.sql.streaming.planner import Planner

FLINK_VERSION = "2.3"
FORMAT = 1
"""Of the JSON. A plan of another format is refused."""
_KEPT = ("table.exec.", "table.optimizer.", "table.local-time-zone")
"""Options that decide how a pipeline is planned: the plan keeps them as they were."""


@dataclass(frozen=True)
class StoredPlan:
    """A plan and the session it belongs to. `content` is the JSON; edits of it count when it is loaded."""

    session: SqlSession
    content: dict[str, Any]
    sinks: tuple[InsertInto, ...]

    def as_json(self) -> str:
        return json.dumps(self.content, indent=2, ensure_ascii=False)

    def execute(self) -> StatementResult:
        """Starts the job."""
        if not self.session.streaming:
            return execute_sinks(self.session, list(self.sinks))
        from penstock.sql.streaming.executor import StreamingExecutor

        operators = self.content["operators"]
        uids = [item["uid"] for item in operators if item["type"] == "Sink"]
        config = _configuration(self.session, self.content)
        planner = _planner(config, operators)
        result: StatementResult = StreamingExecutor(config).insert_all(list(self.sinks), planner, uids)
        return result

    def explain(self, details: tuple[str, ...] = ()) -> str:
        """The operators that will run, with what was edited."""
        if not self.session.streaming:
            plans: list[Plan] = list(self.sinks)
            return explain_plans(self.session, plans, details)
        from penstock.sql.streaming.explaining import explain_query
        from penstock.sql.streaming.jobs import plan_inserts

        planner = _planner(_configuration(self.session, self.content), self.content["operators"])
        streams = [stream for stream, _, _ in plan_inserts(planner, self.sinks)]
        return "\n\n".join(explain_query(planner, stream, details) for stream in streams) + "\n"


def compile_plan(session: SqlSession, sinks: Sequence[InsertInto], sql: Sequence[str] = ()) -> StoredPlan:
    """The plan of INSERTs.

    Args:
        sql: Their texts, where there are some; for people only.

    Raises:
        NotSupportedError: Part of it only exists in this program: a DataStream, a function without a name.
    """
    references = PlanReferences(session.catalogs, session.config)
    inserts = [encode(sink, references) for sink in sinks]
    for sink in sinks:
        session.executor_of(sink).validate(sink)
    kept = {k: session.config[k] for k in session.config if k.startswith(_KEPT)}
    content: dict[str, Any] = {
        "flinkVersion": FLINK_VERSION,
        "penstockPlan": FORMAT,
        "mode": "streaming" if session.streaming else "batch",
        "statements": list(sql),
        "configuration": dict(sorted(kept.items())),
        "operators": _operators(session, sinks, {}) if session.streaming else [],
        "tables": references.tables,
        "inserts": inserts,
        "rows": references.rows,
    }
    return StoredPlan(session, content, tuple(sinks))


def load_plan(session: SqlSession, text: str, where: str = "Plan") -> StoredPlan:
    """A plan from its JSON, checked against this session.

    Raises:
        TableException: It is no JSON.
        ValidationError: The session, its catalogs or this version would run something else.
    """
    content = _parsed(text, where)
    _check_mode(session, content)
    references = PlanReferences(session.catalogs, session.config, content)
    sinks = tuple(decode(item, references) for item in content["inserts"])
    if not all(isinstance(sink, InsertInto) for sink in sinks):
        raise ValidationError("a compiled plan consists of INSERTs")
    if not session.streaming:
        return StoredPlan(session, content, sinks)
    operators = content["operators"]
    check_uids(operators)
    ends = [item for item in operators if item["type"] == "Sink"]
    if len(ends) != len(sinks):
        raise ValidationError(f"the compiled plan has {len(sinks)} INSERTs and {len(ends)} sinks")
    sinks = tuple(_with_parallelism(s, item["parallelism"]) for s, item in zip(sinks, ends, strict=True))
    check_fit(operators, _operators(session, sinks, content))
    return StoredPlan(session, content, sinks)


def _parsed(text: str, where: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except ValueError as error:
        raise TableException(f"cannot load {where}: it is not JSON, {error}") from error
    if not isinstance(content, dict) or "penstockPlan" not in content:
        if isinstance(content, dict) and "nodes" in content:
            raise NotSupportedError(
                "a plan that Flink compiled", "it names Flink's operators", do="compile the statement here"
            )
        raise TableException(f"cannot load {where}: it is not a compiled plan")
    if content["penstockPlan"] != FORMAT:
        raise ValidationError(
            f"the compiled plan has format {content['penstockPlan']!r}, and this version reads {FORMAT}",
            do="compile it again",
        )
    missing = [
        k for k in ("mode", "configuration", "operators", "tables", "inserts", "rows") if k not in content
    ]
    if missing:
        raise ValidationError(f"the compiled plan is not whole: there is no {missing[0]!r}")
    return content


def _check_mode(session: SqlSession, content: dict[str, Any]) -> None:
    mine = "streaming" if session.streaming else "batch"
    if content["mode"] != mine:
        raise ValidationError(
            f"the plan was compiled for {content['mode']} mode, and this environment is in {mine} mode"
        )


def _operators(
    session: SqlSession, sinks: Sequence[InsertInto], stored: dict[str, Any]
) -> list[dict[str, Any]]:
    """The operators that would run now, with what a stored plan wants of them."""
    from penstock.sql.streaming.jobs import plan_inserts, sink_uids

    config = _configuration(session, stored)
    planner = _planner(config, stored.get("operators", []))
    streams = [stream for stream, _, _ in plan_inserts(planner, sinks)]
    return operators_json(planner, streams, sinks, sink_uids(planner, sinks))


def _configuration(session: SqlSession, stored: dict[str, Any]) -> MutableMapping[str, str]:
    return ChainMap(dict(stored.get("configuration", {})), session.config)


def _planner(config: MutableMapping[str, str], operators: Sequence[dict[str, Any]]) -> Planner:
    from penstock.sql.streaming.planner import Planner

    return Planner(config, edits=edits_of(operators))


def _with_parallelism(sink: InsertInto, parallelism: int | None) -> InsertInto:
    """The sink with so many writers: its own option, because the connector knows what it means for order."""
    if parallelism is None:
        return sink
    options = {**sink.table.options, "sink.parallelism": str(parallelism)}
    return replace(sink, table=sink.table.with_options(options))

"""Rules that come as a stream: what is looked for changes while the job runs."""

import json
from collections.abc import Iterator
from typing import Any

from penstock.cep import CEP, PatternProcessFunction
from penstock.common import Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment

LOGINS = [
    {"user": "ann", "ok": False, "at": 1_000},
    {"user": "ann", "ok": False, "at": 2_000},
    {"user": "bob", "ok": False, "at": 3_000},
    {"user": "ann", "ok": True, "at": 4_000},
]
RULES = [
    {
        "id": "guessing",
        "version": 1,
        "steps": [
            {"name": "failed", "where": "ok == False", "times": 2, "consecutive": True},
            {"name": "in", "contiguity": "next", "where": "ok == True"},
        ],
        "within_ms": 60_000,
        "skip": {"strategy": "past_last_event"},
    },
    {"id": "any failure", "version": 1, "steps": [{"name": "failed", "where": "ok == False"}]},
    # A later version replaces the one before; this one ends the rule, and drops what has begun.
    {"id": "any failure", "version": 2, "enabled": False, "on_change": "drop"},
]


class Alert(PatternProcessFunction):
    def process_match(self, match: Any, ctx: Any) -> Iterator[str]:
        yield f"{ctx.rule_id()} (version {ctx.rule_version()}): {match['failed'][0]['user']}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    by_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda login, _: login["at"]
    )
    logins = env.from_collection(LOGINS).assign_timestamps_and_watermarks(by_time)
    rules = env.from_collection([json.dumps(rule) for rule in RULES], Types.STRING())
    found = CEP.dynamic_patterns(logins.key_by(lambda login: login["user"], Types.STRING()), rules)
    found.process(Alert(), Types.STRING()).print()
    env.execute("rules")


if __name__ == "__main__":
    main()

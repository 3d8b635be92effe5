"""All rules on all keys: input 0 are the events, input 1 the rules, which every subtask gets.

A rule counts for events that the watermark passes after it came (in processing time: that come after it). A new
version begins anew on every key. What has begun under the version before may finish, if the new version says so: it
takes events, but nothing new begins. The rules are in broadcast state, as they came; partial matches are in keyed
state, by rule and version. Those of a version that is gone are dropped when their key is next at work.

A rule that means nothing is counted (`numRulesRefused`) and goes to a side output, if there is one; the others go on.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from penstock.cep.functions import PatternProcessFunction, TimedOutPartialMatchHandler
from penstock.cep.matcher import KeyedMatcher, Lane
from penstock.cep.nfa.match_state import MatchState
from penstock.cep.nfa.nfa import NFA
from penstock.cep.operator import CepOperator, MatchContext
from penstock.cep.rules.rule import FINISH, Rule, parse_rule
from penstock.common.errors import MalformedPatternError
from penstock.common.typeinfo import TypeInformation, Types
from penstock.functions.output_tag import OutputTag
from penstock.state.descriptors import MapStateDescriptor

_RULES = MapStateDescriptor("rules", Types.STRING(), Types.PICKLED_BYTE_ARRAY())
_MATCHES = MapStateDescriptor("rule-matches", Types.STRING(), Types.PICKLED_BYTE_ARRAY())


class RuleLane(Lane):
    """One version of a rule; its partial matches are an entry of a map."""

    def __init__(self, rule: Rule, nfa: NFA, may_start: bool, matches: Any) -> None:
        super().__init__(nfa, may_start)
        self.rule = rule
        self._matches = matches

    def load(self) -> MatchState | None:
        state: MatchState | None = self._matches.get(self.rule.slot)
        return state

    def save(self, state: MatchState | None) -> None:
        if state is None:
            self._matches.remove(self.rule.slot)
        else:
            self._matches.put(self.rule.slot, state)


class RuleContext(MatchContext):
    """What a function may ask about a match, and the rule that found it."""

    def rule_id(self) -> str:
        return self._rule.id

    def rule_version(self) -> int:
        return self._rule.version

    @property
    def _rule(self) -> Rule:
        lane = self._operator.matcher.lane
        assert isinstance(lane, RuleLane)
        return lane.rule


class DynamicCepOperator(CepOperator):
    """Runs rules on a keyed stream.

    Args:
        function: Handles matches; its context also knows the rule.
        key_selector: value -> key.
        refused_tag: Side output for rules that mean nothing; None: they are counted only.
        settings: As of `CepOperator`.
    """

    input_count = 2

    def __init__(
        self,
        function: PatternProcessFunction,
        key_selector: Any,
        *,
        refused_tag: OutputTag | None = None,
        event_type: TypeInformation | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(function, None, key_selector, event_type=event_type, **settings)
        self.key_selectors = (*self.key_selectors, None)
        self.refused_tag = refused_tag

    def functions(self) -> dict[str, Any]:
        return {"function": self.function}

    def open_matcher(self) -> KeyedMatcher:
        self._rules = self.context.operator_state.get_broadcast_state(_RULES)
        self._matches = self.runtime_context.get_map_state(_MATCHES)
        self._refused = self.context.metrics.counter("numRulesRefused")
        self._compiled: dict[str, NFA] = {}
        return super().open_matcher()

    def make_context(self) -> MatchContext:
        return RuleContext(self)

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._make_lanes()

    def process_elements(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        if input_index == 0:
            super().process_elements(input_index, values, timestamps)
            return
        for definition in values:
            self._take_rule(definition)
        self._make_lanes()
        self.results.flush(timestamped=False)

    # -- rules ----------------------------------------------------------------------------------------------

    def _take_rule(self, definition: Any) -> None:
        try:
            rule = parse_rule(definition)
        except MalformedPatternError as error:
            self._refused.inc()
            if self.refused_tag is not None:
                self.results.add_side(self.refused_tag.tag_id, (definition, str(error)), 0)
            return
        versions: list[Any] = [] if rule.on_change != FINISH else (self._rules.get(rule.id) or [])
        if versions and rule.version <= parse_rule(versions[-1]).version:
            return  # it is known, or older than what is known
        self._rules.put(rule.id, [*versions, definition])

    def _make_lanes(self) -> None:
        lanes = []
        for rule_id in sorted(self._rules.keys()):
            versions = [parse_rule(definition) for definition in self._rules.get(rule_id)]
            for rule in versions:
                if rule.pattern is not None:
                    nfa = self._nfa_of(rule)
                    lanes.append(RuleLane(rule, nfa, rule is versions[-1], self._matches))
        self.matcher.lanes = lanes
        self.matcher.before_drain = functools.partial(self._forget_others, [lane.rule.slot for lane in lanes])

    def _nfa_of(self, rule: Rule) -> NFA:
        if rule.slot not in self._compiled:
            assert rule.pattern is not None
            handles_timeouts = isinstance(self.function, TimedOutPartialMatchHandler)
            self._compiled[rule.slot] = NFA(rule.pattern, handles_timeouts)
        return self._compiled[rule.slot]

    def _forget_others(self, slots: Sequence[str]) -> None:
        """Drops the current key's partial matches of versions that are gone."""
        for slot in self._matches.keys():  # noqa: SIM118 - a map state, not a dict
            if slot not in slots:
                self._matches.remove(slot)

"""The pattern library: sequences of events, found in streams as they come.

    pattern = (Pattern.begin("small").where(lambda e: e.amount < 1)
               .next("large").where(lambda e: e.amount > 500).within(Duration.of_minutes(1)))
    CEP.pattern(payments.key_by(lambda e: e.account), pattern).select(lambda match: match["large"][0])

Three rooms, one after the other:

    pattern/      what the user says, refused at once if it means nothing
    nfa/          the automaton it becomes, and what that remembers: partial matches and a shared buffer of events
    operator.py   order of time, timers, keyed state (`matcher.py`), and the user's functions

`rules/` has patterns that come as data, `match_operator.py` is MATCH_RECOGNIZE on the same automaton.

PyFlink has no such module; names are those of Flink's Java library in PyFlink's spelling. docs/cep.md teaches it.
"""

from penstock.cep.cep import CEP
from penstock.cep.functions import (
    EventComparator,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    RichPatternFlatSelectFunction,
    RichPatternSelectFunction,
    TimedOutPartialMatchHandler,
)
from penstock.cep.nfa.found import FoundMatch, TakenEdge
from penstock.cep.pattern.conditions import IterativeCondition, RichIterativeCondition, SimpleCondition
from penstock.cep.pattern.pattern import GroupPattern, Pattern
from penstock.cep.pattern.quantifier import Quantifier
from penstock.cep.pattern.skip import AfterMatchSkipStrategy
from penstock.cep.pattern.within_type import WithinType
from penstock.cep.pattern_stream import DynamicPatternStream, PatternStream
from penstock.common.errors import MalformedPatternError

__all__ = [
    "CEP",
    "AfterMatchSkipStrategy",
    "DynamicPatternStream",
    "EventComparator",
    "FoundMatch",
    "GroupPattern",
    "IterativeCondition",
    "MalformedPatternError",
    "Pattern",
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternStream",
    "PatternTimeoutFunction",
    "Quantifier",
    "RichIterativeCondition",
    "RichPatternFlatSelectFunction",
    "RichPatternSelectFunction",
    "SimpleCondition",
    "TakenEdge",
    "TimedOutPartialMatchHandler",
    "WithinType",
]

"""`CEP.pattern`: where a program starts to look for a pattern in a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.cep.functions import EventComparator
from penstock.cep.pattern.pattern import Pattern
from penstock.cep.pattern_stream import DynamicPatternStream, PatternStream
from penstock.common.errors import TypeMismatchError
from penstock.datastream.builder import call_site
from penstock.datastream.stream import DataStream

__all__ = ["CEP"]


class CEP:
    """Entry point of the pattern library."""

    @staticmethod
    def pattern(
        input_stream: DataStream,
        pattern: Pattern,
        comparator: EventComparator | Callable[[Any, Any], int] | None = None,
    ) -> PatternStream:
        """Looks for a pattern in a stream; in a keyed stream, in the events of each key.

        Args:
            input_stream: The events.
            pattern: The pattern, by its last step.
            comparator: Orders events of the same timestamp; without one they stay as they came.
        """
        if not isinstance(input_stream, DataStream):
            raise TypeMismatchError(f"expected a DataStream, got {input_stream!r}", where=call_site())
        if not isinstance(pattern, Pattern):
            raise TypeMismatchError(
                f"expected a Pattern, got {pattern!r}",
                where=call_site(),
                do='Pattern.begin("first").where(...)',
            )
        return PatternStream(input_stream, pattern, _compare(comparator))

    @staticmethod
    def dynamic_patterns(
        input_stream: DataStream,
        rules: DataStream,
        comparator: EventComparator | Callable[[Any, Any], int] | None = None,
    ) -> DynamicPatternStream:
        """Looks for patterns that come as a stream of rules in JSON and may change while the job runs.

        Args:
            input_stream: The events.
            rules: Texts of JSON, or what they stand for; see `penstock/cep/rules/rule.py`. In event time its
                watermark counts too: let it be idle, or make it large, or events wait for it.
            comparator: Orders events of the same timestamp; without one they stay as they came.
        """
        for stream in (input_stream, rules):
            if not isinstance(stream, DataStream):
                raise TypeMismatchError(f"expected a DataStream, got {stream!r}", where=call_site())
        return DynamicPatternStream(input_stream, rules, _compare(comparator))


def _compare(comparator: Any) -> Callable[[Any, Any], int] | None:
    if isinstance(comparator, EventComparator):
        return comparator.compare
    if comparator is None or (callable(comparator) and not isinstance(comparator, type)):
        return comparator
    raise TypeMismatchError(
        f"a comparator must be an EventComparator or a callable, got {comparator!r}",
        where=call_site(),
        do="CEP.pattern(stream, pattern, lambda a, b: a.seq - b.seq)",
    )

"""From the name of an aggregate to the function that computes it."""

from __future__ import annotations

from collections.abc import Callable

from penstock.common.errors import NotSupportedError
from penstock.delta.aggregates.bags import Collect, DistinctCount, Every, Percentile, SingleValue
from penstock.delta.aggregates.base import AggregateLogic
from penstock.delta.aggregates.bitmaps import BitmapAgg
from penstock.delta.aggregates.distinct import DistinctValues
from penstock.delta.aggregates.extremes import Extreme, RetractableExtreme
from penstock.delta.aggregates.json_aggregates import JsonArrayAgg, JsonObjectAgg
from penstock.delta.aggregates.numeric import Avg, Count, CountStar, make_sum
from penstock.delta.aggregates.ordered import (
    ArrayAgg,
    FirstValue,
    LastValue,
    ListAgg,
    RetractableFirstValue,
    RetractableLastValue,
)
from penstock.delta.aggregates.spec import AggSpec
from penstock.delta.aggregates.statistics import Deviation
from penstock.delta.aggregates.user import UserAggregate

_Factory = Callable[[AggSpec, bool], AggregateLogic]


def _deviation(sample: bool, root: bool) -> _Factory:
    return lambda spec, retracts: Deviation(
        spec.result_type, sample=sample, root=root, in_integers=spec.in_integers
    )


_FACTORIES: dict[str, _Factory] = {
    "COUNT": lambda spec, retracts: Count() if spec.args else CountStar(),
    "SUM": lambda spec, retracts: make_sum(spec.result_type, retracts),
    "$SUM0": lambda spec, retracts: make_sum(spec.result_type, retracts, zero_if_empty=True),
    "AVG": lambda spec, retracts: Avg(spec.result_type),
    "MIN": lambda spec, retracts: RetractableExtreme(True) if retracts else Extreme(True),
    "MAX": lambda spec, retracts: RetractableExtreme(False) if retracts else Extreme(False),
    "FIRST_VALUE": lambda spec, retracts: RetractableFirstValue() if retracts else FirstValue(),
    "LAST_VALUE": lambda spec, retracts: RetractableLastValue() if retracts else LastValue(),
    "LISTAGG": lambda spec, retracts: ListAgg(spec.separator),
    "ARRAY_AGG": lambda spec, retracts: ArrayAgg(),
    "COLLECT": lambda spec, retracts: Collect(),
    "JSON_OBJECTAGG": lambda spec, retracts: JsonObjectAgg(spec.null_on_null is not False),
    "JSON_ARRAYAGG": lambda spec, retracts: JsonArrayAgg(spec.null_on_null is True),
    "STDDEV_POP": _deviation(sample=False, root=True),
    "STDDEV_SAMP": _deviation(sample=True, root=True),
    "STDDEV": _deviation(sample=True, root=True),
    "VAR_POP": _deviation(sample=False, root=False),
    "VAR_SAMP": _deviation(sample=True, root=False),
    "VARIANCE": _deviation(sample=True, root=False),
    "PERCENTILE": lambda spec, retracts: Percentile(),
    "APPROX_COUNT_DISTINCT": lambda spec, retracts: DistinctCount(),
    "SINGLE_VALUE": lambda spec, retracts: SingleValue(),
    "BOOL_AND": lambda spec, retracts: Every(),
    "EVERY": lambda spec, retracts: Every(),
    "BOOL_OR": lambda spec, retracts: Every(any_of=True),
    "SOME": lambda spec, retracts: Every(any_of=True),
    "USER": lambda spec, retracts: UserAggregate(spec.user_function, len(spec.args), retracts),
}

for _operator in ("BUILD", "AND", "OR", "XOR"):
    _FACTORIES[f"BITMAP_{_operator}_AGG"] = lambda spec, retracts, op=_operator: BitmapAgg(op, False)  # type: ignore[misc]
    _FACTORIES[f"BITMAP_{_operator}_CARDINALITY_AGG"] = lambda spec, retracts, op=_operator: BitmapAgg(
        op, True
    )  # type: ignore[misc]

_PARTIAL = frozenset({"COUNT", "SUM", "$SUM0", "MIN", "MAX", "AVG"})
_DISTINCT_CHANGES_NOTHING = frozenset({"MIN", "MAX", "APPROX_COUNT_DISTINCT"})


def make_aggregate(spec: AggSpec, retracts: bool) -> AggregateLogic:
    """The function of a call; `retracts` says that input rows may be taken back.

    Raises:
        NotSupportedError: There is no such function, or not in this form.
    """
    name = spec.function.upper()
    factory = _FACTORIES.get(name)
    if factory is None:
        raise NotSupportedError(f"the aggregate function {spec.function}", "no streaming form of it is known")
    if spec.partial and (name not in _PARTIAL or spec.distinct or retracts):
        raise NotSupportedError(
            f"pre-aggregated input of {spec.function}", "it has no partial form, or rows may be taken back"
        )
    if not spec.distinct or name in _DISTINCT_CHANGES_NOTHING:
        return factory(spec, retracts)
    if name == "COUNT":
        return DistinctCount()
    # Under DISTINCT the function sees a value go only when rows may go; it is asked for the same form.
    return DistinctValues(factory(spec, retracts))

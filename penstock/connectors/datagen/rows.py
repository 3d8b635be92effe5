"""Rows out of nothing, for trying things out: what `'connector' = 'datagen'` makes.

Each column counts (`fields.x.kind = sequence`) or rolls dice (`random`, the default). Rows are made in ranges of
their running number, and the dice of a range are seeded by the table's seed and the range's start: a task that
is run again, or begins elsewhere, makes the same rows again.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from penstock.common.datatypes import (
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    YearMonthIntervalType,
)
from penstock.common.errors import ValidationError
from penstock.formats.values import to_single

Dice = random.Random
Generator = Callable[[Dice, int], Any]

_BITS: dict[type[DataType], int] = {TinyIntType: 8, SmallIntType: 16, IntType: 32, BigIntType: 64}
_DEFAULT_LENGTH = 100
_DEFAULT_COLLECTION_SIZE = 3
_MAX_FLOAT: dict[type[DataType], float] = {
    FloatType: 3.4028234663852886e38,
    DoubleType: 1.7976931348623157e308,
}
SEEDED_ROWS = 1000
FIELD_KEYS = ("kind", "min", "max", "max-past", "length", "var-len", "null-rate", "start", "end")


@dataclass(frozen=True)
class DataGenerator:
    """The columns' generators of one table, made from its options; pickled into tasks."""

    row_type: RowType
    options: Mapping[str, str]
    seed: int
    now: dt.datetime

    def rows(self, start: int, end: int) -> Iterator[tuple[Any, ...]]:
        """Rows number `start` up to but not including `end`, always the same ones."""
        fields = Fields(self.options, self.now)
        generators = [fields.generator(f.data_type, f"fields.{f.name}") for f in self.row_type.fields]
        for first in range(start // SEEDED_ROWS * SEEDED_ROWS, end, SEEDED_ROWS):
            dice = Dice(f"{self.seed}:{first}")
            for number in range(first, min(first + SEEDED_ROWS, end)):
                row = tuple(generate(dice, number) for generate in generators)
                if number >= start:
                    yield row

    def sequence_length(self) -> int | None:
        """How many rows there are before the shortest sequence ends."""
        lengths = []
        for field in self.row_type.fields:
            prefix = f"fields.{field.name}"
            if self.options.get(f"{prefix}.kind") == "sequence":
                lengths.append(int(self.options[f"{prefix}.end"]) - int(self.options[f"{prefix}.start"]) + 1)
        return min(lengths) if lengths else None


class Fields:
    """Makes generators and remembers which options they used."""

    def __init__(self, options: Mapping[str, str], now: dt.datetime) -> None:
        self._options = options
        self._now = now
        self.used: set[str] = set()

    def generator(self, data_type: DataType, prefix: str) -> Generator:
        kind = self._option(prefix, "kind", "random")
        if kind == "sequence":
            return self._sequence(data_type, prefix)
        if kind != "random":
            raise ValidationError(f"unsupported generator kind '{kind}'", do="use 'random' or 'sequence'")
        generate = self._random(data_type, prefix)
        rate = float(self._option(prefix, "null-rate", "0"))
        if not 0 <= rate <= 1:
            raise ValidationError(f"'{prefix}.null-rate' must lie between 0 and 1, but is {rate}")
        if rate > 0:
            return lambda dice, n: None if dice.random() < rate else generate(dice, n)
        return generate

    def _option(self, prefix: str, name: str, default: Any = None) -> Any:
        key = f"{prefix}.{name}"
        self.used.add(key)
        return self._options.get(key, default)

    def _sequence(self, data_type: DataType, prefix: str) -> Generator:
        bounds = [self._option(prefix, name) for name in ("start", "end")]
        for name, bound in zip(("start", "end"), bounds, strict=True):
            if bound is None:
                raise ValidationError(f"the sequence generator needs '{prefix}.{name}'")
        first = int(bounds[0])
        if type(data_type) in _BITS:
            return lambda dice, n: first + n
        if isinstance(data_type, (FloatType, DoubleType)):
            return lambda dice, n: float(first + n)
        if isinstance(data_type, DecimalType):
            scale = Decimal(1).scaleb(-data_type.scale)
            return lambda dice, n: Decimal(first + n).quantize(scale)
        if isinstance(data_type, (CharType, VarCharType)):
            return lambda dice, n: str(first + n)
        raise ValidationError(f"there is no sequence of {data_type.as_summary()} ('{prefix}')")

    def _random(self, data_type: DataType, prefix: str) -> Generator:
        if type(data_type) in _BITS:
            return self._integer(_BITS[type(data_type)], prefix)
        if isinstance(data_type, (FloatType, DoubleType)):
            return self._float(type(data_type), prefix)
        if isinstance(data_type, DecimalType):
            return self._decimal(data_type, prefix)
        if isinstance(data_type, (CharType, VarCharType, BinaryType, VarBinaryType)):
            return self._text(data_type, prefix)
        if isinstance(data_type, (TimestampType, LocalZonedTimestampType)):
            return self._moment(data_type, prefix)
        if isinstance(data_type, (ArrayType, MapType, MultisetType, RowType)):
            return self._composite(data_type, prefix)
        simple = _simple(data_type, self._now)
        if simple is None:
            raise ValidationError(f"datagen cannot make values of type {data_type.as_summary()} ('{prefix}')")
        return simple

    def _integer(self, bits: int, prefix: str) -> Generator:
        low = int(self._option(prefix, "min", -(1 << (bits - 1))))
        high = int(self._option(prefix, "max", (1 << (bits - 1)) - 1))
        self._check_bounds(low, high, prefix)
        return lambda dice, n: dice.randint(low, high)

    def _float(self, kind: type[DataType], prefix: str) -> Generator:
        largest = _MAX_FLOAT[kind]
        low = float(self._option(prefix, "min", -largest))
        high = float(self._option(prefix, "max", largest))
        self._check_bounds(low, high, prefix)
        # The weighted form cannot overflow where high - low does.
        if kind is FloatType:
            return lambda dice, n: to_single((1 - (r := dice.random())) * low + r * high)
        return lambda dice, n: (1 - (r := dice.random())) * low + r * high

    def _decimal(self, data_type: DecimalType, prefix: str) -> Generator:
        unit = 10**data_type.scale
        largest = 10**data_type.precision - 1
        low = self._option(prefix, "min")
        high = self._option(prefix, "max")
        first = -largest if low is None else int(Decimal(low) * unit)
        last = largest if high is None else int(Decimal(high) * unit)
        self._check_bounds(first, last, prefix)
        return lambda dice, n: Decimal(dice.randint(first, last)).scaleb(-data_type.scale)

    def _check_bounds(self, low: float, high: float, prefix: str) -> None:
        if low > high:
            raise ValidationError(f"'{prefix}.min' ({low}) is above '{prefix}.max' ({high})")

    def _text(self, data_type: Any, prefix: str) -> Generator:
        declared = data_type.length
        fixed = isinstance(data_type, (CharType, BinaryType))
        length = int(
            self._option(prefix, "length", declared if fixed or declared < 1 << 30 else _DEFAULT_LENGTH)
        )
        if length > declared or (fixed and length != declared):
            raise ValidationError(f"'{prefix}.length' is {length}, but the type is {data_type.as_summary()}")
        varies = str(self._option(prefix, "var-len", "false")).lower() == "true"
        if varies and fixed:
            raise ValidationError(f"'{prefix}.var-len' is for types of variable length only")
        is_text = isinstance(data_type, (CharType, VarCharType))

        def generate(dice: Dice, n: int) -> Any:
            size = dice.randint(0, length) if varies else length
            # Hexadecimal digits, as in Flink.
            return (
                f"{dice.getrandbits(4 * size):0{size}x}"
                if is_text and size
                else dice.randbytes(size)
                if (not is_text)
                else ""
            )

        return generate

    def _moment(self, data_type: DataType, prefix: str) -> Generator:
        past = _duration_millis(self._option(prefix, "max-past", "0"))
        now = self._now if isinstance(data_type, LocalZonedTimestampType) else self._now.replace(tzinfo=None)
        return lambda dice, n: now - dt.timedelta(milliseconds=dice.randint(0, past) if past else 0)

    def _composite(self, data_type: DataType, prefix: str) -> Generator:
        if isinstance(data_type, RowType):
            parts = [self.generator(f.data_type, f"{prefix}.{f.name}") for f in data_type.fields]
            return lambda dice, n: tuple(part(dice, n) for part in parts)
        size = int(self._option(prefix, "length", _DEFAULT_COLLECTION_SIZE))
        if isinstance(data_type, ArrayType):
            element = self.generator(data_type.element_type, f"{prefix}.element")
            return lambda dice, n: [element(dice, n) for _ in range(size)]
        if isinstance(data_type, MapType):
            key = self.generator(data_type.key_type, f"{prefix}.key")
            value = self.generator(data_type.value_type, f"{prefix}.value")
            return lambda dice, n: {key(dice, n): value(dice, n) for _ in range(size)}
        if isinstance(data_type, MultisetType):
            item = self.generator(data_type.element_type, f"{prefix}.element")
            return lambda dice, n: {item(dice, n): dice.randint(1, 3) for _ in range(size)}
        raise ValidationError(f"datagen cannot make values of type {data_type.as_summary()} ('{prefix}')")


def _simple(data_type: DataType, now: dt.datetime) -> Generator | None:
    if isinstance(data_type, BooleanType):
        return lambda dice, n: dice.random() < 0.5
    if isinstance(data_type, DateType):
        return lambda dice, n: now.date()
    if isinstance(data_type, TimeType):
        return lambda dice, n: now.time().replace(microsecond=0)
    if isinstance(data_type, YearMonthIntervalType):
        return lambda dice, n: dice.randint(0, 120_000)
    if isinstance(data_type, DayTimeIntervalType):
        return lambda dice, n: dt.timedelta(milliseconds=dice.randint(0, 1 << 40))
    return None


_UNITS_MILLIS = {"ms": 1, "s": 1000, "sec": 1000, "min": 60_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def _duration_millis(text: str) -> int:
    number = text.strip().rstrip("abcdefghijklmnopqrstuvwxyz ")
    unit = text.strip()[len(number) :].strip() or "ms"
    if not number.isdigit() or unit not in _UNITS_MILLIS:
        raise ValidationError(f"{text!r} is not a duration", do="write it like '10 s' or '5 min'")
    return int(number) * _UNITS_MILLIS[unit]

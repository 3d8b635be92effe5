"""Java's date patterns (`yyyy-MM-dd HH:mm:ss.SSS`, `EEE, d MMM`) in Python: formatting and two ways to parse.

`parse` follows DateTimeFormatter: fixed widths for two-letter fields, the whole text must match, the thirtieth
of February is its last day. `parse_lenient` follows SimpleDateFormat: any number of digits, fields roll
over, text behind the match is ignored. Both answer None for text that does not fit.
"""

from __future__ import annotations

import calendar
import datetime as dt
import re
import zoneinfo
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

MONTHS = [m for m in calendar.month_name if m]
DAYS = list(calendar.day_name)
_LETTERS = "GyuYMLdDEecahHKkmsSnNAQqwWzZXxVO"
_NUMERIC = "yuYdDhHKkmsSnNAwWe"

_SHORT_ZONES = {
    "PST": "America/Los_Angeles",
    "MST": "America/Denver",
    "CST": "America/Chicago",
    "EST": "America/New_York",
    "AST": "America/Anchorage",
    "HST": "Pacific/Honolulu",
    "JST": "Asia/Tokyo",
    "IST": "Asia/Kolkata",
    "CTT": "Asia/Shanghai",
    "ECT": "Europe/Paris",
}


class PatternError(ValueError):
    """The pattern has a letter that means nothing."""


@dataclass(frozen=True)
class Token:
    """A run of one pattern letter, or literal text (then `letter` is empty)."""

    letter: str
    count: int
    text: str = ""

    @property
    def is_number(self) -> bool:
        if not self.letter:
            return False
        return self.letter in _NUMERIC or (self.letter in "MLQqc" and self.count <= 2)


_QUOTED = re.compile(r"'((?:[^']|'')*)'(?!')", re.DOTALL)


@lru_cache(maxsize=512)
def tokens(pattern: str) -> tuple[Token, ...]:
    """The pattern taken apart; `'...'` is literal, `''` a quote, brackets of optional parts are dropped."""
    out: list[Token] = []
    i = 0
    while i < len(pattern):
        c = pattern[i]
        if c == "'":
            found = _QUOTED.match(pattern, i)
            if found is None:
                raise PatternError(f"the pattern {pattern!r} has an open quote")
            out.append(Token("", 0, found[1].replace("''", "'") or "'"))
            i = found.end()
        elif c.isascii() and c.isalpha():
            if c not in _LETTERS:
                raise PatternError(f"unknown pattern letter {c!r} in {pattern!r}")
            run = len(pattern[i:]) - len(pattern[i:].lstrip(c))
            out.append(Token(c, run))
            i += run
        else:
            if c not in "[]":
                out.append(Token("", 0, c))
            i += 1
    return tuple(out)


def zone_of(name: str) -> dt.tzinfo | None:
    """The zone of a name, an abbreviation or an offset such as `GMT-08:00`; None if there is no such zone."""
    if name in _SHORT_ZONES:
        name = _SHORT_ZONES[name]
    found = re.fullmatch(r"(?:GMT|UTC|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?", name)
    if found:
        sign = -1 if found[1] == "-" else 1
        hours, minutes = int(found[2]), int(found[3] or 0)
        return dt.timezone(sign * dt.timedelta(hours=hours, minutes=minutes))
    if name in ("Z", "UTC", "GMT"):
        return dt.timezone.utc
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return None


def to_epoch(local: dt.datetime, zone: dt.tzinfo) -> float:
    """Seconds since 1970 of a wall-clock time; an hour that a change repeats is taken as the later one."""
    early, late = (local.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    gap = early.utcoffset() < late.utcoffset()  # type: ignore[operator]
    chosen = early if gap else late
    return (local - dt.datetime(1970, 1, 1) - (chosen.utcoffset() or dt.timedelta())).total_seconds()


# --- formatting -----------------------------------------------------------------------------------------


def format_time(value: dt.datetime, pattern: str, zone: dt.tzinfo | None = None) -> str:
    """The text of a wall-clock time; `zone` is only needed for zone letters."""
    return "".join(t.text if not t.letter else _format(t, value, zone) for t in tokens(pattern))


_SIMPLE_LETTERS = "GyYMLwWDdFEuaHkKhmsSzZX"


def format_simple(value: dt.datetime, pattern: str, zone: dt.tzinfo | None = None) -> str:
    """SimpleDateFormat, which differs in a few letters: `u` is the day of the week, `MMMMM` the whole name.

    >>> format_simple(dt.datetime(2024, 2, 29, 15, 4, 5), "u MMMMM EE yy S")
    '4 February Thu 24 0'
    """
    parts = tokens(pattern)
    wrong = [part.letter for part in parts if part.letter and part.letter not in _SIMPLE_LETTERS]
    if wrong:
        raise PatternError(f"illegal pattern character {wrong[0]!r} in {pattern!r}")
    return "".join(part.text if not part.letter else _format_simple(part, value, zone) for part in parts)


def _format_simple(token: Token, v: dt.datetime, zone: dt.tzinfo | None) -> str:
    letter, n = token.letter, token.count
    if letter == "u":
        return str(v.isoweekday()).zfill(n)
    if letter == "S":
        return str(v.microsecond // 1000).zfill(n)
    if letter in "MLE" and n > 4:
        return _format(Token(letter, 4), v, zone)
    return _format(token, v, zone)


def _name(name: str, count: int, short: int = 3) -> str:
    return name[:1] if count == 5 else name if count == 4 else name[:short]


def _format(token: Token, v: dt.datetime, zone: dt.tzinfo | None) -> str:
    letter, n = token.letter, token.count
    if letter in "yuY":
        year = _week_year(v)[0] if letter == "Y" else v.year
        return f"{year % 100:02d}" if n == 2 else str(year).zfill(n)
    if letter in "ML":
        return str(v.month).zfill(n) if n <= 2 else _name(MONTHS[v.month - 1], n)
    if letter == "E" or (letter in "ec" and n > 2):
        return _name(DAYS[v.weekday()], max(n, 3))
    if letter == "a":
        return "AM" if v.hour < 12 else "PM"
    if letter == "G":
        return "Anno Domini" if n == 4 else "AD"
    if letter == "S":
        return f"{v.microsecond:06d}000"[:n]
    if letter in "zZXxVO":
        return _format_zone(letter, n, v, zone or dt.timezone.utc)
    if letter in "Qq" and n > 2:
        quarter = (v.month + 2) // 3
        return f"Q{quarter}" if n == 3 else f"{quarter}{('st', 'nd', 'rd', 'th')[quarter - 1]} quarter"
    return str(_FIELD_VALUES[letter](v)).zfill(n)


def _second_of_day(v: dt.datetime) -> int:
    return v.hour * 3600 + v.minute * 60 + v.second


_FIELD_VALUES: dict[str, Callable[[dt.datetime], int]] = {
    "d": lambda v: v.day,
    "D": lambda v: v.timetuple().tm_yday,
    "H": lambda v: v.hour,
    "k": lambda v: v.hour or 24,
    "K": lambda v: v.hour % 12,
    "h": lambda v: v.hour % 12 or 12,
    "m": lambda v: v.minute,
    "s": lambda v: v.second,
    "n": lambda v: v.microsecond * 1000,
    "N": lambda v: (_second_of_day(v) * 1_000_000 + v.microsecond) * 1000,
    "A": lambda v: _second_of_day(v) * 1000 + v.microsecond // 1000,
    "Q": lambda v: (v.month + 2) // 3,
    "q": lambda v: (v.month + 2) // 3,
    "e": lambda v: v.isoweekday() % 7 + 1,
    "c": lambda v: v.isoweekday() % 7 + 1,
    "w": lambda v: _week_year(v)[1],
    "W": lambda v: (v.day + (v.replace(day=1).isoweekday() % 7) - 1) // 7 + 1,
}


def _week_year(v: dt.datetime) -> tuple[int, int]:
    """Year and week as in the United States: weeks begin on Sunday, the first one holds January 1."""
    sunday = v.date() - dt.timedelta(days=v.isoweekday() % 7)
    year = (sunday + dt.timedelta(days=6)).year
    first = dt.date(year, 1, 1)
    first -= dt.timedelta(days=first.isoweekday() % 7)
    return year, (sunday - first).days // 7 + 1


def _format_zone(letter: str, n: int, v: dt.datetime, zone: dt.tzinfo) -> str:
    aware = v.replace(tzinfo=zone)
    minutes = int((aware.utcoffset() or dt.timedelta()).total_seconds() // 60)
    sign, hours, rest = "-" if minutes < 0 else "+", abs(minutes) // 60, abs(minutes) % 60
    if letter == "V":
        return str(getattr(zone, "key", "UTC"))
    if letter == "z":
        return aware.tzname() or "UTC"
    if letter == "O":
        return "GMT" + (f"{sign}{hours}" if minutes else "")
    if letter == "X" and minutes == 0:
        return "Z"
    if letter in "Xx" and n == 1:
        return f"{sign}{hours:02d}" + (f"{rest:02d}" if rest else "")
    return f"{sign}{hours:02d}{':' if n in (3, 5) and letter in 'Xx' else ''}{rest:02d}"


# --- parsing --------------------------------------------------------------------------------------------


@dataclass
class Fields:
    """What a text said, field by field."""

    numbers: dict[str, int] = field(default_factory=dict)
    micros: int = 0
    offset_minutes: int | None = None
    zone: str | None = None

    def date(self, lenient: bool) -> dt.date | None:
        n = self.numbers
        year, month, day = n.get("y", 1970), n.get("M", 1), n.get("d", 1)
        if lenient:
            if "Y" in n:
                return _week_start(n["Y"], n.get("w", 1))
            first = dt.date(year + (month - 1) // 12, (month - 1) % 12 + 1, 1)
            return _of_its_time(first + dt.timedelta(days=n["D"] - 1 if "D" in n else day - 1))
        if "D" in n:
            return dt.date(year, 1, 1) + dt.timedelta(days=n["D"] - 1)
        if not (1 <= month <= 12 and 1 <= day <= 31 and 1 <= year <= 9999):
            return None
        return dt.date(year, month, min(day, calendar.monthrange(year, month)[1]))

    def hour(self) -> int:
        n = self.numbers
        if "H" in n:
            return n["H"]
        return n.get("h", 0) % 12 + 12 * n.get("a", 0) if "h" in n else 0

    def moment(self, lenient: bool) -> dt.datetime | None:
        day, n = self.date(lenient), self.numbers
        hour, minute, second = self.hour(), n.get("m", 0), n.get("s", 0)
        if day is None:
            return None
        time = dt.timedelta(hours=hour, minutes=minute, seconds=second, microseconds=self.micros)
        return dt.datetime(day.year, day.month, day.day) + time


def _week_start(year: int, week: int) -> dt.date:
    """The Sunday of a week as in the United States, where the first week holds January 1."""
    first = dt.date(year, 1, 1)
    return first + dt.timedelta(days=(week - 1) * 7 - first.isoweekday() % 7)


def _of_its_time(date: dt.date) -> dt.date:
    """The day that had these numbers: before October 1582 they are the Julian calendar's.

    >>> _of_its_time(dt.date(24, 2, 29)), _of_its_time(dt.date(1582, 10, 4))
    (datetime.date(24, 2, 27), datetime.date(1582, 10, 14))
    """
    if date >= dt.date(1582, 10, 15):
        return date
    centuries = (date.year - (date.month <= 2)) // 100
    return date + dt.timedelta(days=centuries - centuries // 4 - 2)


def parse(text: str, pattern: str) -> dt.datetime | None:
    """DateTimeFormatter: the whole text, with fields that are not there taken as their first value."""
    found = _match(text, tokens(pattern), lenient=False)
    try:
        return None if found is None else found.moment(lenient=False)
    except (ValueError, OverflowError):
        return None


def parse_lenient(text: str, pattern: str) -> Fields | None:
    """SimpleDateFormat: a prefix of the text."""
    return _match(text, tokens(pattern), lenient=True)


def _match(text: str, parts: tuple[Token, ...], lenient: bool) -> Fields | None:
    fields, at = Fields(), 0
    for index, token in enumerate(parts):
        following = parts[index + 1] if index + 1 < len(parts) else None
        if not token.letter:
            if not text.startswith(token.text, at):
                return None
            at += len(token.text)
            continue
        end = _read(fields, token, following, text, at, lenient)
        if end is None:
            return None
        at = end
    return fields if lenient or at == len(text) else None


def _read(
    fields: Fields, token: Token, following: Token | None, text: str, at: int, lenient: bool
) -> int | None:
    letter = token.letter
    if letter in "zZXxVO":
        return _read_zone(fields, text, at)
    if not token.is_number:
        return _read_name(fields, token, text, at)
    found = re.compile(r"\d" + _digits(token, following, lenient)).match(text, at)
    if not found:
        return None
    digits = found[0]
    if letter == "S":
        fields.micros = int(digits) * 1000 if lenient else int(digits.ljust(6, "0")[:6])
        return found.end()
    value = int(digits)
    if letter == "Y":
        if lenient:  # else a year of weeks says nothing about the day
            fields.numbers["Y"] = value
        return found.end()
    if letter in "yu":
        letter = "y"
        if token.count == 2 and len(digits) == 2:
            value += 2000
    fields.numbers[{"u": "y", "L": "M", "k": "H", "K": "h"}.get(letter, letter)] = value
    return found.end()


def _digits(token: Token, following: Token | None, lenient: bool) -> str:
    """How many digits a number field takes, as a regular expression quantifier."""
    if (following is not None and following.is_number) or (token.letter == "S" and not lenient):
        return f"{{{token.count}}}"
    if lenient or token.count == 1:
        return "+"
    return "{4,9}" if token.letter in "yuY" and token.count == 4 else f"{{{token.count}}}"


def _read_name(fields: Fields, token: Token, text: str, at: int) -> int | None:
    if token.letter == "a":
        mark = text[at : at + 2].upper()
        if mark not in ("AM", "PM"):
            return None
        fields.numbers["a"] = int(mark == "PM")
        return at + 2
    names = MONTHS if token.letter in "ML" else DAYS
    for number, name in enumerate(names, 1):
        for shown in (name, name[:3]):
            if text[at : at + len(shown)].lower() == shown.lower():
                if names is MONTHS:
                    fields.numbers["M"] = number
                return at + len(shown)
    return None


def _read_zone(fields: Fields, text: str, at: int) -> int | None:
    found = re.compile(r"(Z)|(?:GMT|UTC)?([+-])(\d{2})(?::?(\d{2}))?|([A-Za-z_/]+)").match(text, at)
    if not found:
        return None
    if found[5]:
        fields.zone = found[5]
    elif found[1]:
        fields.offset_minutes = 0
    else:
        minutes = int(found[3]) * 60 + int(found[4] or 0)
        fields.offset_minutes = -minutes if found[2] == "-" else minutes
    return found.end()

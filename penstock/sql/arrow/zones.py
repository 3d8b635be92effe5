"""Time zones that are the same number of seconds from UTC at all times."""

from __future__ import annotations

import re

_NAMES = ("UTC", "GMT", "UCT", "Zulu", "Universal", "Greenwich", "GMT0")
_UTC = {"UT", "Z", *_NAMES, *(f"Etc/{name}" for name in (*_NAMES, "GMT+0", "GMT-0"))}
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d\d):(\d\d)", re.ASCII)
_ETC = re.compile(r"Etc/GMT([+-])(\d|1[0-4])", re.ASCII)


def fixed_offset(zone: str) -> int | None:
    """Seconds that the zone is ahead of UTC; None if that depends on the date, or the zone is not known.

    >>> fixed_offset("UTC"), fixed_offset("+05:30"), fixed_offset("Etc/GMT+3"), fixed_offset("Europe/Paris")
    (0, 19800, -10800, None)
    """
    if zone in _UTC:
        return 0
    found = _OFFSET.fullmatch(zone)
    if found and int(found[3]) < 60 and int(found[2]) * 60 + int(found[3]) <= 18 * 60:
        return (1 if found[1] == "+" else -1) * (int(found[2]) * 3600 + int(found[3]) * 60)
    found = _ETC.fullmatch(zone)
    if found and (found[1] == "-" or int(found[2]) <= 12):  # the sign counts hours behind UTC
        return (-1 if found[1] == "+" else 1) * int(found[2]) * 3600
    return None

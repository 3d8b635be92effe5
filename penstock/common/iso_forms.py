"""Date patterns of fixed width, as a rewriting of their texts into the usual form."""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.common import java_time

__all__ = ["IsoForm", "iso_form"]

_FIELDS = {"yyyy": "y", "uuuu": "y", "MM": "M", "dd": "d", "HH": "H", "mm": "m", "ss": "s"}
_DEFAULTS = {"M": "01", "d": "01", "H": "00", "m": "00", "s": "00"}


@dataclass(frozen=True)
class IsoForm:
    """Texts of a pattern match `regex`; their parts, in the order of `order`, are the fields of an ISO text."""

    regex: str
    order: tuple[str, ...]

    def written(self, group: str) -> str:
        """The replacement that makes `yyyy-MM-dd HH:mm:ss[.S]` of a match; `group` is what stands before a number.

        >>> iso_form("dd.MM.yyyy").written("$")
        '$3-$2-$1 00:00:00'
        """
        parts = {field: f"{group}{self.order.index(field) + 1}" for field in self.order}
        y, m, d, hour, minute, second = (parts.get(f, _DEFAULTS.get(f, "")) for f in "yMdHms")
        fraction = f".{parts['S']}" if "S" in parts else ""
        return f"{y}-{m}-{d} {hour}:{minute}:{second}{fraction}"


def iso_form(pattern: str, year: str = "[0-9]{4}") -> IsoForm | None:
    """How texts of a pattern are rewritten; None if its fields have no fixed width, or a year is missing.

    Args:
        year: What a year looks like.

    >>> iso_form("yyyyMMdd").regex, iso_form("d.M.yyyy")
    ('\\\\A([0-9]{4})([0-9]{2})([0-9]{2})\\\\z', None)
    """
    if "[" in pattern or "]" in pattern:  # parts that may be missing
        return None
    regex, order = "", []
    for token in java_time.tokens(pattern):
        field = _FIELDS.get(token.letter * token.count)
        if not token.letter:
            regex += _quoted(token.text)
            continue
        if token.letter == "S" and token.count <= 6:
            field = "S"
        if field is None or field in order:
            return None
        digits = f"[0-9]{{{token.count}}}"
        regex += f"({year if field == 'y' else digits})"
        order.append(field)
    return IsoForm(f"\\A{regex}\\z", tuple(order)) if "y" in order else None


def _quoted(text: str) -> str:
    return re.sub(r"([^A-Za-z0-9_\s])", r"\\\1", text) if text.isascii() else re.escape(text)

"""Addresses in which columns are named: `http://shop/orders/{id}`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from penstock.common.errors import ValidationError

__all__ = ["address_of", "named_in", "with_parameters"]

_NAMED = re.compile(r"\{([^{}]+)\}")


def named_in(url: str) -> list[str]:
    """The columns that an address names."""
    return _NAMED.findall(url)


def address_of(url: str, names: Sequence[str]) -> Callable[[Sequence[Any]], str]:
    """A function from a row, whose columns have these names, to its address.

    Raises:
        ValidationError: The address names a column that is not there.

    >>> address_of("http://shop/{b}", ["a", "b"])((1, "x/y z"))
    'http://shop/x%2Fy%20z'
    """
    for name in named_in(url):
        if name not in names:
            raise ValidationError(
                f"the address {url!r} names '{name}', which is not there", do=f"there are {', '.join(names)}"
            )
    places = {name: names.index(name) for name in named_in(url)}
    if not places:
        return lambda row: url

    def filled(row: Sequence[Any]) -> str:
        def value(match: re.Match[str]) -> str:
            found = row[places[match[1]]]
            if found is None:
                raise ValidationError(
                    f"the column '{match[1]}', which is in the address {url!r}, is NULL in {row!r}"
                )
            return quote(text(found), safe="")

        return _NAMED.sub(value, url)

    return filled


def with_parameters(url: str, pairs: Sequence[tuple[str, Any]]) -> str:
    """The address with these pairs in its query."""
    if not pairs:
        return url
    return url + ("&" if "?" in url else "?") + urlencode([(name, text(value)) for name, value in pairs])


def text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if hasattr(value, "isoformat") else str(value)

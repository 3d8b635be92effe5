"""Hints for names that were probably mistyped."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """A hint with the nearest names, None if nothing is near."""
    names = list(dict.fromkeys(candidates))
    lower = {n.lower(): n for n in names}
    near = [lower[n] for n in difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.5)]
    return "did you mean " + " or ".join(f"`{n}`" for n in near) + "?" if near else None

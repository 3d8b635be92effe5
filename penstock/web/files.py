"""The files of the dashboard, for whatever server hands them out.

A browser asks each time whether its copy is still right (`no-cache` with an ETag): a new version of penstock shows at
once, and an unchanged file costs an empty answer. Scripts, styles and data come from the same place only.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from importlib import resources

__all__ = ["HEADERS", "Asset", "asset"]

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True)
class Asset:
    """A file's content; `etag` names the version."""

    content: bytes
    content_type: str
    etag: str

    def headers(self) -> dict[str, str]:
        return {**HEADERS, "Content-Type": self.content_type, "ETag": self.etag}


@functools.lru_cache(maxsize=1)
def _assets() -> dict[str, Asset]:
    """All files by their path; nothing else can be asked for, so no path leads out of the folder."""
    found: dict[str, Asset] = {}
    folders = [("", resources.files("penstock.web").joinpath("static"))]
    while folders:
        prefix, folder = folders.pop()
        for entry in folder.iterdir():
            if entry.is_dir():
                folders.append((f"{prefix}{entry.name}/", entry))
            elif (kind := entry.name.rpartition(".")[2]) in _TYPES:
                content = entry.read_bytes()
                etag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
                found[f"{prefix}{entry.name}"] = Asset(content, _TYPES[kind], etag)
    return found


def asset(path: str) -> Asset | None:
    """The file at a path of a request, `/` being the page itself; None if there is none.

    >>> asset("/").content_type, asset("/../secrets.py")
    ('text/html; charset=utf-8', None)
    """
    return _assets().get(path.lstrip("/") or "index.html")

"""java.net.URL's idea of the parts of a URL, which PARSE_URL shows.

It is older than the standards: only protocols with a handler are URLs at all, blanks and letters of any language may
stand anywhere, and a file URL has an empty host.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["Url", "query_value", "url_of"]

_PROTOCOLS = ("http", "https", "ftp", "file", "jar", "mailto")
_IPV6 = re.compile(r"(\[[0-9A-Fa-f:.%\w]{3,}\])(?::(.*))?")


@dataclass(frozen=True)
class Url:
    protocol: str
    host: str = ""
    path: str = ""
    query: str | None = None
    ref: str | None = None
    authority: str | None = None
    user_info: str | None = None

    def part(self, name: str) -> str | None:
        """The part that Flink calls by that name, in capitals; None if it has no such part."""
        file = self.path if self.query is None else f"{self.path}?{self.query}"
        parts = {
            "HOST": self.host,
            "PATH": self.path,
            "QUERY": self.query,
            "REF": self.ref,
            "PROTOCOL": self.protocol,
            "FILE": file,
            "AUTHORITY": self.authority,
            "USERINFO": self.user_info,
        }
        return parts.get(name)


@lru_cache(maxsize=512)
def url_of(text: str) -> Url | None:
    """The URL of a text, None if it is none.

    >>> url_of("http://u@h:80/a/../b?k=v#r")
    Url(protocol='http', host='h', path='/b', query='k=v', ref='r', authority='u@h:80', user_info='u')
    """
    spec = text.strip("".join(map(chr, range(33))))
    spec = spec[4:] if spec[:4].lower() == "url:" else spec
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):", spec)
    protocol = found[1].lower() if found else ""
    if found is None or protocol not in _PROTOCOLS:
        return None
    rest = spec[found.end() :]
    if protocol == "mailto":
        address = rest.partition("#")[0]
        return Url(protocol, path=address) if address.strip() else None
    rest, mark, ref = rest.partition("#")
    rest, asked, query = rest.partition("?")
    parts = _place(rest)
    if parts is None:
        return None
    host, authority, user_info, path = parts
    return Url(
        protocol, host, _plain(path), query if asked else None, ref if mark else None, authority, user_info
    )


def _place(rest: str) -> tuple[str, str | None, str | None, str] | None:
    """Host, authority, user info and path."""
    if not rest.startswith("//") or rest.startswith("////"):
        return "", None, None, rest
    authority, slash, path = rest[2:].partition("/")
    user_info: str | None = None
    host = authority
    if authority.count("@") == 1:
        user_info, _, host = authority.partition("@")
    elif "@" in authority:
        host = ""
    literal = _IPV6.fullmatch(host)
    if host.startswith("["):
        if literal is None:
            return None
        host, port = literal[1], literal[2] or ""
    else:
        host, _, port = host.partition(":")
    if port and not re.fullmatch(r"\+?\d{1,9}|-1", port):
        return None
    return host, authority, user_info, slash + path


def _plain(path: str) -> str:
    """The path without `/./` and `/name/../`."""
    while "/./" in path:
        path = path.replace("/./", "/")
    while True:
        shorter = re.sub(r"/(?!\.\./)[^/]+/\.\./", "/", path, count=1)
        if shorter == path:
            break
        path = shorter
    path = re.sub(r"/(?!\.\.$)[^/]+/\.\.$", "/", path)
    return path[:-1] if path.endswith("/.") else path


def query_value(query: str | None, key: str) -> str | None:
    """The value of the first `key=value` of a query.

    >>> query_value("x=&y==1&x=2", "x"), query_value("x=&y==1", "y"), query_value("x", "x")
    ('', '=1', None)
    """
    found = re.search(f"(?:&|^){re.escape(key)}=([^&]*)", query or "")
    return found[1] if found else None

"""JDBC addresses taken apart.

    jdbc:postgresql://host:5432,other/shop?ssl=true      hosts, a database, parameters
    jdbc:sqlite:/data/shop.db                            a path

Java's drivers pass over parameters they do not know, so a URL may hold anything; a dialect picks what it can use.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from penstock.common.errors import ValidationError

_FORM = re.compile(r"jdbc:(?P<scheme>[a-z0-9]+):(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_NETWORK = re.compile(r"//(?P<hosts>[^/?]*)(?:/(?P<database>[^?]*))?(?:\?(?P<query>.*))?", re.DOTALL)
_HOST = re.compile(r"(?P<name>\[[^\]]*\]|[^:]*)(?::(?P<port>\d+))?")
_SECRET = re.compile(r"((?:password|passwd|pwd|sslpassword|key)=)[^&;]*", re.IGNORECASE)
_LOGIN = re.compile(r"//[^/?@]*@")

Host = tuple[str, int | None]


@dataclass(frozen=True)
class JdbcUrl:
    """An address. Of a database that is a file, `database` is the path and there are no hosts."""

    scheme: str
    hosts: tuple[Host, ...] = ()
    database: str = ""
    parameters: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    shown: str = ""
    """The text without passwords, for messages."""

    @staticmethod
    def parse(text: str) -> JdbcUrl:
        """Takes an address apart.

        >>> JdbcUrl.parse("jdbc:mysql://db:3306/shop?useSSL=false&password=x").shown
        'jdbc:mysql://db:3306/shop?useSSL=false&password=***'
        """
        form = _FORM.fullmatch(text.strip())
        if form is None:
            raise ValidationError(
                f"{safe(text)!r} is not a JDBC URL", do="write it as jdbc:postgresql://host:port/database"
            )
        scheme, rest = form["scheme"].lower(), form["rest"]
        network = _NETWORK.fullmatch(rest)
        if network is None:
            path, _, query = rest.partition("?")
            return JdbcUrl(scheme, (), path, _parameters(query), safe(text))
        login, _, servers = network["hosts"].rpartition("@")
        hosts = tuple(_host(part, text) for part in servers.split(",") if part)
        database = unquote(network["database"] or "")
        parameters = (*_parameters(network["query"] or ""), *_login(login))
        return JdbcUrl(scheme, hosts, database, parameters, safe(text))

    def parameter(self, *names: str) -> str | None:
        """The first of these parameters that is there, whatever the case of its letters."""
        given = {name.lower(): value for name, value in self.parameters}
        return next((given[name.lower()] for name in names if name.lower() in given), None)


def safe(text: str) -> str:
    """An address without the passwords that may stand in it."""
    return _SECRET.sub(r"\1***", _LOGIN.sub("//***@", text))


def _host(text: str, url: str) -> Host:
    found = _HOST.fullmatch(text)
    if found is None:
        raise ValidationError(f"the host of the JDBC URL {safe(url)!r} cannot be read", do="write host:port")
    return found["name"].strip("[]"), None if found["port"] is None else int(found["port"])


def _parameters(query: str) -> tuple[tuple[str, str], ...]:
    return tuple(parse_qsl(query, keep_blank_values=True))


def _login(text: str) -> tuple[tuple[str, str], ...]:
    """`user:password` before a host, as MySQL's URLs may have it."""
    user, colon, password = text.partition(":")
    found = [("user", unquote(user))] if user else []
    return (*found, ("password", unquote(password))) if colon else tuple(found)

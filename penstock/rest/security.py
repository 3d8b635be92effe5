"""Who may talk to the server, and how.

On loopback nobody needs a password, so the danger is a web page in the user's own browser: requests that change
something must not come from another site (`Origin`), must not have a content type that a plain form can send, and the
`Host` must be one that this server has, or another name could be bound to this address after the page was loaded. On
any other address there is a token or client certificates, or the server does not start.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import socket
import ssl
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from penstock.common.configuration import Configuration
from penstock.common.errors import ValidationError
from penstock.common.options import option
from penstock.rest.messages import Answer

__all__ = ["Guard", "TlsFiles", "is_loopback", "make_guard", "read_token", "tls_files"]

_SAFE = ("GET", "HEAD", "OPTIONS")
_LEAST_TOKEN = 16


@dataclass(frozen=True)
class Guard:
    """Lets a request in, or answers why not."""

    token: str | None = None
    hosts: frozenset[str] | None = None
    """Names that a request may be addressed to; None: any."""
    origins: frozenset[str] = field(default_factory=frozenset)
    """Other sites that may use the server from a browser (`web.access-control-allow-origin`)."""

    def refuse(self, method: str, headers: Mapping[str, str]) -> Answer | None:
        """None if the request is welcome; header names are in small letters."""
        host = headers.get("host", "")
        if self.hosts is not None and _name(host) not in self.hosts:
            return Answer.error(403, f"This server is not called '{_printable(host)}'.")
        if self.token is not None and not self._has_token(headers.get("authorization", "")):
            refused = Answer.error(401, "A token is needed: Authorization: Bearer <token>.")
            return Answer(refused.body, 401, headers={"WWW-Authenticate": "Bearer"})
        if method in _SAFE:
            return None
        return self._refuse_change(host, headers)

    def _refuse_change(self, host: str, headers: Mapping[str, str]) -> Answer | None:
        origin = headers.get("origin")
        if origin is not None and origin not in self.origins and urlsplit(origin).netloc != host:
            return Answer.error(403, f"Requests from {_printable(origin)} are not accepted.")
        if headers.get("sec-fetch-site") == "cross-site" and origin not in self.origins:
            return Answer.error(403, "Requests from other sites are not accepted.")
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind and kind not in ("application/json", "multipart/form-data"):
            return Answer.error(415, "Only application/json and multipart/form-data are accepted.")
        if kind == "multipart/form-data" and origin is None and "sec-fetch-mode" in headers:
            return Answer.error(403, "Forms of other sites are not accepted.")
        return None

    def _has_token(self, given: str) -> bool:
        kind, _, value = given.partition(" ")
        return kind.lower() == "bearer" and hmac.compare_digest(
            value.strip().encode("utf-8", "replace"), (self.token or "").encode()
        )


def _name(host: str) -> str:
    """
    >>> _name("LocalHost:8081"), _name("[::1]:80")
    ('localhost', '::1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _printable(text: str) -> str:
    return "".join(c for c in text[:200] if c.isprintable() and c not in "<>\"'")


def is_loopback(address: str) -> bool:
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class TlsFiles:
    """PEM files of `security.ssl.rest.*`."""

    certificate: str
    key: str
    password: str | None
    authorities: str | None

    def context(self) -> ssl.SSLContext:
        """
        Raises:
            ValidationError: The files are not what they should be.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.certificate, self.key, self.password or "")
            if self.authorities is not None:
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations(self.authorities)
        except (OSError, ssl.SSLError) as error:
            raise ValidationError(
                f"the certificate for REST cannot be used: {error}",
                where=f"security.ssl.rest.cert {self.certificate}, security.ssl.rest.key {self.key}",
                do="give PEM files of a certificate and its key",
            ) from error
        return context


def tls_files(configuration: Configuration) -> TlsFiles | None:
    """What `security.ssl.rest.enabled` asks for.

    Raises:
        ValidationError: TLS is on and a file is not given.
    """
    if not configuration.get(option("security.ssl.rest.enabled")):
        return None
    certificate = configuration.get(option("security.ssl.rest.cert"))
    key = configuration.get(option("security.ssl.rest.key"))
    if not certificate or not key:
        raise ValidationError(
            "TLS for REST is on, and there is no certificate",
            where="security.ssl.rest.enabled",
            do="set security.ssl.rest.cert and security.ssl.rest.key to PEM files (keystores of Java are not read)",
        )
    needs_client = configuration.get(option("security.ssl.rest.authentication-enabled"))
    authorities = configuration.get(option("security.ssl.rest.ca"))
    if needs_client and not authorities:
        raise ValidationError(
            "clients are to be authenticated, and nobody says by which authority",
            where="security.ssl.rest.authentication-enabled",
            do="set security.ssl.rest.ca to the PEM file of the authority that signs clients' certificates",
        )
    password = configuration.get(option("security.ssl.rest.key-password"))
    return TlsFiles(certificate, key, password, authorities if needs_client else None)


def make_guard(
    configuration: Configuration, address: str, tls: TlsFiles | None, key: str = "rest.bind-address"
) -> Guard:
    """The guard for a server on this address, which the option `key` has named.

    Raises:
        ValidationError: The address can be reached from elsewhere, and nothing protects it.
    """
    token = read_token(configuration.get(option("penstock.rest.token-file")))
    proven = token is not None or (tls is not None and tls.authorities is not None)
    if not is_loopback(address) and not proven:
        raise ValidationError(
            f"the REST server will not listen on {address}: everybody who reaches it could run programs here",
            where=key,
            do="set penstock.rest.token-file to a file with a token, or TLS with clients' certificates\n"
            f"(security.ssl.rest.enabled, .cert, .key, .authentication-enabled, .ca), or leave {key} out",
        )
    given = configuration.get(option("web.access-control-allow-origin")) or ""
    origins = frozenset(part.strip() for part in given.split(",") if part.strip() and part.strip() != "*")
    return Guard(token, None if proven else _own_names(configuration, address), origins)


def _own_names(configuration: Configuration, address: str) -> frozenset[str]:
    given = {address, configuration.get(option("rest.address")) or "localhost"}
    return frozenset({"localhost", "127.0.0.1", "::1", socket.gethostname().lower(), *map(str.lower, given)})


def read_token(path: str | None) -> str | None:
    """The token of `penstock.rest.token-file`; None if no file is given.

    Raises:
        ValidationError: It cannot be read, others can read it, or it can be guessed.
    """
    if not path:
        return None
    try:
        place = os.path.expanduser(path)
        with open(place, encoding="utf-8") as file:
            token = file.read().strip()
        readable = bool(stat.S_IMODE(os.stat(place).st_mode) & 0o077)
    except (OSError, UnicodeDecodeError) as error:
        raise ValidationError(
            f"the token for REST cannot be read: {error}", where=f"penstock.rest.token-file {path}"
        ) from error
    if readable:
        raise ValidationError(
            f"others on this machine can read the token in {path}",
            where="penstock.rest.token-file",
            do=f"chmod 600 {path}",
        )
    if len(token) < _LEAST_TOKEN:
        raise ValidationError(
            f"the token in {path} has {len(token)} characters, which can be guessed",
            where="penstock.rest.token-file",
            do=f"use at least {_LEAST_TOKEN}, for instance: openssl rand -hex 32",
        )
    return token

"""A Confluent schema registry, over its REST interface: schemas by id, and ids for schemas.

Schemas never change once they have an id, so each is asked for once in a process.
"""

from __future__ import annotations

import base64
import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

from penstock.common.errors import ExternalSystemError, NotSupportedError
from penstock.formats.base import Option

_TIMEOUT_S = 30
_TYPE = "application/vnd.schemaregistry.v1+json"
_STORES = ("ssl.keystore.location", "ssl.keystore.password")

REGISTRY_OPTIONS = (
    Option("url", required=True),
    Option("subject"),
    Option("schema"),
    Option("basic-auth.credentials-source"),
    Option("basic-auth.user-info"),
    Option("bearer-auth.credentials-source"),
    Option("bearer-auth.token"),
    Option("ssl.truststore.location"),
    Option("ssl.truststore.password"),
    *(Option(name) for name in _STORES),
)


class SchemaRegistry:
    """One registry, made from the options of a format; connects when it is first asked."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        store = next((name for name in _STORES if options[name]), None)
        authority = options["ssl.truststore.location"]
        if store or (authority and not authority.lower().endswith((".pem", ".crt", ".cer"))):
            raise NotSupportedError(
                f"'{store or 'ssl.truststore.location'}' of a schema registry",
                "it is a Java key store",
                do="give the authority's certificate as a PEM file in ssl.truststore.location",
            )
        self._urls = [url.strip().rstrip("/") for url in options["url"].split(",")]
        self._authority = authority
        self._headers = {"Accept": _TYPE, "Content-Type": _TYPE, **_credentials(options)}
        self._by_id: dict[int, dict[str, Any]] = {}

    def schema(self, schema_id: int) -> dict[str, Any]:
        """The schema with that id."""
        if schema_id not in self._by_id:
            answer = self._ask("GET", f"/schemas/ids/{schema_id}", None, f"schema {schema_id}")
            self._by_id[schema_id] = json.loads(answer["schema"])
        return self._by_id[schema_id]

    def register(self, subject: str, schema: Any) -> int:
        """The id of a schema below a subject, a new one if it is not known yet."""
        path = f"/subjects/{urllib.parse.quote(subject, safe='')}/versions"
        answer = self._ask("POST", path, {"schema": json.dumps(schema)}, f"subject '{subject}'")
        return int(answer["id"])

    def _ask(self, method: str, path: str, body: Any, what: str) -> Any:
        data = None if body is None else json.dumps(body).encode()
        context = ssl.create_default_context(cafile=self._authority) if self._authority else None
        reason: object = "there is no address"
        for url in self._urls:  # one after the other: they are copies of each other
            request = urllib.request.Request(url + path, data, self._headers, method=method)
            try:
                with urllib.request.urlopen(request, timeout=_TIMEOUT_S, context=context) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                raise self._refused(error, what) from None
            except (OSError, ValueError) as error:
                reason = error
        raise ExternalSystemError(
            f"the schema registry does not answer: {reason}",
            where=", ".join(self._urls),
            do="start it, or correct the format's 'url'",
        )

    def _refused(self, error: urllib.error.HTTPError, what: str) -> ExternalSystemError:
        said = error.read().decode("utf-8", "replace")[:500]
        advice = {
            401: "check the format's basic-auth.* or bearer-auth.* options",
            403: "allow the user to do this",
            404: "check that the messages were written with this registry",
            409: "change the table so that its schema is compatible, or the subject's compatibility level",
        }
        found = ExternalSystemError(
            f"the schema registry refuses {what}: {error.code} {said}",
            where=error.url,
            do=advice.get(error.code, "see the registry's log"),
        )
        found.retryable = error.code >= 500
        return found


def _credentials(options: Mapping[str, Any]) -> dict[str, str]:
    for kind, wanted, option in (
        ("basic-auth", "USER_INFO", "basic-auth.user-info"),
        ("bearer-auth", "STATIC_TOKEN", "bearer-auth.token"),
    ):
        source = options[f"{kind}.credentials-source"]
        if source is not None and source.upper() != wanted:
            raise NotSupportedError(
                f"'{kind}.credentials-source' = '{source}'", "only what the options themselves say is used",
                do=f"use {wanted}",
            )  # fmt: skip
        if options[option]:
            user = base64.b64encode(options[option].encode()).decode()
            return {"Authorization": f"Basic {user}" if kind == "basic-auth" else f"Bearer {options[option]}"}
    return {}

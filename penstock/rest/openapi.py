"""The interface described for machines (OpenAPI 3.0), from the table of routes."""

from __future__ import annotations

import functools
import re
from typing import Any

from penstock.rest.routes import PARAMETER_KINDS, ROUTES, Route
from penstock.version import __version__

__all__ = ["describe"]

_ERRORS = {
    "type": "object",
    "properties": {"errors": {"type": "array", "items": {"type": "string"}}},
    "required": ["errors"],
}


@functools.cache
def describe() -> dict[str, Any]:
    """The whole description."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.0.3",
        "info": {"title": "Penstock, with the REST interface of Apache Flink", "version": __version__},
        "paths": paths,
        "components": {"schemas": {"Errors": _ERRORS}},
    }


def _operation(route: Route) -> dict[str, Any]:
    failed = {
        "description": "What was wrong.",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Errors"}}},
    }
    operation: dict[str, Any] = {
        "operationId": route.name,
        "parameters": [*_in_path(route), *_in_query(route)],
        "responses": {"4XX": failed},
    }
    if route.reason is None:
        operation["responses"][str(route.status)] = _success(route)
    else:
        operation["description"] = f"not supported: {route.reason}"
        operation["deprecated"] = True
    if route.body is not None:
        schema = {"type": "object", "properties": {name: _schema(kind) for name, kind in route.body.items()}}
        operation["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    if route.name == "uploadJar":
        form = {"type": "object", "properties": {"jarfile": {"type": "string", "format": "binary"}}}
        operation["requestBody"] = {"content": {"multipart/form-data": {"schema": form}}}
    return operation


def _success(route: Route) -> dict[str, Any]:
    text = route.name in ("getJobManagerLog", "getJobManagerLogFile")
    return {"description": "Done.", "content": {"text/plain": {}} if text else {"application/json": {}}}


def _in_path(route: Route) -> list[dict[str, Any]]:
    found = []
    for name in re.findall(r"\{(\w+)\}", route.path):
        kind, form = PARAMETER_KINDS.get(name, ("string", "^[A-Za-z0-9_.-]{1,100}$"))
        schema = {"type": kind, "minimum": 0} if kind == "integer" else {"type": kind, "pattern": form}
        found.append({"name": name, "in": "path", "required": True, "schema": schema})
    return found


def _in_query(route: Route) -> list[dict[str, Any]]:
    return [{"name": name, "in": "query", "schema": _schema(kind)} for name, kind in route.query.items()]


def _schema(kind: str) -> dict[str, Any]:
    if kind.startswith("enum:"):
        return {"type": "string", "enum": kind.removeprefix("enum:").split("|")}
    if kind == "array":
        return {"type": "array", "items": {"type": "string"}}
    if kind == "object":
        return {"type": "object", "additionalProperties": {"type": "string"}}
    return {"type": kind}

"""The OpenAPI document of a table of endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from dither.server.endpoints import Endpoint

_PROBLEM = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "fields"],
            "properties": {"code": {"type": "string"}, "message": {"type": "string"}, "fields": {"type": "object"}},
        }
    },
}


def openapi(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """Paths below /v1, the token that all of them need, and the one form of every error."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(f"/v1{endpoint.path}", {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {"title": "dither", "version": version("dither"), "summary": "A differential-privacy curator."},
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Problem": _PROBLEM},
        },
        "security": [{"token": []}],
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    names = [part[1:-1] for part in endpoint.path.split("/") if part.startswith("{")]
    in_path = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]
    in_query = [
        {"name": one.name, "in": "query", "required": one.required, "description": one.about, "schema": one.schema()}
        for one in endpoint.query
    ]
    described: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.about,
        "description": f"For: {', '.join(endpoint.roles)}.",
        "parameters": [*in_path, *in_query],
        "responses": {
            "200": {"description": "Done.", "content": {kind: {} for kind in endpoint.media_types}},
            "default": {
                "description": "Refused or failed; `code` says why.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
            },
        },
    }
    if endpoint.fields:
        schema = {
            "type": "object",
            "additionalProperties": False,
            "required": [one.name for one in endpoint.fields if one.required],
            "properties": {one.name: one.schema() for one in endpoint.fields},
        }
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return described

"""The OpenAPI document of a table of endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from dither.server.data_files import MEDIA_TYPES
from dither.server.endpoints import ADMINISTRATOR, CURATOR, Endpoint

_PROBLEM = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "fields", "what", "hint"],
            "properties": {
                "code": {"type": "string", "description": "Stable: what programs decide by."},
                "message": {"type": "string"},
                "fields": {"type": "object", "description": "What the message states, by name."},
                "what": {"type": "string", "description": "The message without what to do about it."},
                "hint": {"type": "string", "description": "What to do about it, if that can be said."},
                "table": {"type": "string", "description": "The name in a question that no table has."},
            },
            "additionalProperties": False,
        }
    },
}
_REFUSED = {
    "description": "Refused or failed; `code` says why.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
_UPLOAD = {
    "operationId": "upload",
    "summary": "Send a file to load tables from.",
    "description": f"For: {CURATOR}, {ADMINISTRATOR}.",
    "requestBody": {"required": True, "content": {kind: {} for kind in MEDIA_TYPES}},
    "responses": {"2XX": {"description": "Its name.", "content": {"application/json": {}}}, "default": _REFUSED},
}


def openapi(endpoints: Sequence[Endpoint], *, uploads: bool) -> dict[str, Any]:
    """Paths below /v1, the token that all of them need, and the one form of every error."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(f"/v1{endpoint.path}", {})[endpoint.method.lower()] = _operation(endpoint)
    if uploads:
        paths["/v1/uploads"] = {"post": _UPLOAD}
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
            "2XX": {"description": "Done.", "content": {kind: {} for kind in endpoint.media_types}},
            "default": _REFUSED,
        },
    }
    if endpoint.fields:
        schema = {
            "type": "object",
            "additionalProperties": False,
            "required": [one.name for one in endpoint.fields if one.required],
            "properties": {one.name: one.schema() for one in endpoint.fields},
        }
        content = {"application/json": {"schema": schema}}
        described["requestBody"] = {"required": bool(schema["required"]), "content": content}
    return described

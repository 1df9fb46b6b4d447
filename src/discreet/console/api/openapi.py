"""The OpenAPI document of the API, made from its routes and models. Nothing in it is written by hand twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from discreet import __version__
from discreet.console.api import models
from discreet.console.api.models import published_name
from discreet.console.api.operations import COMMON_REFUSALS, STATUS_MEANING, ApiOperation

_PLACE = "#/components/schemas/{model}"
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": True,
    "description": "Any text, new for each query. A retry with the same key and body is not charged again "
    "and gets the same answer; the same key with another body is refused.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]([ -~]{0,198}[!-~])?$"},
}
_REPLAYED = {
    "Idempotency-Replayed": {"description": "Whether this request was answered before.", "schema": {"type": "string"}},
}
_BYTES = {"type": "string", "format": "binary"}


class _SchemaNames(GenerateJsonSchema):
    """Schemas under their published names."""

    def normalize_name(self, name: str) -> str:
        return published_name(super().normalize_name(name))


def openapi_document(entries: Sequence[ApiOperation]) -> dict[str, Any]:
    """The document over these routes."""
    used = {each for entry in entries for each in (entry.route.body, entry.route.returns) if each is not None}
    shapes = sorted(used | {models.ErrorModel}, key=lambda model: model.__name__)
    bodies = {entry.route.body for entry in entries}
    modes = [(model, "validation" if model in bodies else "serialization") for model in shapes]
    _, schemas = models_json_schema(modes, ref_template=_PLACE, schema_generator=_SchemaNames)  # type: ignore[arg-type]
    paths: dict[str, dict[str, Any]] = {}
    for entry in entries:
        paths.setdefault(entry.route.path, {})[entry.route.method.lower()] = _operation(entry)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Discreet",
            "version": __version__,
            "description": "SQL queries under differential privacy, charged to a privacy budget in a ledger. "
            "Prices and refusals are free; an answer is charged before it is counted.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas["$defs"],
        },
    }


def _operation(entry: ApiOperation) -> dict[str, Any]:
    route = entry.route
    operation: dict[str, Any] = {
        "operationId": f"{route.method.lower()}{route.path.removeprefix('/api/v1')}".replace("/", "_"),
        "summary": route.lines.partition(". ")[0].rstrip("."),
        "description": route.lines,
        "x-role": route.role,
        "parameters": _parameters(entry),
        "responses": {str(entry.status): _success_response(entry), **_refusals(entry)},
    }
    if route.role == "public":
        operation["security"] = []
    if route.body is not None:
        content = {"application/json": {"schema": _schema_reference(route.body)}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _parameters(entry: ApiOperation) -> list[dict[str, Any]]:
    path = [{"name": name, "in": "path", "required": True, "schema": schema} for name, schema in entry.params.items()]
    query = [
        {"name": each.name, "in": "query", "required": False, "description": each.lines, "schema": each.schema}
        for each in entry.query
    ]
    return [*path, *query, *([_KEY] if entry.keyed else [])]


def _success_response(entry: ApiOperation) -> dict[str, Any]:
    schema = _BYTES if entry.route.returns is None else _schema_reference(entry.route.returns)
    if entry.route.returns is None and entry.media_type == "application/json":
        schema = {"type": "object"}
    response: dict[str, Any] = {"description": "Done.", "content": {entry.media_type: {"schema": schema}}}
    return {**response, "headers": _REPLAYED} if entry.keyed else response


def _refusals(entry: ApiOperation) -> dict[str, Any]:
    content = {"application/json": {"schema": _schema_reference(models.ErrorModel)}}
    missing = (404,) if entry.params else ()
    body = (422,) if entry.route.body is not None else ()
    statuses = sorted({*COMMON_REFUSALS, *entry.refusals, *missing, *body})
    return {str(status): {"description": STATUS_MEANING[status], "content": content} for status in statuses}


def _schema_reference(model: Any) -> dict[str, str]:
    return {"$ref": _PLACE.format(model=published_name(model.__name__))}

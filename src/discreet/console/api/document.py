"""The OpenAPI document of the API, made from its routes and models. Nothing in it is written by hand twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic.json_schema import models_json_schema

from discreet import __version__
from discreet.console.api import models
from discreet.console.api.entries import ALWAYS, MEANING, Entry

_PLACE = "#/components/schemas/{model}"
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": True,
    "description": "A text of your own, new for each question. A retry with the same key and body pays nothing "
    "more and gets the same answer; the same key with another body is refused.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]([ -~]{0,198}[!-~])?$"},
}
_REPLAYED = {
    "Idempotency-Replayed": {"description": "Whether it was answered before.", "schema": {"type": "string"}},
}
_BYTES = {"type": "string", "format": "binary"}


def document(entries: Sequence[Entry]) -> dict[str, Any]:
    """The document over these routes."""
    used = {each for entry in entries for each in (entry.route.body, entry.route.returns) if each is not None}
    shapes = sorted(used | {models.Error}, key=lambda model: model.__name__)
    bodies = {entry.route.body for entry in entries}
    modes = [(model, "validation" if model in bodies else "serialization") for model in shapes]
    _, schemas = models_json_schema(modes, ref_template=_PLACE)  # type: ignore[arg-type]
    paths: dict[str, dict[str, Any]] = {}
    for entry in entries:
        paths.setdefault(entry.route.path, {})[entry.route.method.lower()] = _operation(entry)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Discreet",
            "version": __version__,
            "description": "Questions about people, answered with noise, a price and a ledger. "
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


def _operation(entry: Entry) -> dict[str, Any]:
    route = entry.route
    found: dict[str, Any] = {
        "operationId": f"{route.method.lower()}{route.path.removeprefix('/api/v1')}".replace("/", "_"),
        "summary": route.lines.partition(". ")[0].rstrip("."),
        "description": route.lines,
        "x-role": route.role,
        "parameters": _parameters(entry),
        "responses": {str(entry.status): _given(entry), **_refusals(entry)},
    }
    if route.role == "public":
        found["security"] = []
    if route.body is not None:
        content = {"application/json": {"schema": _reference(route.body)}}
        found["requestBody"] = {"required": True, "content": content}
    return found


def _parameters(entry: Entry) -> list[dict[str, Any]]:
    path = [{"name": name, "in": "path", "required": True, "schema": schema} for name, schema in entry.params.items()]
    query = [
        {"name": each.name, "in": "query", "required": False, "description": each.lines, "schema": each.schema}
        for each in entry.query
    ]
    return [*path, *query, *([_KEY] if entry.keyed else [])]


def _given(entry: Entry) -> dict[str, Any]:
    schema = _BYTES if entry.route.returns is None else _reference(entry.route.returns)
    if entry.route.returns is None and entry.media_type == "application/json":
        schema = {"type": "object"}
    found: dict[str, Any] = {"description": "Done.", "content": {entry.media_type: {"schema": schema}}}
    return {**found, "headers": _REPLAYED} if entry.keyed else found


def _refusals(entry: Entry) -> dict[str, Any]:
    content = {"application/json": {"schema": _reference(models.Error)}}
    missing = (404,) if entry.params else ()
    body = (422,) if entry.route.body is not None else ()
    found = sorted({*ALWAYS, *entry.refusals, *missing, *body})
    return {str(status): {"description": MEANING[status], "content": content} for status in found}


def _reference(model: Any) -> dict[str, str]:
    return {"$ref": _PLACE.format(model=model.__name__)}

"""The OpenAPI document: what FastAPI finds in the routes, the forms that endpoints parse themselves, and all errors."""

from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from fairbai.service.http.answers import Problem
from fairbai.service.http.calls import Call, call_of, role_of
from fairbai.service.http.idempotency import MAX_KEY

ABOUT = "Live experiments that find the best arm while every arm is guaranteed a minimum share of the trials."
ERRORS = {
    "401": "The key is missing or wrong",
    "403": "The key's role does not allow this call",
    "413": "The request is too large",
    "422": "The request is invalid",
    "429": "Too many requests of this key, or too many wrong keys",
    "503": "Temporarily unavailable; it is safe to repeat the request",
}
NOT_FOUND = {"404": "No such experiment, ticket, project or key"}
GONE = {"410": "A ticket of a history that was lost, or an expired one of an earlier version"}
CONFLICT = {"409": "Not possible in the experiment's current state, or the key was already used"}
FULL = {"507": "The database's disk is full"}
KEY_PARAMETER = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "a name for the call; repeating the call under the same name changes nothing",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY, "pattern": "^[!-~]+$"},
}


def document(app: FastAPI, routes: Iterable[APIRoute]) -> dict[str, Any]:
    """The document of an application that has these routes."""
    if app.openapi_schema is None:
        found = get_openapi(title=app.title, version=app.version, routes=app.routes, description=ABOUT)
        schemas = found["components"]["schemas"]
        schemas.pop("HTTPValidationError", None)  # ours are problems
        schemas.pop("ValidationError", None)
        _add_schema(schemas, Problem)
        found["components"]["securitySchemes"] = {
            "key": {"type": "http", "scheme": "bearer"},
            "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        }
        found["security"] = [{"key": []}, {"header": []}]
        for route in routes:
            if route.include_in_schema:
                for method in route.methods or ():
                    _complete(found["paths"][route.path][method.lower()], schemas, route, method)
        app.openapi_schema = found
    return app.openapi_schema


def _complete(operation: dict[str, Any], schemas: dict[str, Any], route: APIRoute, method: str) -> None:
    """Add what the endpoint declared, and the errors."""
    if route.path == "/healthz":
        operation["security"] = []
        return
    declared, role = call_of(route.endpoint), role_of(route.endpoint, method)
    operation["x-role"] = role
    _add_body(operation, schemas, declared)
    errors = ERRORS | (NOT_FOUND if "experiment" in route.path or "{" in route.path else {})
    if method != "GET" and role != "reader":  # it changes something
        errors |= CONFLICT | FULL
    elif "{experiment}" in route.path:
        errors |= CONFLICT
    errors |= GONE if route.path.endswith("/tell") else {}
    schema = {"$ref": "#/components/schemas/Problem"}
    for status, about in sorted(errors.items()):
        if int(status) in route.responses:
            continue  # which has its own form here
        content = {"application/problem+json": {"schema": schema}}
        operation["responses"][status] = {"description": about, "content": content}


def _add_body(operation: dict[str, Any], schemas: dict[str, Any], declared: Call) -> None:
    if declared.keyed:
        operation.setdefault("parameters", []).append(KEY_PARAMETER)
    if declared.body is None:
        return
    _add_schema(schemas, declared.body)
    required = any(field.is_required() for field in declared.body.model_fields.values())
    schema = {"$ref": f"#/components/schemas/{declared.body.__name__}"}
    operation["requestBody"] = {"required": required, "content": {"application/json": {"schema": schema}}}


def _add_schema(schemas: dict[str, Any], model: Any) -> None:
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(schema.pop("$defs", {}))
    schemas[model.__name__] = schema

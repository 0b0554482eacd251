"""The OpenAPI document: what FastAPI knows of the routes, and what it does not, as they read and write themselves."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from fairbai.service import answers, export, forms

ONE = "/v1/experiments/{experiment}"
ANSWERS: dict[tuple[str, str], type[BaseModel]] = {
    ("post", "/v1/experiments"): answers.Created,
    ("get", "/v1/experiments"): answers.Experiments,
    ("get", ONE): answers.Status,
    ("post", f"{ONE}/close"): answers.Verdict,
    ("post", f"{ONE}/ask"): answers.Tickets,
    ("post", f"{ONE}/tell"): answers.Taken,
    ("get", f"{ONE}/policy"): answers.Policy,
    ("post", f"{ONE}/batches"): answers.Counted,
    ("get", f"{ONE}/history"): answers.History,
    ("get", "/healthz"): answers.Health,
    ("get", "/readyz"): answers.Health,
}
OTHERS = {f"{ONE}/events": [kind.partition(";")[0] for kind in export.MEDIA.values()], "/metrics": ["text/plain"]}
PROBLEMS = {
    "401": "no key, or one that is not known",
    "403": "the key may not do this",
    "404": "no such experiment or ticket",
    "409": "the experiment is over, or something else was said before",
    "413": "the request is too large",
    "422": "the request cannot be understood, or asks for what cannot be",
    "429": "too many wrong keys came from this address",
    "503": "the database does not answer; the request is safe to repeat",
    "507": "the disk of the database is full",
}
DESCRIPTION = "Experiments that find the best of several options while every option gets its share of the trials."


def document(app: FastAPI) -> dict[str, Any]:
    """The document of all calls."""
    if app.openapi_schema is None:
        found = get_openapi(title=app.title, version=app.version, routes=app.routes, description=DESCRIPTION)
        found["components"] = {
            "schemas": _schemas(),
            "responses": {status: _refusal(text) for status, text in PROBLEMS.items()},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        }
        found["security"] = [{"key": []}]
        for path, calls in found["paths"].items():
            for method, call in calls.items():
                _describe(path, method, call)
        app.openapi_schema = found
    return app.openapi_schema


def _schemas() -> dict[str, Any]:
    schemas: dict[str, Any] = {}
    for form in (forms.Experiment, forms.Ask, forms.Tell, forms.Batch, answers.Problem, *ANSWERS.values()):
        schema = form.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas.update(schema.pop("$defs", {}))
        schemas[form.__name__] = schema
    return schemas


def _refusal(text: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": text, "content": {"application/problem+json": {"schema": schema}}}


def _describe(path: str, method: str, call: dict[str, Any]) -> None:
    """Fill in what a call answers."""
    success = "201" if "201" in call["responses"] else "200"
    if (method, path) in ANSWERS:
        schema = {"$ref": f"#/components/schemas/{ANSWERS[method, path].__name__}"}
        content = {"application/json": {"schema": schema}}
    else:
        content = {kind: {"schema": {}} for kind in OTHERS[path]}
    call["responses"] = {success: {"description": "it is done", "content": content}}
    if path.endswith("/policy"):
        call["responses"]["304"] = {"description": "the policy is the one of If-None-Match"}
    if path == "/healthz":
        call["security"] = []
        return
    for status in _refusals(path, method):
        call["responses"][status] = {"$ref": f"#/components/responses/{status}"}


def _refusals(path: str, method: str) -> list[str]:
    refused = ["401", "403", "422", "429", "503"]
    if path.startswith("/v1/experiments") and (path, method) != ("/v1/experiments", "post"):
        refused += ["404"]
    if path.endswith("/policy"):
        refused += ["409"]
    if method == "post":
        refused += ["409", "413", "507"]
    return sorted(set(refused))

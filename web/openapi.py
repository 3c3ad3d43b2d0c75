"""The OpenAPI document of the API, made from the shapes that it answers with."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.metadata import version
from typing import Any

from pydantic import TypeAdapter

from cpubisect.views.bisection import Bisection
from cpubisect.views.comparison import SideBySide
from cpubisect.views.suspects import Ranking
from cpubisect.web import models
from cpubisect.web.views.cell import CellView
from cpubisect.web.views.comparison import MOST_COLUMNS
from cpubisect.web.views.side_by_side import ListedComparisons

Json = dict[str, Any]

_REFERENCE = "#/components/schemas/{model}"
_ANSWERS: tuple[type, ...] = (
    models.Listing,
    models.Overview,
    models.Candidates,
    models.Journal,
    Ranking,
    Bisection,
    models.CulpritView,
    models.BuildView,
    models.ProbeView,
    models.Comparison,
    ListedComparisons,
    SideBySide,
    CellView,
    models.Choices,
    models.Started,
    models.Problem,
)
UNBOUNDED = {"Step": ("low", "high", "visible"), "Verdict": ("smallest_visible",)}
"""Figures that may be infinite, which JSON says as null."""

_ASKED: tuple[type, ...] = (models.Request, models.ComparisonRequest)
_ID: Json = {"type": "integer", "minimum": 1, "maximum": 2**31 - 1}
_COUNT: Json = {"type": "integer", "minimum": 0, "maximum": 999_999_999}
_TEXT: Json = {"type": "string"}


@lru_cache(maxsize=1)
def document() -> Json:
    """The document as plain data (OpenAPI 3.1)."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "cpubisect",
            "version": version("cpubisect"),
            "description": "Which commit made this query cost more CPU? Times are epoch seconds, durations seconds, "
            "steps percent. What changes something needs the server's token.",
        },
        "paths": _paths(),
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _schemas() -> Json:
    """All shapes by name, those that are answered and those that are asked with."""
    answered: list[tuple[Any, Any, TypeAdapter[Any]]] = [(m, "serialization", TypeAdapter(m)) for m in _ANSWERS]
    asked: list[tuple[Any, Any, TypeAdapter[Any]]] = [(m, "validation", TypeAdapter(m)) for m in _ASKED]
    _, schemas = TypeAdapter.json_schemas([*answered, *asked], ref_template=_REFERENCE)
    found: Json = schemas["$defs"]
    for name, figures in UNBOUNDED.items():
        for figure in figures:
            for number in _numbers(found[name]["properties"][figure]):
                number["type"] = ["number", "null"]
    return found


def _numbers(schema: Json) -> Iterator[Json]:
    """A schema if it is a number's, else that of the numbers in it by name."""
    if schema.get("type") == "number":
        yield schema
    elif isinstance(own := schema.get("additionalProperties"), dict):
        yield from _numbers(own)


def _paths() -> Json:
    one = "/api/bisections/{bisection}"
    return {
        "/api/bisections": {
            "get": _read("All bisections, newest first", models.Listing, query=[("page", {**_COUNT, "minimum": 1})]),
            "post": _begin("bisection", models.Request),
        },
        one: {"get": _read("One bisection", models.Overview, path=["bisection"], query=[("test", _TEXT)])},
        f"{one}/cancel": {"post": _change("End it; what it measured is kept", "bisection")},
        f"{one}/resume": {"post": _change("Queue it again; nothing finished is done again", "bisection")},
        f"{one}/candidates": {
            "get": _read(
                "Its candidates, in the order of the history",
                models.Candidates,
                path=["bisection"],
                query=[("offset", _COUNT), ("limit", {**_COUNT, "minimum": 1})],
            )
        },
        f"{one}/chart": {
            "get": _read(
                "Cost along the commits: a Vega-Lite specification", None, path=["bisection"], query=[("test", _TEXT)]
            )
        },
        f"{one}/events": {
            "get": _read("What happened, in order", models.Journal, path=["bisection"], query=[("after", _COUNT)])
        },
        f"{one}/suspects": {
            "get": _read(
                "Candidates by suspicion",
                Ranking,
                path=["bisection"],
                query=[("inside", _TEXT), ("limit", {**_COUNT, "minimum": 1})],
            )
        },
        f"{one}/report": {"get": _read("The report, as `bisect report --json`", Bisection, path=["bisection"])},
        f"{one}/culprits/{{sha}}": {
            "get": _read("A culprit", models.CulpritView, path=["bisection", "sha"], query=[("test", _TEXT)])
        },
        f"{one}/builds/{{build}}": {"get": _read("A build", models.BuildView, path=["bisection", "build"])},
        f"{one}/probes/{{probe}}": {"get": _read("A probe", models.ProbeView, path=["bisection", "probe"])},
        "/api/compare": {
            "get": _read(
                "Builds side by side, relative to the first",
                models.Comparison,
                query=[("build", {"type": "array", "items": {"type": "string"}, "maxItems": MOST_COLUMNS})],
                missing=True,
            )
        },
        **_paths_of_comparisons(),
        "/api/choices": {"get": _read("What can be started", models.Choices)},
    }


def _paths_of_comparisons() -> Json:
    every, one = "/api/comparisons", "/api/comparisons/{comparison}"
    return {
        every: {
            "get": _read(
                "All comparisons, newest first", ListedComparisons, query=[("page", {**_COUNT, "minimum": 1})]
            ),
            "post": _begin("comparison", models.ComparisonRequest),
        },
        one: {"get": _read("A comparison, as `bisect compare --format json`", SideBySide, path=["comparison"])},
        f"{one}/cell": {
            "get": _read(
                "What is behind a version's cell in a row",
                CellView,
                path=["comparison"],
                query=[("row", _TEXT), ("version", _TEXT)],
            )
        },
        f"{one}/cancel": {"post": _change("End it; what it measured is kept", "comparison")},
        f"{one}/resume": {"post": _change("Queue it again; nothing finished is done again", "comparison")},
    }


def _read(
    summary: str,
    model: type | None,
    path: Sequence[str] = (),
    query: Sequence[tuple[str, Json]] = (),
    *,
    missing: bool = False,
) -> Json:
    parameters = [_in_path(name) for name in path]
    parameters += [{"name": name, "in": "query", "required": False, "schema": schema} for name, schema in query]
    answers = {"200": _answer("found", model)}
    if path or missing:
        answers["404"] = _answer("there is no such thing", models.Problem)
    if query:
        answers["422"] = _answer("the query is wrong", models.Problem)
    return {"summary": summary, "parameters": parameters, "responses": answers}


def _in_path(name: str) -> Json:
    schema: Json = {"type": "string", "pattern": "^[0-9a-f]{40}$"} if name == "sha" else _ID
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _begin(kind: str, model: type) -> Json:
    return {
        "summary": f"Queue a {kind}",
        "security": [{"token": []}],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": _REFERENCE.format(model=model.__name__)}}},
        },
        "responses": {
            "201": _answer("queued", models.Started),
            **_refusals("400", "415", "422"),
        },
    }


def _change(summary: str, kind: str) -> Json:
    return {
        "summary": summary,
        "security": [{"token": []}],
        "parameters": [_in_path(kind)],
        "responses": {"200": _answer("done", models.Started), **_refusals("404", "409")},
    }


def _refusals(*codes: str) -> Json:
    meanings = {
        "400": "not JSON",
        "401": "the token is missing or wrong",
        "404": "there is no such thing",
        "409": "its state does not allow it",
        "415": "not JSON",
        "422": "it cannot be asked like that",
    }
    return {code: _answer(meanings[code], models.Problem) for code in ("401", *codes)}


def _answer(description: str, model: type | None) -> Json:
    schema: Json = {"type": "object"} if model is None else {"$ref": _REFERENCE.format(model=model.__name__)}
    return {"description": description, "content": {"application/json": {"schema": schema}}}

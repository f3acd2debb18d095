"""The page ``/docs``: the endpoints as plain HTML, which needs nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup
from starlette.responses import HTMLResponse

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2rem; border-top: 1px solid #8888; padding-top: 1rem; }
code, pre { font: 13px/1.4 ui-monospace, monospace; } table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: .2rem 1rem .2rem 0; border-bottom: 1px solid #8884; }
"""
HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"}


def page(api: Mapping[str, Any]) -> HTMLResponse:
    """Return the page of an API that OpenAPI describes."""
    schemas = api["components"]["schemas"].items()
    body = Markup("").join([*(_endpoint(*one) for one in _endpoints(api)), *(_schema(*one) for one in schemas)])
    return HTMLResponse(
        Markup(
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{style}</style>'
            '<h1>{title} {version}</h1><p>The same for programs: <a href="openapi.json">openapi.json</a>. A request '
            "that is refused gets a status from 400 and one sentence: <code>{error}</code></p>{body}</html>"
        ).format(
            title=api["info"]["title"],
            version=api["info"]["version"],
            style=Markup(STYLE),
            error='{"error": "…"}',
            body=body,
        ),
        headers=HEADERS,
    )


def _endpoints(api: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path, methods in api["paths"].items():
        for method, about in methods.items():
            yield method.upper(), path, about


def _endpoint(method: str, path: str, about: Mapping[str, Any]) -> Markup:
    answer = about["responses"]["200"].get("content", {}).get("application/json", {}).get("schema", {})
    body = about.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    rows = [(one["name"], one["required"], one["schema"], one) for one in about.get("parameters", ())]
    takes, gives = (
        Markup(" {} <code>{}</code>.").format(word, _kind(kind)) if kind else Markup("")
        for word, kind in (("Takes", body), ("Gives", answer))
    )
    head = Markup("<h2><code>{} {}</code></h2><p>{}.{}{}</p>").format(method, path, about["summary"], takes, gives)
    return head + _table(rows)


def _schema(name: str, about: Mapping[str, Any]) -> Markup:
    needed = about.get("required", ())
    rows = [(key, key in needed, one, one) for key, one in about["properties"].items()]
    return Markup("<h2>{}</h2><p>{}</p>").format(name, about.get("description", "")) + _table(rows)


def _table(rows: list[tuple[str, bool, Mapping[str, Any], Mapping[str, Any]]]) -> Markup:
    if not rows:
        return Markup("")
    cells = Markup("").join(
        Markup("<tr><td><code>{}</code></td><td>{}{}</td><td>{}</td></tr>").format(
            name, _kind(kind), "" if needed else ", optional", about.get("description", "")
        )
        for name, needed, kind, about in rows
    )
    return Markup("<table><tr><th>name</th><th>type</th><th>what</th></tr>{}</table>").format(cells)


def _kind(schema: Mapping[str, Any]) -> str:
    """Return a type in words."""
    if "anyOf" in schema:
        kinds = [_kind(one) for one in schema["anyOf"] if one.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if schema.get("type") == "array":
        return f"list of {_kind(schema['items'])}"
    return str(schema.get("type", "any"))

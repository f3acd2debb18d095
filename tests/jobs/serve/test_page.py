"""The page and the description of the endpoints need nothing from elsewhere."""

from __future__ import annotations

import re
from typing import Any


def test_the_page_describes_every_endpoint_and_loads_nothing(ask: Any, app: Any) -> None:
    answer = ask(app, "/docs")
    page = answer.body.decode()
    api = ask(app, "/openapi.json").json
    assert "<script" not in page
    assert not re.findall(r"https?://|src=|@import|url\(", page)
    assert re.findall(r'href="([^"]*)"', page) == ["openapi.json"]
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    named = set(re.findall(r"<h2><code>(\w+) ([^<]*)</code>", page))
    assert named == {(method.upper(), path) for path, methods in api["paths"].items() for method in methods}
    assert {("POST", "/recommend"), ("GET", "/recommend"), ("GET", "/health"), ("GET", "/metrics")} <= named
    for schema in ("Recommend", "Event", "Recommendations", "Shown", "Failure"):
        assert f"<h2>{schema}</h2>" in page


def test_the_description_names_what_a_request_holds(ask: Any, app: Any) -> None:
    api = ask(app, "/openapi.json").json
    assert set(api["components"]["schemas"]["Recommend"]["properties"]) == {"users", "history", "k", "at", "items"}
    for path, methods in api["paths"].items():
        for about in methods.values():
            assert about["summary"], path
            assert {"401", "422", "503"} <= set(about["responses"])

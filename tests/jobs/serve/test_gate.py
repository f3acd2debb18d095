"""Who may ask, how much a request may bring and how long it may take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from recx.jobs.serve.counters import Counters
from recx.jobs.serve.gate import Gate
from recx.jobs.serve.limits import Limits
from recx.jobs.serve.refusal import Json
from recx.jobs.serve.settings import LOCAL

WORD = "abcdefghijklmnop"


async def body_size(scope: Any, receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
    """Answer with the size of the body."""
    size, more = 0, True
    while more:
        message = await receive()
        size, more = size + len(message["body"]), message["more_body"]
    await Json({"size": size})(scope, receive, send)


def gate(**settings: Any) -> Gate:
    limits = Limits(**{"body": 100, "seconds": 0.2, "head": 1000, **settings.pop("limits", {})})
    return Gate(settings.pop("app", body_size), limits, Counters.alone(), **settings)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:8000", "[::1]", "[::1]:8000"])
def test_names_of_this_server(ask: Any, host: str) -> None:
    assert ask(gate(hosts=LOCAL), "/health", host=host).status == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.", "", "::1", "localhost:x", "[::1"],
)
def test_other_names(ask: Any, host: str) -> None:
    answer = ask(gate(hosts=LOCAL), "/health", host=host)
    assert answer.status == 400
    assert "(the header Host)" in answer.error


def test_any_name_where_a_token_is_required(ask: Any) -> None:
    answer = ask(gate(token=WORD), "/metadata", host="anything", authorization=f"Bearer {WORD}")
    assert answer.status == 200


@pytest.mark.parametrize("given", [None, "", "Bearer", f"Basic {WORD}", f"Bearer {WORD}x", "Bearer ünsichtbar", WORD])
def test_without_the_token(ask: Any, given: str | None) -> None:
    headers = {} if given is None else {"authorization": given}
    for path in ("/metadata", "/metrics", "/docs", "/openapi.json", "/foo"):
        answer = ask(gate(token=WORD), path, **headers)
        assert answer.status == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert WORD not in answer.error
    assert ask(gate(token=WORD), "/health", **headers).status == 200
    assert ask(gate(token=WORD), "/recommend", {}, **headers).status == 401


@pytest.mark.parametrize("kind", ["Bearer", "bearer", "BEARER "])
def test_with_the_token(ask: Any, kind: str) -> None:
    assert ask(gate(token=WORD), "/metadata", authorization=f"{kind} {WORD}").status == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx"]
)
def test_a_body_of_another_kind(ask: Any, kind: str) -> None:
    answer = ask(gate(), "/recommend", b"{}", content_type=kind)
    assert answer.status == 415
    assert "Content-Type: application/json" in answer.error


def test_a_compressed_body(ask: Any) -> None:
    assert ask(gate(), "/recommend", b"{}", content_encoding="gzip").status == 415
    assert ask(gate(), "/recommend", b"{}", content_type="Application/JSON; charset=utf-8").status == 200


def test_a_body_that_is_too_large(ask: Any) -> None:
    assert ask(gate(), "/recommend", b"x" * 100).json == {"size": 100}
    for body, headers in ((b"x" * 101, {}), (b"", {"content_length": "101"}), (b"", {"content_length": "9" * 30})):
        answer = ask(gate(), "/recommend", body, method="POST", **headers)
        assert answer.status == 413
        assert "larger than 100 bytes" in answer.error


def test_headers_that_are_too_large(ask: Any) -> None:
    assert ask(gate(), "/health", x="y" * 1000).status == 431


def test_an_answer_that_takes_too_long(ask: Any) -> None:
    async def slow(scope: Any, receive: Callable[[], Any], send: Any) -> None:
        await receive()
        await asyncio.sleep(5)

    one = gate(app=slow)
    answer = ask(one, "/recommend", b"{}")
    assert answer.status == 504
    assert "no answer within 0.2 s" in answer.error
    assert 'recx_requests_total{endpoint="recommend",code="504"} 1' in one.counters.text()


def test_a_request_that_does_not_arrive() -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        await asyncio.sleep(0.01)
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/recommend", "raw_path": b"/recommend", "headers": headers}
    asyncio.run(gate()(scope, receive, send))
    assert sent[0]["status"] == 408


def test_a_client_that_goes_away_is_counted() -> None:
    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        pass

    async def waiting(scope: Any, receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
        await receive()
        await Json({})(scope, receive, send)

    one = gate(app=waiting)
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/recommend", "raw_path": b"/recommend", "headers": headers}
    asyncio.run(one(scope, receive, send))
    assert 'recx_requests_total{endpoint="recommend",code="499"} 1' in one.counters.text()
